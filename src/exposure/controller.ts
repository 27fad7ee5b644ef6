/** The exposure controller: its work queues and their reconcilers. */
import type { EventRecorder, KubeClient } from '../kube/contract.ts';
import type { Controller } from '../kube/controller/leadership.ts';
import { limitTable } from '../limits/table.ts';
import { WorkQueue, type WorkQueueOptions } from '../work/queue.ts';
import type { Reconcile } from '../work/reconcile.ts';
import { askedToWait } from '../kube/errors.ts';
import type { Logger } from '../telemetry/log.ts';
import { reportResults, showQueues } from '../telemetry/queue-metrics.ts';
import type { ClusterCaches, ProvisionCaches } from './cluster/caches.ts';
import { ListenerReconciler } from './listeners/listener-reconciler.ts';
import { createEndingPodsReconciler } from './mounts/ending-pods-reconciler.ts';
import { MountReconciler } from './mounts/mount-reconciler.ts';
import { createPodLabelsReconciler } from './mounts/pod-labels-reconciler.ts';
import { createNodeLossReconciler } from './listeners/node-loss-reconciler.ts';
import { dampWrites, RepairDelayed, DampedWrites } from './listeners/damped-writes.ts';
import { ClaimReconciler } from './provision/claim-reconciler.ts';
import { createReclaimReconciler } from './provision/reclaim-reconciler.ts';
import { watchHandlers } from './watch-handlers.ts';

export interface ControllerOptions {
  readonly client: KubeClient;
  readonly caches: ClusterCaches;
  /** Set if no external-provisioner creates and deletes volumes. */
  readonly provision?: ProvisionCaches | undefined;
  readonly events: EventRecorder;
  readonly clusterDomain: string;
  readonly log: Logger;
  /** Number of concurrent reconciles of one kind. */
  readonly concurrency: number;
  /** Clock in milliseconds, monotonic; for tests. */
  readonly clock?: () => number;
}

/**
 * In milliseconds. `max` is also the longest time for which a refusal outlives its cause if no watch reports the change. Such
 * causes are quotas, policies, webhooks and used node ports.
 */
const BACKOFF = { first: 100, max: 60_000 };

/**
 * Starts once every cache is synced: a decision based on partial data could remove an address. Rejects if a cache is stopped
 * earlier.
 */
export async function startController(options: ControllerOptions): Promise<Controller> {
  const { caches, client, events, log, provision } = options;
  await Promise.all(Object.values({ ...caches, ...provision }).map((cache) => cache.synced));

  const queue = (name: string, reconcile: Reconcile, groups: Pick<WorkQueueOptions, 'groupOf' | 'mostOfGroup'> = {}): WorkQueue =>
    new WorkQueue({
      name,
      log,
      reconcile,
      concurrency: options.concurrency,
      groupOf: namespaceOf,
      ...groups,
      backoff: BACKOFF,
      askedToWait: (error) => (error instanceof RepairDelayed ? error.delay : askedToWait(error)),
      onResult: resultsOf(name),
    });
  // A delayed repair is reported by an event. Each change by the other writer delays it again.
  const resultsOf = (name: string): ReturnType<typeof reportResults> => {
    const report = reportResults(name, log);
    return (key, outcome, took, error) => report(key, outcome, took, error instanceof RepairDelayed ? undefined : error);
  };
  const namespaceOfVolume = (key: string): string => caches.volumes.get(key)?.spec?.claimRef?.namespace ?? '';
  const now = (): string => `${new Date().toISOString().slice(0, 19)}Z`;
  const { clusterDomain, clock = (): number => performance.now() } = options;
  const repairs = new DampedWrites(client, events, clock);
  const damped = dampWrites(client, repairs);
  const listeners = new ListenerReconciler({ client, repairs, caches, events, clusterDomain, now, clock });
  const mounts = new MountReconciler({ client: damped, caches, events, clock });
  const claims =
    provision === undefined ? undefined : new ClaimReconciler({ client: damped, caches: { ...caches, ...provision }, events, clock });
  const queues = {
    listeners: queue('listeners', (key, signal) => listeners.reconcile(key, signal), { mostOfGroup: limitTable.listenersAtOnce.value }),
    mounts: queue('mounts', (key, signal) => mounts.reconcile(key, signal)),
    'ending-pods': queue('ending-pods', createEndingPodsReconciler({ client, caches, events })),
    'pod-labels': queue('pod-labels', createPodLabelsReconciler({ client: damped, caches })),
    'lost-nodes': queue('lost-nodes', createNodeLossReconciler({ client: damped, caches, events }), { groupOf: namespaceOfVolume }),
    ...(claims === undefined ? {} : { claims: queue('claims', (key, signal) => claims.reconcile(key, signal)) }),
    ...(claims === undefined
      ? {}
      : { released: queue('released', createReclaimReconciler({ client: damped, caches }), { groupOf: namespaceOfVolume }) }),
  };
  const stopWatching = watchHandlers(caches, provision, {
    listener: (key) => queues.listeners.add(key),
    mount: (key) => queues.mounts.add(key),
    waiting: (key) => queues['ending-pods'].add(key),
    labels: (key) => queues['pod-labels'].add(key),
    volume: (key) => queues['lost-nodes'].add(key),
    claim: (key) => queues.claims?.add(key),
    released: (key) => queues.released?.add(key),
  });
  const shown = showQueues(queues);

  return {
    async stop(deadlineMilliseconds) {
      stopWatching();
      await Promise.all(Object.values(queues).map((each) => each.stop(deadlineMilliseconds)));
      shown[Symbol.dispose]();
    },
  };
}

const namespaceOf = (key: string): string => key.slice(0, Math.max(0, key.indexOf('/')));
