import { performance } from 'node:perf_hooks';

/** Milliseconds. */
const GRACE = 3_000;
/** Time without a change after which a crowd counts as at rest: for each of its objects, and at most. A busy API server pauses for seconds. */
const REST_OF_EACH = 20;
const REST = 10_000;
const AT_MOST = 30_000;
/** Added for each object that progressed meanwhile. So a status waits longer while at least five a second progress. */
const FOR_EACH_PROGRESS = 200;
/** Not even steady progress of others delays a status longer. */
const LONGEST = 300_000;

/** Objects of a namespace at one time, by their keys. */
export interface WaitingObjects {
  /** Objects that wait and have no status yet. */
  readonly waiting: ReadonlySet<string>;
  /** Those whose Service does not exist. */
  readonly awaitingService: ReadonlySet<string>;
  /** Whether an object waits for nothing any more. */
  readonly isDone: (key: string) => boolean;
}

/**
 * Delays first statuses that only report waiting for a Service or for the remote site. If hundreds of objects are created at once, the
 * awaited object usually exists before the status is written, which would be written twice. So they wait while more of them keep appearing
 * or becoming ready. A single one is not delayed.
 */
export class FirstStatusDelay {
  readonly #grace: number;
  #since: ReadonlyMap<string, { readonly at: number; readonly progress: number }> = new Map();
  #awaiting: ReadonlySet<string> = new Set();
  /** performance.now() of the last change. */
  #moved = 0;
  /** Number of times that a waiting object got its Service or was done. */
  #progress = 0;

  /** @param grace minimum delay in milliseconds while a Service is missing */
  constructor(grace = GRACE) {
    this.#grace = grace;
  }

  see({ waiting, awaitingService, isDone }: WaitingObjects): void {
    const now = performance.now();
    const before = this.#since;
    const isMoving = waiting.size !== before.size || awaitingService.size !== this.#awaiting.size || !waiting.isSubsetOf(before);
    if (isMoving) this.#moved = now;
    for (const key of this.#awaiting) if (waiting.has(key) && !awaitingService.has(key)) this.#progress++;
    for (const key of before.keys()) if (!waiting.has(key) && isDone(key)) this.#progress++;
    this.#since = new Map(Array.from(waiting, (key) => [key, before.get(key) ?? { at: now, progress: this.#progress }]));
    this.#awaiting = awaitingService;
  }

  /** Returns milliseconds until the status is due; 0 if it is due now. */
  left(key: string): number {
    const since = this.#since.get(key);
    if (since === undefined) return 0;
    const most = Math.min(AT_MOST + FOR_EACH_PROGRESS * (this.#progress - since.progress), LONGEST);
    const crowd = Math.min(this.#moved + Math.min(this.#since.size * REST_OF_EACH, REST), since.at + most);
    const service = this.#awaiting.has(key) ? since.at + this.#grace : 0;
    return Math.max(0, Math.max(crowd, service) - performance.now());
  }
}
