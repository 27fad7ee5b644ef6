import { X509Certificate } from 'node:crypto';
import type { Site } from '../api/skupper/index.ts';
import type { TlsBundle } from '../identity/tls-bundle.ts';
import { SITE_ISSUERS } from '../site/plan/certificates.ts';
import { nameOf } from '../site/resources.ts';
import type { Authority } from '../trust/contract.ts';
import { TrustError } from '../trust/errors.ts';
import { authorityOf, readAuthority, siteAuthority } from '../trust/authority.ts';
import { isResourceName } from '../text/names.ts';
import { quoted } from '../text/printable.ts';
import type { BundleSet } from '../trust/stores.ts';
import type { Snapshot, Stores } from './ports.ts';

type AuthorityStores = Pick<Stores, 'siteAuthority' | 'userIssuers' | 'createdIssuers' | 'bundles' | 'anchor'>;

/** Name of the site's own CA in its store. */
const OWN = 'ca';

interface Stored {
  /** CAs of the user, store by store. */
  readonly user: readonly BundleSet[];
  readonly issued: BundleSet;
}

/** Action of `find` if no CA has the name. */
export type IfAbsent = 'fail' | 'create';

/**
 * Certificate authorities of a site: its own, the user's, those of signing Certificates, and those that the site creates because a resource
 * names them. A CA of the user takes the place of any other of its name, also of the site's own.
 */
export class Authorities {
  readonly #stores: AuthorityStores;
  /** CAs in use, by name. The site's own CA is ''. */
  readonly #known = new Map<string, Authority>();
  /** CAs that the site has created, by name. The site's own CA is ''. */
  readonly #created = new Map<string, Promise<Authority>>();
  readonly #opened = new WeakMap<TlsBundle, Authority>();
  /** Stored bundles at the last `refresh`; undefined: read them again. */
  #stored: Promise<Stored> | undefined;
  /** Bundles among the user's resources. */
  #attached: ReadonlyMap<string, TlsBundle> = new Map();

  constructor(stores: AuthorityStores) {
    this.#stores = stores;
  }

  /**
   * Reads the stored bundles again at their next use. Between two calls they are cached, since a step looks for many CAs.
   * @param attached bundles among the user's resources, if they may have changed
   */
  refresh(attached?: readonly TlsBundle[]): void {
    if (attached !== undefined) this.#attached = new Map(attached.map((bundle) => [bundle.name, bundle]));
    this.#stored = undefined;
  }

