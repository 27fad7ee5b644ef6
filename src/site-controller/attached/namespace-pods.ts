import type { Cache, KubeClient, StartInformer } from '../../kube/contract.ts';
import type { KubeObject, Pod } from '../../kube/objects.ts';
import { pods } from '../../kube/resource.ts';
import type { SelectablePod } from '../../site/material.ts';
import { selectablePod } from '../../site/selectable-pod.ts';
import { isDeepStrictEqual } from 'node:util';

interface KeptPod extends KubeObject {
  readonly pod: SelectablePod;
}

interface Followed {
  readonly cache: Cache<KeptPod>;
  readonly stop: AbortController;
}

export interface NamespacePodsOptions {
  readonly start: StartInformer;
  readonly client: KubeClient;
  readonly signal: AbortSignal;
  readonly onChange: (namespace: string) => void;
}

/** Watches pods in attached namespaces only, so all other pods of the cluster cost nothing. */
export class NamespacePods {
  readonly #options: NamespacePodsOptions;
  readonly #followed = new Map<string, Followed>();

  constructor(options: NamespacePodsOptions) {
    this.#options = options;
  }

  /** Watches exactly these namespaces. */
  follow(namespaces: ReadonlySet<string>): void {
    for (const [namespace, { stop }] of this.#followed) {
      if (namespaces.has(namespace)) continue;
      stop.abort();
      this.#followed.delete(namespace);
    }
    for (const namespace of namespaces) if (!this.#followed.has(namespace)) this.#start(namespace);
  }

  /** Undefined if the namespace is not watched or its pods are not listed yet. */
  of(namespace: string): readonly SelectablePod[] | undefined {
    const followed = this.#followed.get(namespace);
    return followed?.cache.isSynced === true ? [...followed.cache.values()].map(({ pod }) => pod) : undefined;
  }

  #start(namespace: string): void {
    const { start, client, signal, onChange } = this.#options;
    const stop = new AbortController();
    const cache = start<Pod, KeptPod>(client, pods, { namespace, signal: AbortSignal.any([signal, stop.signal]), project: keptPod });
    this.#followed.set(namespace, { cache, stop });
    cache.onChange(({ object, previous }) => {
      if (previous === undefined || !isDeepStrictEqual(previous.pod, object.pod)) onChange(namespace);
    });
    cache.synced.then(
      () => onChange(namespace),
      () => undefined,
    );
  }
}

function keptPod(pod: Pod): KeptPod {
  const { name = '', namespace = '', uid = '', resourceVersion = '' } = pod.metadata;
  return { metadata: { name, namespace, uid, resourceVersion }, pod: selectablePod(pod) };
}
