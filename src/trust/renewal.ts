import { createHash, type X509Certificate } from 'node:crypto';
import { foreignToLinks, purposeOf } from '../identity/certificate-purpose.ts';
import type { ErrorCode } from '../errors/catalogue.ts';
import { EarshotError } from '../errors/earshot-error.ts';
import type { TlsBundle } from '../identity/tls-bundle.ts';
import type { Authority, Clock, NewCertificate } from './contract.ts';
import type { IssuedEntry, Ledger, PendingKeys } from './stores.ts';
import type { CertificateFacts } from '../x509/facts.ts';
import { TrustError } from './errors.ts';
import { readCertificate, readCertificates, type ReadCertificate } from '../x509/facts.ts';
import { BACKDATE, issueCertificate } from './issue.ts';
import type { RenewalPace } from './renewal-pace.ts';
import { isResource, refuseRenewal } from './revocation.ts';
import { checkRequest, createRequest } from '../x509/request.ts';
import { asCommonName } from '../text/names.ts';
import { Use } from '../x509/parts.ts';
import { canHold } from '../x509/alternative-names.ts';

/**
 * At two thirds of the certificate's life, earlier by up to a twentieth of it, so that what was issued together is not
 * renewed together. The same certificate always has the same time: its serial number is the dice.
 */
export function renewalTime({ notBefore, notAfter, serial }: Lifetime): number {
  const dice = createHash('sha256').update(serial).digest().readUInt32BE(0) / 2 ** 32;
  return Math.round(notBefore + (notAfter - notBefore) * (2 / 3 - dice / 20));
}

/** Never in the first half of the time that it was issued for: a short-lived one would otherwise be due at once, since it is backdated. */
export function isRenewalDue(facts: Lifetime, now: number): boolean {
  return now >= renewalDue(facts);
}

/** When it is due. */
export function renewalDue(facts: Lifetime): number {
  return Math.max(renewalTime(facts), lastHalf(facts));
}

/** Milliseconds for which it was issued. */
const lifetimeOf = ({ notBefore, notAfter }: Lifetime): number => Math.max(notAfter - notBefore - BACKDATE, 0);

/** When it begins. */
const lastHalf = (facts: Lifetime): number => facts.notAfter - lifetimeOf(facts) / 2;

type Lifetime = Pick<CertificateFacts, 'notBefore' | 'notAfter' | 'serial'>;

/** A request for the successor of a certificate, with a new key that is kept as pending under the bundle's name. */
export async function requestRenewal(bundle: TlsBundle, pending: PendingKeys): Promise<RenewalRequest> {
  const { commonName } = readCertificates(bundle.cert ?? '', `bundle ${bundle.name}: tls.crt`)[0].facts;
  const key = await pending.keyFor(bundle.name);
  return { key, csr: createRequest(key, asCommonName(commonName ?? bundle.name)) };
}

export interface RenewForOptions {
  readonly ledger: Ledger;
  readonly pace: RenewalPace;
  readonly clock?: Clock;
  readonly days?: number;
  /** Whoever asks has found it to be a link's. Left out: its mark, the site that it names, or the record must say so. */
  readonly isLink?: true;
  /** As whose the successor is on record, where that is not the site itself. It is then known by its serial number alone. */
  readonly holder?: string;
}

/**
 * The accepting side's answer, for `RouterHooks.renew`: the successor has the names of the certificate that the peer showed, as far as it can,
 * nothing else, and is on record before it is handed out.
 * @throws EarshotError that says why not
 */
export async function renewFor(
  authority: Authority,
  peer: { readonly certificate: Uint8Array; readonly siteId: string },
  request: string,
  { ledger, pace, clock = Date.now, days = 30, isLink, holder }: RenewForOptions,
): Promise<NewCertificate> {
  const { siteId } = peer;
  const shown = readCertificate(peer.certificate, "the peer's certificate");
  checkIssuedBy(authority, shown);
  checkValid(shown.facts, clock());
  const siteName = checkRenewable(shown, siteId);
  using turn = pace.begin(shown.facts.serial, siteId, lifetimeOf(shown.facts), isTime(shown, clock()));
  try {
    refuseRenewal(shown.facts.serial, siteId, siteName, await ledger.revoked());
    if (isLink !== true) await checkLinks(shown, siteId, ledger);
    const wanted = checkRequest(request).commonName;
    if (wanted !== undefined && wanted !== siteName) {
      throw new TrustError('request-malformed', `a renewal keeps the name ${JSON.stringify(siteName)}, and the request is for another`);
    }
    const server = shown.uses?.includes(Use.server) === true;
    const hosts = shown.facts.hosts.filter(canHold);
    const order = { subject: siteName, siteId, hosts, client: true, server, purpose: 'link', csr: request, days } as const;
    const issued = issueCertificate(authority, order, clock);
    // Once more: it may have been revoked meanwhile.
    const entry = { serial: issued.serial, notAfter: issued.notAfter };
    const basis = { kind: 'renewal', serial: shown.facts.serial } as const;
    await ledger.record(holder === undefined ? { siteName, siteId, ...entry } : { siteName: holder, ...entry }, basis);
    return issued;
  } catch (error) {
    if (!isOfAsker(error)) turn.undo();
    throw error;
  }
}

