/** Metrics of work queues, shared by all controllers of a process. */
import { messageOf, type Logger } from './log.ts';
import { counter, duration, gauge } from './metrics.ts';

const reconciles = counter('earshot_reconciles_total', 'Reconciles by queue and outcome.', ['queue', 'outcome']);
const seconds = duration('earshot_reconcile_duration_seconds', 'Duration of reconciles.', ['queue']);
const queues = new Map<string, QueueSize>();

gauge('earshot_queue_depth', 'Keys that wait for a free worker of a work queue.', ['queue'], (metric) => {
  for (const [queue, { depth }] of queues) metric.set({ queue }, depth);
});
gauge('earshot_queue_delayed', 'Keys that wait for a later reconcile: backoff, or a scheduled one.', ['queue'], (metric) => {
  for (const [queue, { delayed }] of queues) metric.set({ queue }, delayed);
});

interface QueueSize {
  readonly depth: number;
  readonly delayed: number;
}

/** Counts and logs results of reconciles: the `onResult` of a work queue. */
export function reportResults(queue: string, log: Logger) {
  return (key: string, outcome: string, took: number, error?: unknown): void => {
    reconciles.inc({ queue, outcome });
    seconds.observe({ queue }, took);
    if (error !== undefined) log.warn({ queue, key, outcome, error }, `reconcile failed: ${messageOf(error)}`);
  };
}

/** Exposes the sizes of the queues by name until it is disposed. */
export function showQueues(shown: Readonly<Record<string, QueueSize>>): Disposable {
  for (const [name, queue] of Object.entries(shown)) queues.set(name, queue);
  return {
    [Symbol.dispose]() {
      for (const name of Object.keys(shown)) queues.delete(name);
    },
  };
}
