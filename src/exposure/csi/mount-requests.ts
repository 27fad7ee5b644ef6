import { podListeners, type PodListeners } from '../../api/listeners/index.ts';
import { podListenersName } from '../../api/listeners/names.ts';
import { cacheUntil } from '../../kube/watch/cache-until.ts';
import type { Cache, KubeClient } from '../../kube/contract.ts';
import { isAlreadyExists, isNotFound } from '../../kube/errors.ts';
import { keyString } from '../../kube/key.ts';
import { apiVersionOf } from '../../kube/resource.ts';
import { WriteThroughCache } from '../../kube/watch/write-through-cache.ts';
import { CsiError } from './errors.ts';
import type { PodIdentity } from './publish-request.ts';
import { KeyedMutex } from '../../work/keyed-mutex.ts';

export interface MountRequestsOptions {
  readonly nodeName: string;
  readonly client: Pick<KubeClient, 'create' | 'find' | 'patch'>;
  /** The PodListeners of this node. */
  readonly podListeners: Cache<PodListeners>;
}

/**
 * Requests mounts from the controller: one write for each volume, none if the request exists already.
 * The request is a key of `spec.mounts` in the pod's PodListeners, the only object that this node's driver may write. The
 * controller trusts it only once the pod, the claim and the volume agree.
 */
export class MountRequests {
  readonly #options: MountRequestsOptions;
  /** A pod's volumes are mounted concurrently: the first one creates the object, the others patch it. */
  readonly #turns = new KeyedMutex();
  /** The PodListeners of this node, including this driver's latest writes. */
  readonly view: WriteThroughCache<PodListeners>;

  constructor(options: MountRequestsOptions) {
    this.#options = options;
    this.view = new WriteThroughCache(options.podListeners);
  }

  /** @returns whether a write was necessary */
  request(pod: PodIdentity, handle: string, signal: AbortSignal): Promise<boolean> {
    return this.#turns.run(pod.uid, () => this.#ask(pod, handle, signal));
  }

  async #ask(pod: PodIdentity, handle: string, signal: AbortSignal): Promise<boolean> {
    const { nodeName, client, podListeners: cache } = this.#options;
    const key = { namespace: pod.namespace, name: podListenersName(pod.uid) };
    const name = keyString(key);
    let known = this.view.get(name);
    // Two attempts at most: between a read and a write the object may be created or deleted.
    for (let tries = 0; ; tries += 1) {
      checkNode(known, nodeName, name);
      if (known !== undefined && Object.hasOwn(known.spec.mounts ?? {}, handle)) return false;
      try {
        const spec = { nodeName, mounts: { [handle]: {} } };
        const created: PodListeners =
          known === undefined
            ? await client.create(podListeners, newPodListeners(pod, spec), { signal })
            : await client.patch(podListeners, key, { spec }, { type: 'merge', signal });
        this.view.wrote(created);
        return true;
      } catch (error) {
        // If create fails with NotFound, the namespace is missing.
        const isOvertaken = known === undefined ? isAlreadyExists(error) : isNotFound(error);
        if (tries > 0 || !isOvertaken) throw error;
        known = await client.find(podListeners, key, { signal });
        // An earlier system created the object. Only the controller may set its node, which it does unprompted. From then on this
        // node's watch contains it.
        if (known !== undefined && known.spec.nodeName === undefined) known = await cacheUntil(cache, () => cache.get(name), signal);
      }
    }
  }
}

function checkNode(object: PodListeners | undefined, nodeName: string, name: string): void {
  const other = object?.spec.nodeName;
  if (other === undefined || other === nodeName) return;
  throw new CsiError(
    'not-on-this-node',
    `PodListeners ${name} belongs to node ${other}, but the pod is on ${nodeName}. A pod never moves, so that object is ` +
      'wrong: delete it, and the mount continues.',
  );
}

function newPodListeners(pod: PodIdentity, spec: Omit<PodListeners['spec'], 'listeners'>): PodListeners {
  return {
    apiVersion: apiVersionOf(podListeners),
    kind: podListeners.kind,
    metadata: {
      name: podListenersName(pod.uid),
      namespace: pod.namespace,
      ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name: pod.name, uid: pod.uid }],
    },
    spec: { ...spec, listeners: {} },
  };
}
