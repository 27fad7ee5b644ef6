import { X509Certificate } from 'node:crypto';
import type { Site } from '../api/skupper/index.ts';
import { SITE_ISSUERS } from '../site/plan/certificates.ts';
import { nameOf } from '../site/resources.ts';
import type { Authority } from '../trust/contract.ts';
import { TrustError } from '../trust/errors.ts';
import { readAuthority, siteAuthority } from '../trust/authority.ts';
import { isResourceName } from '../text/names.ts';
import { quoted } from '../text/printable.ts';
import type { Stores } from './ports.ts';

type AuthorityStores = Pick<Stores, 'siteAuthority' | 'issuers' | 'anchor'>;

/** Name of the site's own CA. */
const OWN = 'ca';

/** Certificate authorities of a site: its own, the user's, and those of signing Certificates. Opens each one once. */
export class Authorities {
  readonly #stores: AuthorityStores;
  readonly #known = new Map<string, Promise<Authority>>();

  constructor(stores: AuthorityStores) {
    this.#stores = stores;
  }

  /** Returns the CA with the given name, or the site's default CA. @throws TrustError */
  async find(name: string | undefined, site: Site): Promise<Authority> {
    const wanted = name ?? defaultIssuerOf(site);
    const key = wanted ?? '';
    const opened = this.#known.getOrInsertComputed(key, () =>
      wanted === undefined || SITE_ISSUERS.has(wanted)
        ? siteAuthority(this.#stores.siteAuthority, OWN, { siteName: nameOf(site), anchor: this.#stores.anchor })
        : this.#named(wanted),
    );
    try {
      return await opened;
    } catch (error) {
      // Retry at the next call.
      if (this.#known.get(key) === opened) this.#known.delete(key);
      throw error;
    }
  }

  /**
   * Returns the site's default CA. Only the leader creates the site's own CA.
   * @returns undefined if it does not exist yet
   * @throws TrustError
   */
  async default(site: Site, mayCreate: boolean): Promise<Authority | undefined> {
    if (mayCreate || defaultIssuerOf(site) !== undefined) return this.find(undefined, site);
    const made = await this.#stores.siteAuthority.get(OWN);
    return made?.cert === undefined ? undefined : this.find(undefined, site);
  }

  /** Fails if the site's own CA is on record, but is missing, damaged or replaced by another one. @throws TrustError */
  async checkOwn(site: Site): Promise<void> {
    const { siteAuthority: bundles, anchor } = this.#stores;
    const known = (await anchor.get()).authorities;
    if (known[OWN] === undefined) return;
    await siteAuthority(bundles, OWN, { siteName: nameOf(site), anchor });
  }

  /** Finds the CA in use that signed the certificate. @throws TrustError */
  async signerOf(certificate: Buffer, site: Site): Promise<Authority> {
    const peer = new X509Certificate(certificate);
    const candidates = [this.find(undefined, site), ...this.#known.values()];
    for (const candidate of await Promise.allSettled(candidates)) {
      if (candidate.status === 'fulfilled' && peer.checkIssued(candidate.value.certificate)) return candidate.value;
    }
    throw new TrustError('authority-missing', `the certificate ${peer.serialNumber} is not signed by a certificate authority of this site`);
  }

  /** Opens a CA of the user, or one of a signing Certificate. */
  async #named(name: string): Promise<Authority> {
    if (!isResourceName(name)) {
      throw new TrustError('authority-missing', `${quoted(name)} cannot be the name of a certificate authority`);
    }
    const { issuers } = this.#stores;
    for (const bundles of issuers) if ((await bundles.get(name)) !== undefined) return readAuthority(bundles, name);
    // The error message names the location for the user's CAs.
    return readAuthority(issuers[0], name);
  }

  /** Reads the CAs again at their next use, since their files or Secrets may have changed. */
  forget(): void {
    this.#known.clear();
  }
}

/** Undefined means the site's own CA. */
export function defaultIssuerOf({ spec }: Site): string | undefined {
  return spec.defaultIssuer === '' ? undefined : spec.defaultIssuer;
}
