import { askedToWait } from '../../kube/errors.ts';
import type { Logger } from '../../telemetry/log.ts';
import { reportResults } from '../../telemetry/queue-metrics.ts';
import { WorkQueue } from '../../work/queue.ts';

/** Retries the installation of required objects until it succeeds once. */
export function installing(log: Logger, install: (signal: AbortSignal) => Promise<void>): AsyncDisposable {
  const queue = new WorkQueue({
    name: 'installation',
    log,
    concurrency: 1,
    backoff: { first: 250, max: 15_000 },
    askedToWait,
    reconcile: async (_key, signal) => {
      await install(signal);
      return undefined;
    },
    onResult: reportResults('installation', log),
  });
  queue.add('install');
  return queue;
}
