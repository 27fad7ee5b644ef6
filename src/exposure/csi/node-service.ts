import type { PodListener, PodListeners } from '../../api/listeners/index.ts';
import { podListenersName, TOPOLOGY_KEY } from '../../api/listeners/names.ts';
import { cacheUntil } from '../../kube/watch/cache-until.ts';
import type { Cache } from '../../kube/contract.ts';
import { entryOf } from './volume-entry.ts';
import { CsiError } from './errors.ts';
import type { NodeDefinition } from './generated/csi.ts';
import type { CallContext, Implementation } from './grpc-server.ts';
import type { MountRequests, MountRequestsOptions } from './mount-requests.ts';
import { parseHandle, parsePublish, type PublishRequest } from './publish-request.ts';
import type { PublishedVolumes } from './published-volumes.ts';
import type { StandingRequests } from './standing-requests.ts';
import { parseTarget } from './target-path.ts';
import { aborted } from '../../work/pause.ts';

export interface NodeServiceOptions extends MountRequestsOptions {
  readonly kubeletDir: string;
  readonly requests: MountRequests;
  readonly standing: StandingRequests;
  readonly published: PublishedVolumes;
  /** Aborted when the process is to stop: calls that wait end at once, and the kubelet asks again. */
  readonly signal: AbortSignal;
  /** How long a mount waits for its address at most. */
  readonly waitMilliseconds?: number;
}

/** Under the two minutes after which the kubelet gives up (kubelet, pkg/volume/csi/csi_plugin.go, csiTimeout). */
const WAIT_MILLISECONDS = 110_000;
/** For the answer, which says why, to arrive before the caller gives up without a reason. */
const MARGIN_MILLISECONDS = 1_000;

/**
 * Volumes in pods (CSI specification, "Node Service RPC"). A mount asks the controller for the pod's address and waits
 * until that is known, by watch; so it costs one write and no read, and succeeds at once when the address is there.
 */
export function createNodeService(options: NodeServiceOptions): Implementation<NodeDefinition> {
  const { nodeName, kubeletDir, standing, published } = options;
  const mounts = new Mounts(options);
  return {
    async nodePublishVolume(request, context) {
      await mounts.publish(parsePublish(request, kubeletDir), context);
      return {};
    },

    async nodeUnpublishVolume({ volumeId, targetPath }) {
      parseHandle(volumeId);
      if (targetPath === '') throw new CsiError('csi-request', 'target_path is missing.');
      const target = parseTarget(kubeletDir, targetPath);
      mounts.takeBack(target.path);
      standing.remove(target);
      await published.unpublish(target);
      return {};
    },

    nodeGetCapabilities: async () => ({}),

    nodeGetInfo: async () => ({ nodeId: nodeName, accessibleTopology: { segments: new Map([[TOPOLOGY_KEY, nodeName]]) } }),
  };
}

class Mounts {
  readonly #options: NodeServiceOptions;
  /** Mounts that wait, by target path: taken back when the pod goes. */
  readonly #waiting = new Map<string, Set<AbortController>>();
  readonly #stopping: AbortSignal;

  constructor(options: NodeServiceOptions) {
    this.#options = options;
    this.#stopping = reasoned(options.signal, new CsiError('csi-not-ready', 'The driver stops; the mount goes on with its successor.'));
  }

  async publish(request: PublishRequest, caller: CallContext): Promise<void> {
    const { podListeners, requests, standing, published, waitMilliseconds } = this.#options;
    const { handle, target, pod } = request;
    const end = new AbortController();
    const group = this.#waiting.get(target.path) ?? new Set();
    this.#waiting.set(target.path, group.add(end));
    const timer = setTimeout(() => end.abort(overdue(request, podListeners)), patience(caller.deadline, waitMilliseconds));
    const signal = AbortSignal.any([caller.signal, this.#stopping, end.signal]);
    try {
      await Promise.race([podListeners.synced, aborted(signal)]);
      signal.throwIfAborted();
      await requests.request(pod, handle, signal);
      standing.add({ handle, target, pod });
      const key = keyOf(request);
      await cacheUntil(podListeners, (cache) => reachable(cache.get(key), handle), signal);
      // Taken back in the very moment: what is queued after the removal would stay for ever.
      signal.throwIfAborted();
      await published.publish({ handle, target, pod });
    } finally {
      clearTimeout(timer);
      group.delete(end);
      if (group.size === 0) {
        this.#waiting.delete(target.path);
        if (!published.has(target.path)) standing.remove(target);
      }
    }
  }

  takeBack(path: string): void {
    for (const end of this.#waiting.get(path) ?? []) end.abort(new CsiError('csi-superseded', 'The volume is taken away again.'));
  }
}

function patience(deadline: number, wait = WAIT_MILLISECONDS): number {
  const left = Math.max(deadline - Date.now(), 0);
  return Math.min(wait, left - Math.min(MARGIN_MILLISECONDS, left / 10));
}

function keyOf({ pod }: PublishRequest): string {
  return `${pod.namespace}/${podListenersName(pod.uid)}`;
}

function reachable(object: PodListeners | undefined, handle: string): PodListener | undefined {
  const entry = object === undefined ? undefined : entryOf(object, handle);
  return (entry?.ingressAddresses ?? []).length > 0 ? entry : undefined;
}

/** What the person who looks at the pod's events needs to know. */
function overdue(request: PublishRequest, cache: Cache<PodListeners>): CsiError {
  const { handle, pod } = request;
  if (!cache.isSynced) return new CsiError('csi-not-ready', 'The driver has not reached the API server yet; its log says why.');
  const object = cache.get(keyOf(request));
  const mounts = object?.status?.mounts ?? {};
  const status = Object.hasOwn(mounts, handle) ? mounts[handle] : undefined;
  const untouched = 'The controller has not taken up this mount: see whether its pods run, and their log.';
  const why = status === undefined ? untouched : `${status.reason}: ${status.message}`;
  return new CsiError('csi-waiting', `Volume ${handle} of pod ${pod.namespace}/${pod.name} has no address yet. ${why}`);
}

/** A signal that aborts with a reason of ours. */
function reasoned(signal: AbortSignal, reason: CsiError): AbortSignal {
  const controller = new AbortController();
  if (signal.aborted) controller.abort(reason);
  else signal.addEventListener('abort', () => controller.abort(reason), { once: true });
  return controller.signal;
}
