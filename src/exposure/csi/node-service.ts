import type { PodListener, PodListeners } from '../../api/listeners/index.ts';
import { entryOf, isEnding, mountStatusOf } from '../../api/listeners/mount-status.ts';
import { podListenersName, TOPOLOGY_KEY } from '../../api/listeners/names.ts';
import { cacheUntil } from '../../kube/watch/cache-until.ts';
import type { Cache } from '../../kube/contract.ts';
import { isNamespaceTerminating } from '../../kube/errors.ts';
import type { Logger } from '../../telemetry/log.ts';
import { CsiError } from './errors.ts';
import type { NodeDefinition } from './generated/csi.ts';
import type { CallContext, Implementation } from './grpc-server.ts';
import { Status } from './grpc-status.ts';
import type { MountRequests, MountRequestsOptions } from './mount-requests.ts';
import { parseHandle, parsePublish, type PublishRequest } from './publish-request.ts';
import type { PublishedVolumes } from './published-volumes.ts';
import { refusalOf } from './socket-server.ts';
import type { StandingRequests } from './standing-requests.ts';
import { parseTarget, type Target } from './target-path.ts';
import { VolumeUses } from './volume-uses.ts';
import { aborted } from '../../work/pause.ts';

export interface NodeServiceOptions extends MountRequestsOptions {
  readonly kubeletDir: string;
  readonly requests: MountRequests;
  readonly standing: StandingRequests;
  readonly published: PublishedVolumes;
  readonly log: Logger;
  /** Aborted when the process stops: waiting calls then end at once, and the kubelet retries. */
  readonly signal: AbortSignal;
  /** Maximum time in milliseconds for which a mount waits for its address. */
  readonly waitMilliseconds?: number;
}

/** Less than the kubelet's timeout of two minutes (kubelet, pkg/volume/csi/csi_plugin.go, csiTimeout). */
const WAIT_MILLISECONDS = 110_000;
/** Margin before the caller's deadline, so that it receives the reason instead of a timeout. */
const MARGIN_MILLISECONDS = 1_000;
/** How long a mount still waits when the kubelet needs its volume for another pod: their addresses often arrive together. */
const YIELD_MILLISECONDS = 500;

/**
 * The Node service (CSI specification, "Node Service RPC"). A mount requests the pod's address from the controller and waits for
 * it by watch. So it costs one write and no read, and succeeds at once if the address exists. docs/adr/0020-waiting-mounts.md
 * explains how long a call waits.
 */
export function createNodeService(options: NodeServiceOptions): Implementation<NodeDefinition> {
  const { nodeName, kubeletDir, standing, published, log } = options;
  const mounts = new Mounts(options);
  return {
    async nodePublishVolume(request, context) {
      await mounts.publish(parsePublish(request, kubeletDir), context);
      return {};
    },

    async nodeUnpublishVolume({ volumeId, targetPath }, { id }) {
      parseHandle(volumeId);
      if (targetPath === '') throw new CsiError('csi-request', 'target_path is missing.');
      const target = parseTarget(kubeletDir, targetPath);
      mounts.unpublish(target);
      standing.remove(target);
      await published.unpublish(target);
      log.debug({ call: id, volume: volumeId, podUid: target.podUid }, 'volume unpublished');
      return {};
    },

    nodeGetCapabilities: async () => ({}),

    nodeGetInfo: async () => ({ nodeId: nodeName, accessibleTopology: { segments: new Map([[TOPOLOGY_KEY, nodeName]]) } }),
  };
}

class Mounts {
  readonly #options: NodeServiceOptions;
  /** Waiting mounts by target path. */
  readonly #waiting = new Map<string, Set<AbortController>>();
  readonly #uses: VolumeUses;
  readonly #stopping: AbortSignal;

