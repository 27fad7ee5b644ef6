import { performance } from 'node:perf_hooks';

/** Milliseconds. */
const GRACE = 3_000;
const FOR_EACH = 10;
const AT_MOST = 30_000;

/**
 * Delays first statuses that only report waiting for a Service or for the remote site. If hundreds of objects are created at once, the
 * awaited object usually exists before the status is written, which would be written twice. So they wait while more of them keep appearing
 * or becoming ready. A single one is not delayed.
 */
export class FirstStatusDelay {
  readonly #grace: number;
  #since: ReadonlyMap<string, number> = new Map();
  #awaiting: ReadonlySet<string> = new Set();
  /** performance.now() of the last change. */
  #moved = 0;

  /** @param grace minimum delay in milliseconds while a Service is missing */
  constructor(grace = GRACE) {
    this.#grace = grace;
  }

  /**
   * @param waiting keys of all objects that wait and have no status yet
   * @param awaitingService keys of those whose Service does not exist
   */
  see(waiting: ReadonlySet<string>, awaitingService: ReadonlySet<string>): void {
    const now = performance.now();
    const before = this.#since;
    const isMoving = waiting.size !== before.size || !waiting.isSubsetOf(before) || awaitingService.size !== this.#awaiting.size;
    if (isMoving) this.#moved = now;
    this.#since = new Map(Array.from(waiting, (key) => [key, before.get(key) ?? now]));
    this.#awaiting = awaitingService;
  }

  /** Returns milliseconds until the status is due; 0 if it is due now. */
  left(key: string): number {
    const since = this.#since.get(key);
    if (since === undefined) return 0;
    const crowd = Math.min(this.#moved + Math.min(this.#since.size * FOR_EACH, GRACE), since + AT_MOST);
    const service = this.#awaiting.has(key) ? since + this.#grace : 0;
    return Math.max(0, Math.max(crowd, service) - performance.now());
  }
}
