import { EarshotError } from '../errors/earshot-error.ts';

/**
 * Brings about what a key stands for. It is told the key and not the change, so it looks at how things are now, and may run
 * any number of times for the same state. What its end means for the key:
 *
 * - nothing returned: done, until the key is added again;
 * - `requeueAfter`: once more after that time, or earlier where it is added; not a failure, so the backoff begins anew;
 * - it rejects (or throws): once more by the backoff, which grows with each failure in a row;
 * - it rejects with a TerminalError: not again until the key is added; counted as `terminal`.
 *
 * A key that is added while it runs, runs once more right after, whatever the end was. `signal` is aborted when the queue
 * stops and its deadline has passed.
 */
export type Reconcile = (key: string, signal: AbortSignal) => Promise<ReconcileResult | undefined>;

export interface ReconcileResult {
  /** Milliseconds. */
  readonly requeueAfter?: number;
}

export type Outcome = 'success' | 'requeue' | 'error' | 'terminal';

/** Trying again changes nothing until the key is added again. */
export class TerminalError extends EarshotError<'terminal'> {
  constructor(message: string, cause?: unknown) {
    super('terminal', message, cause);
  }
}
