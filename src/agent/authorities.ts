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

/** Of the site's own. */
const OWN = 'ca';

/** The certificate authorities of a site: its own, the user's, and those of signing Certificates. Each is opened once. */
export class Authorities {
  readonly #stores: AuthorityStores;
  readonly #known = new Map<string, Promise<Authority>>();

  constructor(stores: AuthorityStores) {
    this.#stores = stores;
  }

  /** The site's default, or the one of that name. @throws TrustError */
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
      // What failed may work the next time.
      if (this.#known.get(key) === opened) this.#known.delete(key);
      throw error;
    }
  }

  /** The site's default. Only the leader makes the site's own. @returns undefined where there is none yet. @throws TrustError */
  async default(site: Site, mayCreate: boolean): Promise<Authority | undefined> {
    if (mayCreate || defaultIssuerOf(site) !== undefined) return this.find(undefined, site);
    const made = await this.#stores.siteAuthority.get(OWN);
    return made?.cert === undefined ? undefined : this.find(undefined, site);
  }

  /** Throws where the site's own is missing, damaged or another one than before, although it is known from before. @throws TrustError */
  async checkOwn(site: Site): Promise<void> {
    const { siteAuthority: bundles, anchor } = this.#stores;
    const known = (await anchor.get()).authorities;
    if (known[OWN] === undefined) return;
    await siteAuthority(bundles, OWN, { siteName: nameOf(site), anchor });
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

  /** One of the user's, or one that a signing Certificate made. */
  async #named(name: string): Promise<Authority> {
    if (!isResourceName(name)) {
      throw new TrustError('authority-missing', `${quoted(name)} cannot be the name of a certificate authority`);
    }
    const { issuers } = this.#stores;
    for (const bundles of issuers) if ((await bundles.get(name)) !== undefined) return readAuthority(bundles, name);
    // Its message says where the user is to put one.
    return readAuthority(issuers[0], name);
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