  constructor(options: NodeServiceOptions) {
    this.#options = options;
    this.#uses = new VolumeUses(options.requests.view, options.published);
    this.#stopping = reasoned(
      options.signal,
      new CsiError('csi-not-ready', 'The driver is stopping; the next driver process continues the mount.'),
    );
  }

  async publish(request: PublishRequest, caller: CallContext): Promise<void> {
    const { podListeners, requests, standing, published, log, waitMilliseconds } = this.#options;
    const { handle, target, pod } = request;
    const logStep = stepLogger(log, request, caller.id);
    const end = new AbortController();
    const group = this.#waiting.get(target.path) ?? new Set();
    this.#waiting.set(target.path, group.add(end));
    const timer = setTimeout(() => end.abort(overdue(request, podListeners)), patience(caller.deadline, waitMilliseconds));
    const signal = AbortSignal.any([caller.signal, this.#stopping, end.signal]);
    try {
      await Promise.race([podListeners.synced, aborted(signal)]);
      signal.throwIfAborted();
      const isNew = await requests.request(pod, handle, signal);
      logStep?.(isNew ? 'mount requested from the controller' : 'mount was requested before');
      this.#uses.ask({ handle, target, pod });
      const { ingressAddresses } = await this.#untilReachable(request, { end, signal, logStep });
      logStep?.('address known', { address: ingressAddresses?.[0]?.address });
      // The volume may have been unpublished meanwhile. Publishing it now would leave it on disk forever.
      signal.throwIfAborted();
      standing.add({ handle, target, pod });
      await published.publish({ handle, target, pod });
      logStep?.('volume published');
    } catch (error) {
      if (!caller.signal.aborted && isFinal(refusalOf(error).status)) this.#uses.fail(target);
      throw isNamespaceTerminating(error) ? new CsiError('csi-superseded', `Namespace ${pod.namespace} is being deleted.`, error) : error;
    } finally {
      clearTimeout(timer);
      group.delete(end);
      if (group.size === 0) {
        this.#waiting.delete(target.path);
        if (!published.has(target.path)) standing.remove(target);
      }
    }
  }

  unpublish(target: Target): void {
    for (const end of this.#waiting.get(target.path) ?? []) end.abort(new CsiError('csi-superseded', 'The volume is being unmounted.'));
    this.#uses.unpublish(target);
  }

  /**
   * The kubelet runs one operation at a time on a volume and does not cancel this one. So the wait ends when this pod ends, and
   * shortly after the kubelet needs the volume for another pod.
   */
  async #untilReachable(request: PublishRequest, { end, signal, logStep }: Wait): Promise<PodListener> {
    const { view } = this.#options.requests;
    let timer: NodeJS.Timeout | undefined;
    let waitsFor: string | undefined;
    const logWait = (object: PodListeners | undefined): void => {
      const status = object === undefined ? undefined : mountStatusOf(object, request.handle);
      const reason = status?.reason ?? 'Unanswered';
      if (reason === waitsFor) return;
      waitsFor = reason;
      logStep?.('waiting for an address', { reason, why: status?.message });
    };
    const yieldIfNeeded = (): void => {
      timer = undefined;
      const conflict = this.#uses.findConflict(request);
      if (conflict !== undefined) end.abort(new CsiError('csi-superseded', `${conflict} This mount is retried after that.`));
    };
    try {
      return await cacheUntil(
        view,
        (cache) => {
          const object = cache.get(keyOf(request));
          const found = reachable(object, request.handle);
          if (found !== undefined) return found;
          checkStands(request, object);
          if (logStep !== undefined) logWait(object);
          if (this.#uses.findConflict(request) !== undefined) timer ??= setTimeout(yieldIfNeeded, YIELD_MILLISECONDS);
          return undefined;
        },
        signal,
      );
    } finally {
      clearTimeout(timer);
    }
  }
}

/** Logs one step of a mount. */
type LogStep = (step: string, fields?: Readonly<Record<string, unknown>>) => void;

interface Wait {
  readonly end: AbortController;
  readonly signal: AbortSignal;
  readonly logStep: LogStep | undefined;
}

/** Undefined while debug is off. */
function stepLogger(log: Logger, { handle, pod }: PublishRequest, call: number): LogStep | undefined {
  if (!log.isLevelEnabled('debug')) return undefined;
  const about = { call, volume: handle, namespace: pod.namespace, pod: pod.name };
  return (step, fields) => log.debug({ ...about, ...fields }, step);
}

/** Throws csi-superseded if the pod of a waiting mount ends. */
function checkStands({ handle, pod }: PublishRequest, object: PodListeners | undefined): void {
  if (object === undefined || !Object.hasOwn(object.spec.mounts ?? {}, handle)) {
    throw new CsiError('csi-superseded', `The request for volume ${handle} of pod ${pod.namespace}/${pod.name} was deleted.`);
  }
  if (isEnding(object, handle)) throw new CsiError('csi-superseded', mountStatusOf(object, handle)?.message ?? '');
}

/**
 * Status codes after which the kubelet considers a volume partially mounted (kubelet, pkg/volume/csi/csi_client.go,
 * isFinalError).
 */
const UNCERTAIN: ReadonlySet<Status> = new Set<Status>([Status.CANCELLED, Status.DEADLINE_EXCEEDED, Status.UNAVAILABLE, Status.ABORTED]);

function isFinal(status: Status): boolean {
  return !UNCERTAIN.has(status);
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

/** The error when the wait times out. The kubelet shows it in an event of the pod. */
function overdue(request: PublishRequest, cache: Cache<PodListeners>): CsiError {
  const { handle, pod } = request;
  if (!cache.isSynced) return new CsiError('csi-not-ready', 'The driver has not reached the API server yet; see its log.');
  const object = cache.get(keyOf(request));
  const status = object === undefined ? undefined : mountStatusOf(object, handle);
  const unanswered = 'The controller has not answered this mount: check that its pods run, and see their log.';
  const why = status === undefined ? unanswered : `${status.reason}: ${status.message}`;
  return new CsiError('csi-waiting', `Volume ${handle} of pod ${pod.namespace}/${pod.name} has no address yet. ${why}`);
}

/** A signal that aborts with the given reason. */
function reasoned(signal: AbortSignal, reason: CsiError): AbortSignal {
  const controller = new AbortController();
  if (signal.aborted) controller.abort(reason);
  else signal.addEventListener('abort', () => controller.abort(reason), { once: true });
  return controller.signal;
}