/** All else is this site's own trouble: its disk is full, or its authority has ended. */
const isOfAsker = (error: unknown): boolean => error instanceof EarshotError && FAULTS_OF_ASKER.has(error.code);
const FAULTS_OF_ASKER: ReadonlySet<ErrorCode> = new Set(['revoked', 'tls-wrong-purpose', 'tls-weak', 'request-malformed']);

function checkIssuedBy(authority: Authority, { x509, facts }: ReadCertificate): void {
  if (x509.checkIssued(authority.certificate) && x509.verify(authority.certificate.publicKey)) return;
  throw new TrustError(
    'tls-foreign-ca',
    `the certificate ${facts.serial} of ${facts.subject} is not of the authority ${authority.name}: who issued it must renew it`,
  );
}

/** @returns the name of its site */
function checkRenewable({ facts, uses, x509 }: ReadCertificate, siteId: string): string {
  if (facts.isAuthority || (uses !== undefined && !uses.includes(Use.client)) || foreignToLinks(x509) !== undefined) {
    throw new TrustError(
      'tls-wrong-purpose',
      `the certificate ${facts.serial} of ${facts.subject} is not a link's: only a link's own certificate is renewed over it`,
    );
  }
  if (facts.commonName === undefined) {
    throw new TrustError('request-malformed', `the certificate ${facts.serial} has no common name, so nobody can say whose it is`);
  }
  if (facts.siteId !== undefined && facts.siteId !== siteId) {
    throw new TrustError(
      'request-malformed',
      `the certificate ${facts.serial} is that of site ${facts.siteId}, and site ${siteId} asks for the next one: it must redeem ` +
        'a token of its own',
    );
  }
  return asCommonName(facts.commonName);
}

/**
 * The one rule, on every platform, for which certificate of this site's authorities is a link's of that site: it is on record as one, or says so
 * itself (the mark and the site's ID), also where the record was lost.
 * @param entry the record of the certificate
 * @param acceptsUnmarked whether one from before there were marks counts without a record
 * @throws TrustError `tls-wrong-purpose`
 */
export function checkLinkOf(certificate: X509Certificate, siteId: string, entry: IssuedEntry | undefined, acceptsUnmarked: boolean): void {
  if (entry?.siteId !== undefined && entry.siteId !== siteId) throw notALinks(certificate, `it is that of site ${entry.siteId}`);
  const purpose = purposeOf(certificate);
  const isOnRecord = entry !== undefined && (purpose === 'link' || !isResource(entry.siteName));
  if (isOnRecord || namesLinkOf(certificate, siteId) || (purpose === undefined && acceptsUnmarked)) return;
  throw notALinks(certificate, 'it is not on record');
}

export function notALinks({ serialNumber }: X509Certificate, why: string): TrustError {
  const words = `the certificate ${serialNumber} is not renewed, since nothing says that it is a link's: ${why}; redeem a new token`;
  return new TrustError('tls-wrong-purpose', words);
}

function namesLinkOf(certificate: X509Certificate, siteId: string): boolean {
  return purposeOf(certificate) === 'link' && readCertificate(certificate.raw, 'the certificate').facts.siteId === siteId;
}

async function checkLinks({ facts, x509 }: ReadCertificate, siteId: string, ledger: Ledger): Promise<void> {
  const entry = namesLinkOf(x509, siteId) ? undefined : await findEntry(ledger, facts.serial);
  checkLinkOf(x509, siteId, entry, facts.siteId !== undefined);
}

async function findEntry(ledger: Ledger, serial: string): Promise<IssuedEntry | undefined> {
  for await (const entry of ledger.issued()) if (entry.serial === serial) return entry;
  return undefined;
}

/** One that does not say what it is for gets that by being renewed. */
function isTime({ x509, facts }: ReadCertificate, now: number): boolean {
  return now >= lastHalf(facts) || purposeOf(x509) === undefined;
}

function checkValid(facts: CertificateFacts, now: number): void {
  if (now > facts.notAfter) {
    throw new TrustError(
      'tls-expired',
      `the certificate ${facts.serial} of ${facts.subject} expired at ${new Date(facts.notAfter).toISOString()}: it is too late to ` +
        'renew it; redeem a new token',
    );
  }
  if (now < facts.notBefore) {
    throw new TrustError(
      'tls-not-yet-valid',
      `the certificate ${facts.serial} of ${facts.subject} is not valid yet by this machine's clock (${new Date(now).toISOString()}): ` +
        'set the clock',
    );
  }
}

export interface RenewalRequest {
  /** PKCS #10, PEM, for `router.renew`. */
  readonly csr: string;
  /** PKCS#8 PEM, for the new bundle. */
  readonly key: string;
}
