import { X509Certificate } from 'node:crypto';
import type { Site } from '../api/skupper/index.ts';
import { SITE_ISSUERS } from '../site/plan/certificates.ts';
import { nameOf } from '../site/resources.ts';
import type { Authority } from '../trust/contract.ts';
import { TrustError } from '../trust/errors.ts';
import type { AuthorityStore } from './ports.ts';

/** The certificate authorities of a site: its own, the user's, and those of signing Certificates. Each is opened once. */
export class Authorities {
  readonly #store: AuthorityStore;
  readonly #known = new Map<string, Promise<Authority>>();

  constructor(store: AuthorityStore) {
    this.#store = store;
  }

  /** The site's default, or the one of that name. @throws TrustError */
  async find(name: string | undefined, site: Site): Promise<Authority> {
    const wanted = name ?? defaultIssuerOf(site);
    const key = wanted ?? '';
    const opened = this.#known.getOrInsertComputed(key, () =>
      wanted === undefined || SITE_ISSUERS.has(wanted) ? this.#store.site(nameOf(site)) : this.#store.named(wanted),
    );
    try {
      return await opened;
    } catch (error) {
      // What failed may work the next time.
      if (this.#known.get(key) === opened) this.#known.delete(key);
      throw error;
    }
  }

  /** The site's default. Only the leader makes the site's own. @returns undefined where there is none yet. @throws TrustError */
  async default(site: Site, mayCreate: boolean): Promise<Authority | undefined> {
    if (!mayCreate && defaultIssuerOf(site) === undefined && !(await this.#store.hasSite())) return undefined;
    return this.find(undefined, site);
  }

  /** Of those in use, the one that signed a certificate. @throws TrustError */
  async signerOf(certificate: Buffer, site: Site): Promise<Authority> {
    const peer = new X509Certificate(certificate);
    const candidates = [this.find(undefined, site), ...this.#known.values()];
    for (const candidate of await Promise.allSettled(candidates)) {
      if (candidate.status === 'fulfilled' && peer.checkIssued(candidate.value.certificate)) return candidate.value;
    }
    throw new TrustError('authority-missing', `no certificate authority of this site has signed the certificate ${peer.serialNumber}`);
  }

  /** They are read again at the next use: what they were read from may have changed. */
  forget(): void {
    this.#known.clear();
  }
}

/** Undefined: the site's own. */
export function defaultIssuerOf({ spec }: Site): string | undefined {
  return spec.defaultIssuer === '' ? undefined : spec.defaultIssuer;
}
