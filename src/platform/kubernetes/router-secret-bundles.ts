import type { ProxyConfig, TlsBundle } from '../../router/contract.ts';
import type { Problem } from '../../errors/problem.ts';
import type { KubeClient } from '../../kube/contract.ts';
import type { Secret } from '../../kube/objects.ts';
import { secrets } from '../../kube/resource.ts';
import { TrustError } from '../../trust/errors.ts';
import type { Bundles, BundleSet } from '../../trust/stores.ts';
import { bundleOf, dataOf, isProblem, proxyOf } from './secret-bundle.ts';
import { isForRenewal } from '../../site/secret-names.ts';
import type { WatchedSecrets } from './watched-secrets.ts';

/** The same object as before while no Secret has changed. */
export interface SecretsRead {
  /** Bundles that others manage. Never replaced. */
  readonly users: BundleSet;
  readonly ours: BundleSet;
  readonly proxies: ReadonlyMap<string, ProxyConfig>;
}

/** TLS bundles in Secrets. The site's controller creates them; certificates that were renewed over a link are written back here. */
export class RouterSecretBundles implements Bundles {
  readonly #client: Pick<KubeClient, 'patch'>;
  readonly #namespace: string;
  readonly #watched: Pick<WatchedSecrets, 'get' | 'names'>;
  readonly #bundles = new WeakMap<Secret, TlsBundle | Problem>();
  #latest: { readonly from: readonly (Secret | undefined)[]; readonly read: SecretsRead } | undefined;

  constructor(client: Pick<KubeClient, 'patch'>, namespace: string, watched: Pick<WatchedSecrets, 'get' | 'names'>) {
    this.#client = client;
    this.#namespace = namespace;
    this.#watched = watched;
  }

  read(): SecretsRead {
    const from = this.#watched.names.toSorted().map((name) => this.#watched.get(name));
    const latest = this.#latest;
    if (latest !== undefined && latest.from.length === from.length && latest.from.every((one, index) => one === from[index])) {
      return latest.read;
    }
    const there = from.filter((secret) => secret !== undefined);
    const read = {
      users: this.#setOf(there.filter(({ metadata }) => !isForRenewal(metadata))),
      ours: this.#setOf(there.filter(({ metadata }) => isForRenewal(metadata))),
      proxies: new Map(there.flatMap((secret) => entryOf(secret.metadata.name, proxyOf(secret)))),
    };
    this.#latest = { from, read };
    return read;
  }

  get(name: string): Promise<TlsBundle | undefined> {
    const { users, ours } = this.read();
    return Promise.resolve(users.bundles.get(name) ?? ours.bundles.get(name));
  }

  list(): Promise<BundleSet> {
    return Promise.resolve(this.read().ours);
  }

  async put(bundle: TlsBundle): Promise<void> {
    const { name } = bundle;
    const secret = this.#watched.get(name);
    if (secret === undefined || !isForRenewal(secret.metadata)) throw notForRenewal(name);
    const { uid, resourceVersion } = secret.metadata;
    // With the resourceVersion, the patch fails if the Secret was changed in the meantime: that content is newer.
    const patch = { metadata: { uid, resourceVersion }, data: dataOf(bundle) };
    await this.#client.patch(secrets, { namespace: this.#namespace, name }, patch, { type: 'merge' });
  }

  make(name: string): Promise<TlsBundle> {
    return Promise.reject(notForRenewal(name));
  }

  locationOf(name: string): string {
    return `the Secret ${name}`;
  }

  #setOf(found: readonly Secret[]): BundleSet {
    const read = found.map((secret) => [secret.metadata.name ?? '', this.#bundles.getOrInsertComputed(secret, bundleOf)] as const);
    return {
      bundles: new Map(read.flatMap(([name, bundle]) => (isProblem(bundle) ? [] : [[name, bundle]]))),
      unreadable: new Map(read.flatMap(([name, problem]) => (isProblem(problem) ? [[name, problem]] : []))),
    };
  }
}

function entryOf<T>(name: string | undefined, value: T | undefined): readonly (readonly [string, T])[] {
  return name === undefined || value === undefined ? [] : [[name, value]];
}

function notForRenewal(name: string): TrustError {
  return new TrustError('state-unavailable', `the Secret ${name} does not exist, or this router may not write it`);
}
