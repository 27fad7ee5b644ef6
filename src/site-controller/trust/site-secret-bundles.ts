import { Buffer } from 'node:buffer';
import { annotation, RECORDS } from '../../api/skupper/cluster-names.ts';
import { GROUP } from '../../api/skupper/names.ts';
import type { ObjectMeta, OwnerReference, Secret } from '../../kube/objects.ts';
import { sameBundle, type TlsBundle } from '../../identity/tls-bundle.ts';
import { foreignController } from '../../site/foreign-controller.ts';
import { TrustError } from '../../trust/errors.ts';
import { refuseName, type Bundles, type BundleSet } from '../../trust/stores.ts';
import { KeyedMutex } from '../../work/keyed-mutex.ts';
import { dataOf, type SiteSecrets } from './site-secrets.ts';

/** Metadata of a bundle's Secret. */
export type BundleMarks = Pick<ObjectMeta, 'labels' | 'annotations' | 'ownerReferences'>;

const KEYS = { cert: 'tls.crt', key: 'tls.key', ca: 'ca.crt' } as const;
const TLS = 'kubernetes.io/tls';

/** Stores TLS bundles as Secrets of type `kubernetes.io/tls` in a namespace. A user's Secret is read like any other, and never replaced. */
export class SiteSecretBundles implements Bundles {
  readonly #secrets: SiteSecrets;
  readonly #marksOf: (name: string) => BundleMarks;
  /** Bundles as they were read last, by name. */
  readonly #read = new Map<string, { readonly version: string; readonly bundle: TlsBundle | undefined }>();
  readonly #turns = new KeyedMutex();
  #latest: BundleSet = { bundles: new Map(), unreadable: new Map() };

  /** @param marksOf metadata of a bundle that is written; by default, the Site owns it */
  constructor(secrets: SiteSecrets, marksOf: (name: string) => BundleMarks = () => ({ ownerReferences: [secrets.site] })) {
    this.#secrets = secrets;
    this.#marksOf = marksOf;
  }

  locationOf(name: string): string {
    refuseName(name);
    return this.#secrets.locationOf(name);
  }

  async get(name: string): Promise<TlsBundle | undefined> {
    refuseName(name);
    const secret = await this.#secrets.load(name);
    return secret === undefined ? undefined : this.#bundleOf(secret);
  }

  async list(): Promise<BundleSet> {
    const names = this.#secrets.list().map(({ metadata }) => metadata.name ?? '');
    const all = (await Promise.all(names.map((name) => this.#secrets.load(name)))).filter((secret) => secret !== undefined);
    const found = all.map((secret) => this.#bundleOf(secret)).filter((bundle) => bundle !== undefined);
    const standing = new Set(names);
    for (const name of this.#read.keys()) if (!standing.has(name)) this.#read.delete(name);
    const { bundles } = this.#latest;
    if (bundles.size === found.length && found.every((bundle) => bundles.get(bundle.name) === bundle)) return this.#latest;
    this.#latest = { bundles: new Map(found.map((bundle) => [bundle.name, bundle])), unreadable: new Map() };
    return this.#latest;
  }

  async put(bundle: TlsBundle): Promise<void> {
    refuseName(bundle.name);
    await this.#secrets.change(bundle.name, (current) => this.#secretOf(bundle, current));
  }

  /** Writes the bundle if the Secret still contains `before`. If another writer has changed it, that content stays. */
  async replace(before: TlsBundle | undefined, bundle: TlsBundle): Promise<void> {
    refuseName(bundle.name);
    await this.#secrets.change(bundle.name, (current) => {
      const standing = current === undefined ? undefined : this.#bundleOf(current);
      return sameBundle(before, standing) ? this.#secretOf(bundle, current) : undefined;
    });
  }

  async make(name: string, make: () => TlsBundle): Promise<TlsBundle> {
    refuseName(name);
    return this.#turns.run(name, async () => {
      const plan = (current: Secret | undefined): Secret | undefined =>
        current === undefined ? this.#secretOf(make(), undefined) : undefined;
      const secret = await this.#secrets.change(name, plan);
      return (secret === undefined ? undefined : this.#bundleOf(secret)) ?? { name };
    });
  }

  #bundleOf(secret: Secret): TlsBundle | undefined {
    const { name = '', uid = '', resourceVersion = '' } = secret.metadata;
    const known = this.#read.get(name);
    const version = `${uid} ${resourceVersion}`;
    if (known?.version === version) return known.bundle;
    const read = bundleIn(name, secret);
    const bundle = sameBundle(known?.bundle, read) ? known?.bundle : read;
    this.#read.set(name, { version, bundle });
    return bundle;
  }

  #secretOf({ name, cert, key, ca }: TlsBundle, current: Secret | undefined): Secret {
    refuseRecord(name);
    if (current !== undefined && !isOurs(current)) {
      throw new TrustError(
        'name-taken',
        `${this.#secrets.locationOf(name)} already exists, and Earshot did not create it: it is not replaced`,
      );
    }
    const { metadata, type = cert === undefined && key === undefined ? 'Opaque' : TLS } = current ?? {};
    const marks = this.#marksOf(name);
    // The type requires both keys, even with empty values, and is immutable.
    const none = type === TLS ? { [KEYS.cert]: '', [KEYS.key]: '' } : {};
    const parts = [cert === undefined ? {} : { [KEYS.cert]: cert }, key === undefined ? {} : { [KEYS.key]: key }];
    return {
      ...current,
      metadata: {
        ...metadata,
        ...(marks.labels === undefined ? {} : { labels: { ...metadata?.labels, ...marks.labels } }),
        annotations: { ...metadata?.annotations, ...marks.annotations, [annotation.controlled]: 'true' },
        ownerReferences: withOwners(metadata?.ownerReferences, marks.ownerReferences),
      },
      type,
      data: dataOf(Object.assign({ ...none }, ...parts, ca === undefined ? {} : { [KEYS.ca]: ca })),
    };
  }
}

/** @throws TrustError `name-taken` */
export function refuseRecord(name: string): void {
  if (!RECORDS.has(name)) return;
  throw new TrustError('name-taken', `Secret ${name} is reserved for keys and records of the site: choose another name`);
}

/** Whether this or an earlier site controller created it. Otherwise it is a user's. */
export function isOurs({ metadata }: Secret): boolean {
  if (foreignController(metadata) !== undefined) return false;
  return (
    metadata.annotations?.[annotation.controlled] === 'true' ||
    metadata.ownerReferences?.some(({ apiVersion }) => apiVersion.startsWith(`${GROUP}/`)) === true
  );
}

function bundleIn(name: string, { data = {} }: Secret): TlsBundle | undefined {
  const parts = Object.entries(KEYS).flatMap(([part, key]) => {
    const value = Object.hasOwn(data, key) ? data[key] : undefined;
    return value === undefined || value === '' ? [] : [[part, Buffer.from(value, 'base64').toString('utf8')] as const];
  });
  return parts.length === 0 ? undefined : { name, ...Object.fromEntries(parts) };
}

function withOwners(before: readonly OwnerReference[] = [], desired: readonly OwnerReference[] = []): readonly OwnerReference[] {
  return [...before.filter(({ uid }) => !desired.some((one) => one.uid === uid)), ...desired];
}
