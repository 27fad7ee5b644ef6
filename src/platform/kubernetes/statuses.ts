import { isDeepStrictEqual } from 'node:util';
import type { Report, Siblings, StatusSink } from '../../agent/ports.ts';
import { skupperResources } from '../../api/skupper/index.ts';
import type { KubeClient } from '../../kube/contract.ts';
import { askedToWait, isConflict, isNotFound, LeaseLostError } from '../../kube/errors.ts';
import type { Resource } from '../../kube/resource.ts';
import { writeStatus } from '../../kube/write-status.ts';
import type { AnyStatus } from '../../site/observe/observe.ts';
import { partitionedRouters } from '../../site/observe/partitioned-routers.ts';
import type { Kind, ResourceKey } from '../../site/resources.ts';
import type { Logger } from '../../telemetry/log.ts';
import { bounded } from '../../telemetry/boundary.ts';
import { reportResults } from '../../telemetry/queue-metrics.ts';
import { WorkQueue } from '../../work/queue.ts';
import { DelayedCall } from '../../limits/loop/delayed-call.ts';
import { RateLimiter } from '../../limits/rate-limiter.ts';
import { FirstStatusDelay } from './first-status-delay.ts';
import type { NamespaceWatches, StoredResource } from './namespace-watches.ts';
import { PartitionDetector } from './partition-detector.ts';
import { writeNetworkStatus } from './network-writer.ts';
import { desiredStatuses, withStandingTimes } from './desired-statuses.ts';
import { limitTable } from '../../limits/table.ts';

export interface ClusterStatusesOptions {
  /** Writes only while this router leads. */
  readonly client: KubeClient;
  readonly watches: Pick<NamespaceWatches, 'resources' | 'network'>;
  readonly siblings: Pick<Siblings, 'serving'>;
  readonly namespace: string;
  readonly log: Logger;
  /** Called after the last status write. */
  readonly onClose: () => void;
  /** Returns RFC 3339, in seconds. */
  readonly now: () => string;
  /** Milliseconds between two rounds of writes. */
  readonly round?: number;
  /** Minimum milliseconds for which a listener's first status waits for its Service. */
  readonly grace?: number;
  /** Milliseconds after which a router that has started is assumed to know the whole network. */
  readonly settling?: number;
}

/** Milliseconds. */
const ROUND = 1_000;
const SETTLING = 30_000;
const BACKOFF = { first: 500, max: 60_000 };
const CLOSE_DEADLINE = 3_000;
/** More writes would slow down the API server while hundreds of objects are created. A status that waits is written as it is by then. */
const CONCURRENCY = 8;
/**
 * Rate limit of network-status writes. Each causes a write of the Site's status, and any other site can trigger one. A new site is reported
 * at once, and a site that keeps changing every ten seconds.
 */
const NETWORK_WRITES = limitTable.networkStatusWrites.value;
/** Work-queue key that no resource can have. */
const NETWORK = 'network';

/**
 * Writes the statuses that a site's routers report, and the network-status ConfigMap. Unchanged statuses are not written. A failed write is
 * retried by itself and does not delay others.
 */
export class ClusterStatuses implements StatusSink {
  readonly #options: ClusterStatusesOptions;
  readonly #pace: DelayedCall;
  readonly #networkPace: DelayedCall;
  readonly #queue: WorkQueue;
  readonly #settling: NodeJS.Timeout;
  readonly #networkWrites = new RateLimiter(NETWORK_WRITES);
  readonly #apart = new PartitionDetector(() => performance.now());
  readonly #heldBack: FirstStatusDelay;
  #settled = false;
  #report: Report | undefined;
  #desired: ReadonlyMap<ResourceKey, AnyStatus> = new Map();

