import type { PodListeners } from '../../api/listeners/index.ts';
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
import { entryOf, findPodListeners, podOf, type Volume } from './volume-entry.ts';
import { VolumeIndex } from './volume-index.ts';

export interface StandingRequestsOptions {
  readonly requests: Pick<MountRequests, 'request'>;
  /** The PodListeners of this node. */
  readonly podListeners: Cache<PodListeners>;
  readonly records: PodRecords;
  readonly log: Logger;
  /** Ends it. */
  readonly signal: AbortSignal;
  /** Between two asks for a pod of which the first was not answered. */
  readonly backoff?: Backoff;
}

const BACKOFF: Backoff = { first: 1_000, max: 300_000 };
/** Pods whose requests are lost at once, as with a cluster that was restored, are asked for a few at a time. */
const CONCURRENCY = 10;
/** An ask waits for the controller where an earlier system's object is in its place. */
const LONGEST_ASK = 30_000;

/**
 * Sees to it that the request for each volume that a pod has, or waits for, stands as long as that is so: without it
 * nobody tells of new addresses. Somebody may delete the object, or restore a cluster from before it was made.
 *
 * The object of a pod that was deleted goes before the pod's volumes do, where the kubelet is not waited for (`--force`),
 * and what is made anew then is collected at once. So an ask that was not answered is repeated later and later, and
 * nothing is asked for once the volume is taken away, or its namespace ends.
 */
export class StandingRequests {
  readonly #options: StandingRequestsOptions;
  readonly #volumes = new VolumeIndex();
  /** Asks that were not answered, by name of the PodListeners, like the queue's keys. */
  readonly #unanswered = new Map<string, { readonly count: number; readonly next: number }>();
  readonly #queue: WorkQueue;

  constructor(options: StandingRequestsOptions) {
    this.#options = options;
    const { podListeners, signal, backoff = BACKOFF } = options;
    const reconcile = (name: string, stopping: AbortSignal): Promise<ReconcileResult | undefined> => this.#keep(name, stopping);
    const onResult = (name: string, _outcome: Outcome, _seconds: number, error?: unknown): void => this.#report(name, error);
    this.#queue = new WorkQueue({ name: 'requests', reconcile, concurrency: CONCURRENCY, backoff, onResult });
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
    // Half a picture would make this node ask for everything anew.
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

  /** The pod of these volumes, if it is known; on the disk as long as it has any. */
  async #remember(name: string): Promise<PodIdentity | undefined> {
    const { podListeners, records, log } = this.#options;
    const [volume] = this.#volumes.ofPod(name);
    try {
      if (volume === undefined) {
        this.#unanswered.delete(name);
        await records.remove(uidOf(name));
        return undefined;
      }
      // The record may be missing or damaged. The object names the pod too, as long as there is one.
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
      'the request for volumes of a pod is gone; asking again',
    );
    const signal = AbortSignal.any([stopping, AbortSignal.timeout(LONGEST_ASK)]);
    try {
      for (const { handle, target } of volumes) {
        if (this.#volumes.get(target.path) !== undefined) await requests.request(pod, handle, signal);
      }
    } catch (error) {
      if (!isNamespaceTerminating(error) && !isNotFound(error)) throw error;
      // The pod ends with its namespace, and a mount that it waited for is never taken back.
      for (const { target } of this.#volumes.ofPod(name)) this.remove(target);
    }
  }

  #report(name: string, error: unknown): void {
    if (error !== undefined)
      this.#options.log.warn({ podListeners: name, error }, 'could not ask again; the files in the pod stay as they are');
  }
}

function uidOf(name: string): string {
  return name.slice(podListenersName('').length);
}
