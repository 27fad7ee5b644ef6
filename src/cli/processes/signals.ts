import { destinationInUse } from '../../telemetry/log-destination.ts';

/** Aborted by the first SIGTERM or SIGINT. A second one ends the process at once, as impatient people expect. */
export function untilStopped(): AbortSignal {
  const stop = new AbortController();
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.once(signal, () => {
      process.once(signal, () => endAtOnce(1));
      stop.abort();
    });
  }
  return stop.signal;
}

/**
 * Also where a thread stands in a write that does not come back: `process.exit` would wait for it.
 *
 * @param threads whether others may stand in the system, too
 */
export function endAtOnce(code: number | string | null | undefined, threads?: 'threads wait'): void {
  if (threads !== undefined || destinationInUse()?.blocks === true) {
    process.removeAllListeners('SIGTERM');
    process.kill(process.pid, code === undefined || code === null || code === 0 ? 'SIGTERM' : 'SIGKILL');
  }
  process.exit(code);
}
