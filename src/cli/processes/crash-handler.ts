import { reportInternalError } from '../../telemetry/boundary.ts';
import { messageOf, type Logger } from '../../telemetry/log.ts';
import { endAtOnce } from './signals.ts';

/** Time for open connections to finish, and time until the process ends in any case, in milliseconds. */
const DRAIN = 2_000;
const DEADLINE = 5_000;

export interface CrashHandler extends Disposable {
  /** Aborted by `stopped`, and by an error that no boundary caught. */
  readonly stopped: AbortSignal;
  /** Limits the drain time, in milliseconds, after a crash. */
  drain(asked: number): number;
}

/**
 * Handles errors that no boundary caught. The state of the process is then unknown, so it ends with an error within seconds,
 * gracefully if possible. Its supervisor restarts it.
 */
export function createCrashHandler(log: Logger, stopped: AbortSignal): CrashHandler {
  const fault = new AbortController();
  const onFault = (error: unknown): void => {
    reportInternalError('process/uncaught', error);
    if (fault.signal.aborted) return;
    process.exitCode = 1;
    setTimeout(() => endAtOnce(1, 'threads wait'), DEADLINE).unref();
    log.fatal(
      { error },
      `stopping within ${DEADLINE / 1_000} s after an unexpected error, which is a bug of this program: ${messageOf(error)}`,
    );
    fault.abort();
  };
  // Unhandled rejections raise this event too.
  process.on('uncaughtException', onFault);
  return {
    stopped: AbortSignal.any([stopped, fault.signal]),
    drain: (asked) => (fault.signal.aborted ? Math.min(asked, DRAIN) : asked),
    [Symbol.dispose]: () => process.off('uncaughtException', onFault),
  };
}
