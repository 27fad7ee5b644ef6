import type { Snapshot, Source } from '../../agent/ports.ts';
import { NETWORK_DATA } from '../../api/skupper/cluster-names.ts';
import { podKeysIn } from '../../site/pod-keys.ts';
import { allOf, nameOf } from '../../site/resources.ts';
import { secretNames } from '../../site/secret-names.ts';
import { Coalescer } from '../../limits/loop/coalescer.ts';
import { bounded, detached } from '../../telemetry/boundary.ts';
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

/** Milliseconds. What depends on the time happens by the first; a Secret that was named a moment ago is waited for so long. */
const POLL = 5_000;
const ANSWER = 1_000;
/**
 * Milliseconds between two passes at least, and more for each resource: a pass looks at all of the namespace, in which hundreds of objects may
 * be made in a second.
 */
const PACE = 100;
const PACE_OF_EACH = 1;

type Content = Omit<Snapshot, 'bundles' | 'proxies' | 'awaitedSecrets'>;

/** What a namespace of a cluster holds for the site that it is: all from watches. */
export class ClusterSource implements Source {
  readonly #options: ClusterSourceOptions;
  readonly #followers = new Set<() => void>();
  #content: Content | undefined;
  /** As known last: where the list is gone, its pods are still listened for. */
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

  /** Something of the namespace is another than before. */
  changed(): void {
    this.#content = undefined;
    this.wake();
  }

  /** Something else is: a Secret, who leads, what is asked of the site. */
  wake(): void {
    for (const follower of this.#followers) follower();
  }

  follow(onChange: () => void): Disposable {
    // Each call is a follower of its own, also of a function that is there already.
    const pace = new Coalescer(
      async () => onChange(),
      () => PACE + PACE_OF_EACH * this.#count,
    );
    const own = (): void => pace.request();
    this.#followers.add(own);
    const poll = setInterval(bounded('look/namespace', own), POLL);
    poll.unref();
    return {
      [Symbol.dispose]: () => {
        clearInterval(poll);
        detached('look/namespace-end', () => pace.end());
        this.#followers.delete(own);
      },
    };
  }

  /** How many resources the last pass took in. */
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

/** Of AttachedConnectors that the site takes in: the rights of its routers name no others. */
function credentialsIn({ resources, attachedServers = [] }: Content): readonly (string | undefined)[] {
  const bindings = new Map(resources.AttachedConnectorBinding.map((binding) => [nameOf(binding), binding.spec.connectorNamespace]));
  return attachedServers.filter(({ name, namespace }) => bindings.get(name) === namespace).map(({ tlsCredentials }) => tlsCredentials);
}
