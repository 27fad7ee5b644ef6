import { destinationInUse } from '../../telemetry/log-destination.ts';

/** Aborted by the first SIGTERM or SIGINT. A second one ends the process at once. */
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

/** Follows SIGINT until disposal. A second one ends the process at once. */
export function followInterrupt(): Disposable & { readonly happened: Promise<'interrupted'> } {
  const { promise, resolve } = Promise.withResolvers<'interrupted'>();
  const end = (): void => resolve('interrupted');
  process.once('SIGINT', end);
  return { happened: promise, [Symbol.dispose]: () => void process.off('SIGINT', end) };
}

/**
 * Ends the process even if a thread is blocked in a write, for which `process.exit` would wait.
 * @param threads set if other threads may be blocked in system calls
 */
export function endAtOnce(code: number | string | null | undefined, threads?: 'threads wait'): void {
  if (threads !== undefined || destinationInUse()?.blocks === true) {
    process.removeAllListeners('SIGTERM');
    process.kill(process.pid, code === undefined || code === null || code === 0 ? 'SIGTERM' : 'SIGKILL');
  }
  process.exit(code);
}
