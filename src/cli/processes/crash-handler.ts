import { reportInternalError } from '../../telemetry/boundary.ts';
import { messageOf, type Logger } from '../../telemetry/log.ts';
import { endAtOnce } from './signals.ts';

/** Milliseconds that connections may take to finish, and that all of it may take. */
const DRAIN = 2_000;
const DEADLINE = 5_000;

export interface CrashHandler extends Disposable {
  /** Aborted by `stopped`, and by an error that got by every boundary. */
  readonly stopped: AbortSignal;
  /** Milliseconds: no more than what is asked for. */
  drain(asked: number): number;
}

/**
 * For what gets by every boundary all the same. What state it left behind nobody knows, so the process ends: in order as far as that goes, within
 * seconds, and as failed, so that whoever looks after it starts it again.
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
      `ending, because of an unexpected error: a fault of this program. It ends within ${DEADLINE / 1_000} s: ${messageOf(error)}`,
    );
    fault.abort();
  };
  // Rejections that nobody has taken come here, too.
  process.on('uncaughtException', onFault);
  return {
    stopped: AbortSignal.any([stopped, fault.signal]),
    drain: (asked) => (fault.signal.aborted ? Math.min(asked, DRAIN) : asked),
    [Symbol.dispose]: () => process.off('uncaughtException', onFault),
  };
}