  /**
   * Returns the CA with the given name, or the site's default CA.
   * @param ifAbsent the default CA is always created, since a Site may name one in `defaultIssuer`
   * @throws TrustError
   */
  async find(name: string | undefined, site: Site, ifAbsent: IfAbsent = 'fail'): Promise<Authority> {
    const desired = name ?? defaultIssuerOf(site);
    const isDefault = name === undefined;
    const found =
      desired === undefined || SITE_ISSUERS.has(desired)
        ? ((await this.#ofUserAsOwn()) ?? (await this.#own(site)))
        : await this.#named(desired, site, isDefault ? 'create' : ifAbsent);
    this.#known.set(desired ?? '', found);
    return found;
  }

  /**
   * Returns the site's default CA. Only the leader creates it.
   * @returns undefined if it does not exist yet
   * @throws TrustError
   */
  async default(site: Site, mayCreate: boolean): Promise<Authority | undefined> {
    if (mayCreate) return this.find(undefined, site);
    this.refresh();
    const name = defaultIssuerOf(site);
    if (name !== undefined && !SITE_ISSUERS.has(name)) {
      const isThere = (await this.#existing(name)) !== undefined || (await this.#stores.createdIssuers.get(name)) !== undefined;
      return isThere ? this.find(undefined, site) : undefined;
    }
    if ((await this.#ofUserAsOwn()) !== undefined) return this.find(undefined, site);
    const own = await this.#stores.siteAuthority.get(OWN);
    return own?.cert === undefined ? undefined : this.find(undefined, site);
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
    const isSigner = (authority: Authority | undefined): authority is Authority =>
      authority !== undefined && peer.checkIssued(authority.certificate);
    const inUse = [await this.default(site, false).catch(() => undefined), ...this.#known.values()].find(isSigner);
    if (inUse !== undefined) return inUse;
    // A router that does not lead has not opened those that accesses name.
    for (const name of (await this.#stores.createdIssuers.list()).bundles.keys()) {
      const created = await this.#named(name, site, 'fail').catch(() => undefined);
      if (isSigner(created)) return created;
    }
    throw new TrustError('authority-missing', `the certificate ${peer.serialNumber} is not signed by a certificate authority of this site`);
  }

  #own(site: Site): Promise<Authority> {
    const { siteAuthority: bundles, anchor } = this.#stores;
    return this.#create('', () => siteAuthority(bundles, OWN, { siteName: nameOf(site), anchor }));
  }

  /** Opens each CA once. A failure is retried at the next call. */
  async #create(name: string, create: () => Promise<Authority>): Promise<Authority> {
    const created = this.#created.getOrInsertComputed(name, create);
    try {
      return await created;
    } catch (error) {
      if (this.#created.get(name) === created) this.#created.delete(name);
      throw error;
    }
  }

  /** A CA that the user has given under one of the names of the site's own. */
  async #ofUserAsOwn(): Promise<Authority | undefined> {
    for (const name of SITE_ISSUERS) {
      const found = await this.#ofUser(name);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  async #named(name: string, site: Site, ifAbsent: IfAbsent): Promise<Authority> {
    if (!isResourceName(name)) {
      throw new TrustError('authority-missing', `${quoted(name)} cannot be the name of a certificate authority`);
    }
    const existing = await this.#existing(name);
    if (existing !== undefined) return existing;
    const { createdIssuers: bundles, userIssuers, anchor } = this.#stores;
    const isCreated = ifAbsent === 'create' || (await bundles.get(name)) !== undefined;
    // The error message names the location for the user's CAs.
    if (!isCreated) return readAuthority(userIssuers[0], name);
    const options = { siteName: nameOf(site), subject: name, anchor, anchoredAs: `Issuer/${name}` };
    return this.#create(name, () => siteAuthority(bundles, name, options));
  }

  /** Opens a CA of the user, or one of a signing Certificate. */
  async #existing(name: string): Promise<Authority | undefined> {
    const given = await this.#ofUser(name);
    if (given !== undefined) return given;
    const issued = (await this.#read()).issued.bundles.get(name);
    // Another site may choose names in this store, but stores no CA there.
    return issued === undefined || !isAuthority(issued) ? undefined : this.#open(issued);
  }

  async #ofUser(name: string): Promise<Authority | undefined> {
    const [own, ...others] = (await this.#read()).user;
    const problem = own?.unreadable.get(name);
    if (problem !== undefined) throw new TrustError('authority-missing', problem.message);
    const given = own?.bundles.get(name);
    if (given !== undefined) return this.#open(given);
    // The other places hold bundles for any use.
    const candidates = [...others.map(({ bundles }) => bundles.get(name)), this.#attached.get(name)];
    const found = candidates.find((bundle) => bundle !== undefined && isAuthority(bundle));
    return found === undefined ? undefined : this.#open(found);
  }

  async #read(): Promise<Stored> {
    const { userIssuers, bundles } = this.#stores;
    const read = async (): Promise<Stored> => ({
      user: await Promise.all(userIssuers.map((store) => store.list())),
      issued: await bundles.list(),
    });
    const reading = (this.#stored ??= read());
    try {
      return await reading;
    } catch (error) {
      if (this.#stored === reading) this.#stored = undefined;
      throw error;
    }
  }

  #open(bundle: TlsBundle): Authority {
    return this.#opened.getOrInsertComputed(bundle, () => authorityOf(bundle, bundle.name, Date.now));
  }
}

/** Undefined means the site's own CA. */
export function defaultIssuerOf({ spec }: Site): string | undefined {
  return spec.defaultIssuer === '' ? undefined : spec.defaultIssuer;
}

function isAuthority({ cert }: TlsBundle): boolean {
  try {
    return cert !== undefined && new X509Certificate(cert).ca;
  } catch {
    return false;
  }
}

/** Another site writes the bundle of a Link, and its file may name it as it likes: it is never a CA of this site. */
export function possibleAuthorities({ attached, resources: { Link } }: Pick<Snapshot, 'attached' | 'resources'>): readonly TlsBundle[] {
  const ofLinks = new Set(Link.map(({ spec }) => spec.tlsCredentials));
  return attached.filter(({ name }) => !ofLinks.has(name));
}