  constructor(options: ClusterStatusesOptions) {
    const { round = ROUND, settling = SETTLING } = options;
    this.#options = options;
    this.#heldBack = new FirstStatusDelay(options.grace);
    const interval = (): number => round;
    this.#pace = new DelayedCall({ name: 'pass/statuses', call: () => this.#round(), interval });
    this.#networkPace = new DelayedCall({ name: 'pass/network-status', call: () => this.#queue.add(NETWORK), interval });
    const settle = (): void => {
      this.#settled = true;
      this.networkChanged();
    };
    this.#settling = setTimeout(bounded('pass/network-settled', settle, settle), settling).unref();
    this.#queue = new WorkQueue({
      name: 'statuses',
      log: options.log,
      concurrency: CONCURRENCY,
      backoff: BACKOFF,
      askedToWait,
      reconcile: async (key, signal) => {
        const left = this.#heldBack.left(key);
        if (left > 0) return { requeueAfter: left };
        if (key === NETWORK && this.#networkWrites.left(performance.now()) < 1) return { requeueAfter: ROUND };
        await this.#ensure(key, signal).catch(leaveToOthers);
        return undefined;
      },
      onResult: reportResults('statuses', options.log),
    });
  }

  write(report: Report): void {
    this.#report = report;
    this.#pace.request();
  }

  /** Called when the network-status ConfigMap was deleted, or changed by another writer. */
  networkChanged(): void {
    if (this.#report !== undefined) this.#networkPace.request();
  }

  /**
   * No-op. A rollout does not change a Listener's status: the next pod takes over the statuses. Without a next pod, the controller writes
   * the Site's condition Running.
   */
  markStale(): Promise<void> {
    return Promise.resolve();
  }

  /** Statuses that are not written by the deadline are left to the next leader. */
  async close(): Promise<void> {
    clearTimeout(this.#settling);
    this.#pace.end();
    this.#networkPace.end();
    await this.#queue.stop(CLOSE_DEADLINE);
    this.#options.onClose();
  }

  #round(): void {
    if (this.#report === undefined) return;
    this.#desired = desiredStatuses(this.#report, (kind) => this.#options.watches.resources(kind).values(), this.#options.now());
    const there = [...this.#desired].filter(([key]) => this.#standing(key) !== undefined);
    const waiting = there.filter(([key, { status }]) => status === 'Pending' && this.#standing(key)?.status === undefined);
    this.#heldBack.see({
      waiting: new Set(waiting.map(([key]) => key)),
      awaitingService: awaitingService(this.#report),
      isDone: (key) => (this.#desired.get(key as ResourceKey)?.status ?? 'Pending') !== 'Pending',
    });
    for (const [key, status] of there) {
      if (isWritten(status, this.#standing(key)?.status)) continue;
      const left = this.#heldBack.left(key);
      if (left > 0) this.#queue.addAfter(key, left);
      else this.#queue.add(key);
    }
    this.#networkPace.request();
  }

  async #ensure(key: string, signal: AbortSignal): Promise<void> {
    const { client, watches, namespace } = this.#options;
    if (key === NETWORK) {
      const report = this.#report;
      if (report === undefined) return;
      const apart = this.#partitionReported(report);
      const how = { client, namespace, standing: watches.network, settled: this.#settled, apart, signal };
      if (await writeNetworkStatus(report, how)) this.#networkWrites.take(performance.now());
      return;
    }
    // All other keys are keys of resources.
    const resource = key as ResourceKey;
    const object = this.#standing(resource);
    const status = this.#desired.get(resource);
    if (object === undefined || status === undefined) return;
    const kind = kindOf(resource);
    const of = skupperResources[kind] as Resource<StoredResource>;
    await writeStatus(of, object, withStandingTimes(status, object.status), { client, view: watches.resources(kind), signal });
  }

  #partitionReported({ router }: Report): readonly string[] {
    const apart = router === undefined ? new Map<string, string>() : partitionedRouters(router, this.#options.siblings.serving());
    const { messages, again } = this.#apart.report(apart);
    if (again !== undefined) this.#queue.addAfter(NETWORK, again);
    return messages;
  }

  #standing(key: ResourceKey): StoredResource | undefined {
    const name = key.slice(key.indexOf('/') + 1);
    return this.#options.watches.resources(kindOf(key)).get(`${this.#options.namespace}/${name}`);
  }
}

/** A round visits every resource, so unchanged statuses are skipped before they are queued. */
function isWritten(status: AnyStatus, standing: unknown): boolean {
  return standing !== undefined && isDeepStrictEqual(withStandingTimes(status, standing), standing);
}

function awaitingService({ plan }: Report): ReadonlySet<ResourceKey> {
  return new Set(plan.problems.flatMap(({ code, resource }) => (code === 'service-awaited' ? [resource] : [])));
}

function kindOf(key: ResourceKey): Kind {
  // A key begins with the kind, followed by a slash.
  return key.slice(0, key.indexOf('/')) as Kind;
}

/** Another router leads by now, or the object was deleted or replaced. There is nothing to retry. */
function leaveToOthers(error: unknown): void {
  if (!(error instanceof LeaseLostError) && !isConflict(error) && !isNotFound(error)) throw error;
}
