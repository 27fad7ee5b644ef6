import { EarshotError } from '../errors/earshot-error.ts';

/**
 * Brings the actual state of a key to the desired one. It receives only the key, so it reads the current state, and may run any
 * number of times for the same state. Its result decides what happens next:
 *
 * - nothing returned: done until the key is added again;
 * - `requeueAfter`: runs again after that time, or earlier if added; not a failure, so the backoff is reset;
 * - rejects or throws: runs again after the backoff, which grows with each consecutive failure;
 * - rejects with a TerminalError: runs again only when the key is added; counted as `terminal`.
 *
 * A key added while it runs always runs again right after. `signal` is aborted when the queue stops and its deadline has passed.
 */
export type Reconcile = (key: string, signal: AbortSignal) => Promise<ReconcileResult | undefined>;

export interface ReconcileResult {
  /** Milliseconds until the key runs again. */
  readonly requeueAfter?: number;
}

export type Outcome = 'success' | 'requeue' | 'error' | 'terminal';

/** An error for which a retry is useless until the key is added again. */
export class TerminalError extends EarshotError<'terminal'> {
  constructor(message: string, cause?: unknown) {
    super('terminal', message, cause);
  }
}
