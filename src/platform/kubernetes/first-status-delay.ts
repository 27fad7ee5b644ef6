import { performance } from 'node:perf_hooks';

/** Milliseconds. */
const GRACE = 3_000;
const FOR_EACH = 10;
const AT_MOST = 30_000;

/**
 * First statuses that would say no more than that something is waited for: a Service, or the other end. Where hundreds are made at once,
 * what they wait for comes before their turn to be written, and each would be written twice; so they wait until no more of them come or
 * find what they wait for. One alone is told at once.
 */
export class FirstStatusDelay {
  readonly #grace: number;
  #since: ReadonlyMap<string, number> = new Map();
  #awaiting: ReadonlySet<string> = new Set();
  /** When one came or went last. */
  #moved = 0;

  /** @param grace milliseconds that one whose Service is awaited is held back at least */
  constructor(grace = GRACE) {
    this.#grace = grace;
  }

  /**
   * @param waiting keys of all that wait and have no status yet
   * @param awaitingService those of them whose Service is not there
   */
  see(waiting: ReadonlySet<string>, awaitingService: ReadonlySet<string>): void {
    const now = performance.now();
    const before = this.#since;
    const isMoving = waiting.size !== before.size || !waiting.isSubsetOf(before) || awaitingService.size !== this.#awaiting.size;
    if (isMoving) this.#moved = now;
    this.#since = new Map(Array.from(waiting, (key) => [key, before.get(key) ?? now]));
    this.#awaiting = awaitingService;
  }

  /** Milliseconds; 0 where it is to be written. */
  left(key: string): number {
    const since = this.#since.get(key);
    if (since === undefined) return 0;
    const crowd = Math.min(this.#moved + Math.min(this.#since.size * FOR_EACH, GRACE), since + AT_MOST);
    const service = this.#awaiting.has(key) ? since + this.#grace : 0;
    return Math.max(0, Math.max(crowd, service) - performance.now());
  }
}
