import type { WorkQueue, WorkQueueOptions } from '../work/queue.ts';
import { counter, duration, gauge } from '../telemetry/metrics.ts';
import type { Logger } from '../telemetry/log.ts';
import { messageOf } from '../telemetry/log.ts';
import type { PolicyCaches } from './caches.ts';

const reconciles = counter('earshot_reconciles_total', 'Reconciles by queue and outcome.', ['queue', 'outcome']);
const seconds = duration('earshot_reconcile_duration_seconds', 'How long a reconcile took.', ['queue']);
const queues = new Map<string, WorkQueue>();

gauge('earshot_queue_depth', 'Keys that wait for a place in a work queue.', ['queue'], (made) => {
  for (const [queue, { depth }] of queues) made.set({ queue }, depth);
});
gauge('earshot_queue_delayed', 'Keys that wait for their time: backoff, or a later look.', ['queue'], (made) => {
  for (const [queue, { delayed }] of queues) made.set({ queue }, delayed);
});
const leader = gauge('earshot_leader', '1 while this replica leads.');

/** Counts and logs the ends of reconciles. */
export function reportResults(queue: string, log: Logger): NonNullable<WorkQueueOptions['onResult']> {
  return (key, outcome, took, error) => {
    reconciles.inc({ queue, outcome });
    seconds.observe({ queue }, took);
    if (error !== undefined) log.warn({ queue, key, outcome, error }, `reconcile failed: ${messageOf(error)}`);
  };
}

/** Shows the queues' depth for as long as the leader runs them. */
export function showQueues(shown: Readonly<Record<string, WorkQueue>>): Disposable {
  leader.set(1);
  for (const [name, queue] of Object.entries(shown)) queues.set(name, queue);
  return {
    [Symbol.dispose]() {
      leader.set(0);
      queues.clear();
    },
  };
}

export function showListeners(caches: PolicyCaches): void {
  gauge('earshot_listeners', 'Listeners by class and state of their Ready condition.', ['class', 'ready'], (made) => {
    made.reset();
    for (const { spec, status } of caches.listeners.values()) {
      const ready = status?.conditions?.find(({ type }) => type === 'Ready')?.status ?? 'Unknown';
      made.inc({ class: spec.className ?? '', ready });
    }
  });
}
