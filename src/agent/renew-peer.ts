/** The next certificate for a site that asks over its link. Any router of the site can give it: what signs and the record are files. */
import type { Site } from '../api/skupper/index.ts';
import { renewFor } from '../trust/renewal.ts';
import type { Ledger } from '../trust/stores.ts';
import type { IssuedCertificate, RouterHooks } from '../router/contract.ts';
import type { Authorities } from './authorities.ts';
import { readSettings } from './settings.ts';

export interface RenewPeerOptions {
  readonly site: Site;
  readonly authorities: Authorities;
  readonly ledger: Ledger;
}

/** @throws TrustError that says why not */
export async function renewPeer(
  { site, authorities, ledger }: RenewPeerOptions,
  peer: Parameters<NonNullable<RouterHooks['renew']>>[0],
  request: string,
): Promise<IssuedCertificate> {
  const authority = await authorities.signerOf(peer.certificate, site);
  const { certificateDays: days } = readSettings(site).settings;
  return renewFor(authority, peer, request, { ledger, ...(days === undefined ? {} : { days }) });
}
