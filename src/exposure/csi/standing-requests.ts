import type { PodListeners } from '../../api/listeners/index.ts';
import { entryOf } from '../../api/listeners/mount-status.ts';
import { podListenersName } from '../../api/listeners/names.ts';
import type { Cache } from '../../kube/contract.ts';
import { isNamespaceTerminating, isNotFound } from '../../kube/errors.ts';
import { messageOf, type Logger } from '../../telemetry/log.ts';
import { backoffDelay, type Backoff } from '../../work/backoff.ts';
import { WorkQueue } from '../../work/queue.ts';
import type { Outcome, ReconcileResult } from '../../work/reconcile.ts';
import type { MountRequests } from './mount-requests.ts';
import type { PodRecords } from './pod-records.ts';
import type { PodIdentity } from './publish-request.ts';
import type { Target } from './target-path.ts';
import { findPodListeners, podOf, type Volume } from './volume-entry.ts';
import { VolumeIndex } from './volume-index.ts';

export interface StandingRequestsOptions {
  readonly requests: Pick<MountRequests, 'request'>;
  /** The PodListeners of this node. */
  readonly podListeners: Cache<PodListeners>;
  readonly records: PodRecords;
  readonly log: Logger;
  /** Stops the repairs when aborted. */
  readonly signal: AbortSignal;
  /** Backoff between two requests for a pod whose previous one was not answered. */
  readonly backoff?: Backoff;
}

const BACKOFF: Backoff = { first: 1_000, max: 300_000 };
/** Number of concurrent requests, because many are lost at once when a cluster is restored. */
const CONCURRENCY = 10;
/** Maximum time in milliseconds of one request. It waits for the controller if an object of an earlier system has its name. */
const LONGEST_ASK = 30_000;

/**
 * Restores the request for each volume that a pod has or waits for. Without it the controller does not report new addresses. The
 * object may have been deleted, or the cluster restored from an older backup.
 * After a forced deletion (`--force`) the object is deleted before the pod's volumes are, and a restored one is garbage-collected
 * at once. So unanswered requests are repeated with backoff, and requests end when the volume is unpublished or its namespace
 * ends.
 */
export class StandingRequests {
  readonly #options: StandingRequestsOptions;
  readonly #volumes = new VolumeIndex();
  /** Unanswered requests by name of the PodListeners, which is also the key of the queue. */
  readonly #unanswered = new Map<string, { readonly count: number; readonly next: number }>();
  readonly #queue: WorkQueue;

  constructor(options: StandingRequestsOptions) {
    this.#options = options;
    const { podListeners, log, signal, backoff = BACKOFF } = options;
    const reconcile = (name: string, stopping: AbortSignal): Promise<ReconcileResult | undefined> => this.#keep(name, stopping);
    const onResult = (name: string, _outcome: Outcome, _seconds: number, error?: unknown): void => this.#report(name, error);
    this.#queue = new WorkQueue({ name: 'requests', log, reconcile, concurrency: CONCURRENCY, backoff, onResult });
    const ends = [
      podListeners.onChange(({ object }) => this.#scan(object.metadata.name ?? '')),
      podListeners.onRelist(() => this.#lookAtAll()),
    ];
    const stop = (): void => {
      for (const end of ends) end();
      void this.#queue.stop(0);
    };
    if (signal.aborted) stop();
    else signal.addEventListener('abort', stop, { once: true });
  }

  add(volume: Volume): void {
    this.#volumes.set(volume);
    this.#queue.add(podListenersName(volume.target.podUid));
  }

  remove(target: Target): void {
    this.#volumes.delete(target);
    this.#queue.add(podListenersName(target.podUid));
  }

  #scan(name: string): void {
    if (this.#volumes.ofPod(name).length > 0) this.#queue.add(name);
  }

  #lookAtAll(): void {
    for (const name of this.#volumes.names()) this.#queue.add(name);
  }

  async #keep(name: string, stopping: AbortSignal): Promise<ReconcileResult | undefined> {
    const { podListeners } = this.#options;
    const pod = await this.#remember(name);
    // With a partial cache this node would request everything again.
    if (pod === undefined || !podListeners.isSynced) return undefined;
    const volumes = this.#volumes.ofPod(name);
    const object = podListeners.get(`${pod.namespace}/${name}`);
    const asked = object?.spec.mounts ?? {};
    const missing = volumes.filter(({ handle }) => !Object.hasOwn(asked, handle));
    if (object !== undefined && volumes.every(({ handle }) => entryOf(object, handle) !== undefined)) this.#unanswered.delete(name);
    if (missing.length === 0) return undefined;
    const left = (this.#unanswered.get(name)?.next ?? 0) - performance.now();
    if (left > 0) return { requeueAfter: left };
    await this.#askFor(missing, pod, name, stopping);
    return undefined;
  }

  /** Returns the pod of these volumes if known, and keeps its record on disk while it has any. */
  async #remember(name: string): Promise<PodIdentity | undefined> {
    const { podListeners, records, log } = this.#options;
    const [volume] = this.#volumes.ofPod(name);
    try {
      if (volume === undefined) {
        this.#unanswered.delete(name);
        await records.remove(uidOf(name));
        return undefined;
      }
      // The record may be missing or damaged. The object names the pod too, if it exists.
      const recorded = volume.pod ?? records.get(volume.target.podUid);
      const sought = recorded === undefined ? volume : { ...volume, pod: recorded };
      const object = podListeners.isSynced ? findPodListeners(podListeners, sought) : undefined;
      const pod = volume.pod ?? (object === undefined ? undefined : podOf(object)) ?? recorded;
      if (pod !== undefined) await records.add(pod);
      return pod;
    } catch (error) {
      log.warn({ podListeners: name, reason: messageOf(error) }, 'the record of a pod could not be written');
      return volume?.pod;
    }
  }

  async #askFor(volumes: readonly Volume[], pod: PodIdentity, name: string, stopping: AbortSignal): Promise<void> {
    const { requests, backoff = BACKOFF, log } = this.#options;
    const count = (this.#unanswered.get(name)?.count ?? 0) + 1;
    this.#unanswered.set(name, { count, next: performance.now() + backoffDelay(backoff, count, Math.random()) });
    log.info(
      { namespace: pod.namespace, pod: pod.name, volumes: volumes.length },
      'the request for volumes of a pod was deleted; requesting again',
    );
    const signal = AbortSignal.any([stopping, AbortSignal.timeout(LONGEST_ASK)]);
    try {
      for (const { handle, target } of volumes) {
        if (this.#volumes.get(target.path) !== undefined) await requests.request(pod, handle, signal);
      }
    } catch (error) {
      if (!isNamespaceTerminating(error) && !isNotFound(error)) throw error;
      // The pod ends with its namespace, and the kubelet never unpublishes a mount that was still waiting.
      for (const { target } of this.#volumes.ofPod(name)) this.remove(target);
    }
  }

  #report(name: string, error: unknown): void {
    if (error !== undefined)
      this.#options.log.warn({ podListeners: name, error }, 'could not request again; the files in the pod stay unchanged');
  }
}

function uidOf(name: string): string {
  return name.slice(podListenersName('').length);
}
