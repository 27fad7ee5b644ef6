import type { Snapshot, Source } from '../../agent/ports.ts';
import { NETWORK_DATA } from '../../api/skupper/cluster-names.ts';
import { podKeysIn } from '../../site/pod-keys.ts';
import { allOf, nameOf } from '../../site/resources.ts';
import { secretNames } from '../../site/secret-names.ts';
import { DelayedCall } from '../../limits/loop/delayed-call.ts';
import { bounded } from '../../telemetry/boundary.ts';
import type { NamespaceWatches } from './namespace-watches.ts';
import type { RouterSecretBundles, SecretsRead } from './router-secret-bundles.ts';
import type { StoredResources } from './stored-resources.ts';
import type { WatchedSecrets } from './watched-secrets.ts';

export interface ClusterSourceOptions {
  readonly watches: Pick<NamespaceWatches, 'pods' | 'services' | 'network' | 'attachedServers' | 'reachedAt'>;
  readonly stored: StoredResources;
  readonly secrets: Pick<WatchedSecrets, 'follow' | 'answered' | 'awaited'>;
  readonly bundles: RouterSecretBundles;
}

/**
 * Milliseconds between two polls, for everything that depends on the time. The second is the maximum wait for a Secret that was just
 * referenced.
 */
const POLL = 5_000;
const ANSWER = 1_000;
/**
 * Minimum milliseconds between two reconciles, plus an amount for each resource. A reconcile visits the whole namespace, where hundreds of
 * objects may be created in a second.
 */
const PACE = 100;
const PACE_OF_EACH = 1;

type Content = Omit<Snapshot, 'bundles' | 'proxies' | 'awaitedSecrets'>;

/** Resources and Secrets of a site in a namespace of a cluster, all from watches. */
export class ClusterSource implements Source {
  readonly #options: ClusterSourceOptions;
  readonly #followers = new Set<() => void>();
  #content: Content | undefined;
  /** Last known pod keys. Without the ConfigMap the router still listens for these pods. */
  #podKeys: readonly string[] = [];
  #latest:
    | { readonly content: Content; readonly secrets: SecretsRead; readonly awaited: ReadonlySet<string>; readonly snapshot: Snapshot }
    | undefined;

  constructor(options: ClusterSourceOptions) {
    this.#options = options;
  }

  async read(): Promise<Snapshot> {
    const { secrets, bundles } = this.#options;
    const content = (this.#content ??= this.#gather());
    secrets.follow(secretNames(content.resources, credentialsIn(content)));
    await secrets.answered(ANSWER);
    const read = bundles.read();
    const awaited = secrets.awaited();
    const latest = this.#latest;
    if (latest?.content === content && latest.secrets === read && isSameSet(latest.awaited, awaited)) return latest.snapshot;
    const snapshot: Snapshot = { ...content, bundles: read.users, proxies: read.proxies, awaitedSecrets: awaited };
    this.#latest = { content, secrets: read, awaited, snapshot };
    return snapshot;
  }

  /** Called when objects of the namespace have changed. */
  changed(): void {
    this.#content = undefined;
    this.wake();
  }

  /** Called when something else has changed: a Secret, the leader, or a request to the site. */
  wake(): void {
    for (const follower of this.#followers) follower();
  }

  follow(onChange: () => void): Disposable {
    // A new function for each call, so that the same callback can follow twice.
    const interval = (): number => PACE + PACE_OF_EACH * this.#count;
    const pace = new DelayedCall({ name: 'look/namespace-change', call: onChange, interval });
    const own = (): void => pace.request();
    this.#followers.add(own);
    const poll = setInterval(bounded('look/namespace', own), POLL);
    poll.unref();
    return {
      [Symbol.dispose]: () => {
        clearInterval(poll);
        pace.end();
        this.#followers.delete(own);
      },
    };
  }

  /** Number of resources in the last reconcile. */
  get #count(): number {
    return this.#latest === undefined ? 0 : allOf(this.#latest.content.resources).length;
  }

  bundleLocation(name: string): string {
    return `the Secret ${name}, of the type kubernetes.io/tls`;
  }

  #gather(): Content {
    const { watches, stored } = this.#options;
    return {
      ...stored.read(),
      pods: [...watches.pods.values()].map(({ pod }) => pod),
      attachedServers: watches.attachedServers,
      services: {
        services: [...watches.services.values()].map(({ service }) => service),
        podKeys: (this.#podKeys = podKeysIn(watches.network?.data?.[NETWORK_DATA.podKeys]) ?? this.#podKeys),
      },
      attached: [],
      reachedAt: watches.reachedAt,
      incomplete: false,
      restless: false,
    };
  }
}

function isSameSet(one: ReadonlySet<string>, other: ReadonlySet<string>): boolean {
  return one.size === other.size && one.isSubsetOf(other);
}

/** Only AttachedConnectors that the site accepts: its routers' Role names no other Secrets. */
function credentialsIn({ resources, attachedServers = [] }: Content): readonly (string | undefined)[] {
  const bindings = new Map(resources.AttachedConnectorBinding.map((binding) => [nameOf(binding), binding.spec.connectorNamespace]));
  return attachedServers.filter(({ name, namespace }) => bindings.get(name) === namespace).map(({ tlsCredentials }) => tlsCredentials);
}
