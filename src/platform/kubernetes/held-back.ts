import { performance } from 'node:perf_hooks';

/** Milliseconds. */
const GRACE = 3_000;
const FOR_EACH = 10;
const AT_MOST = 10_000;

/**
 * First statuses that would say no more than that something is waited for: a Service, or the other end. Where hundreds are made at once,
 * what they wait for comes before their turn to be written, and each would be written twice; one alone is told at once.
 */
export class HeldBack {
  readonly #grace: number;
  #since: ReadonlyMap<string, number> = new Map();
  #awaiting: ReadonlySet<string> = new Set();

  /** @param grace milliseconds that one whose Service is awaited is held back at least */
  constructor(grace = GRACE) {
    this.#grace = grace;
  }

  /**
   * @param waiting keys of all that wait and have no status yet
   * @param awaitingService those of them whose Service is not there
   */
  see(waiting: Iterable<string>, awaitingService: ReadonlySet<string>): void {
    const now = performance.now();
    const before = this.#since;
    this.#since = new Map(Array.from(waiting, (key) => [key, before.get(key) ?? now]));
    this.#awaiting = awaitingService;
  }

  /** Milliseconds; 0 where it is to be written. */
  left(key: string): number {
    const since = this.#since.get(key);
    if (since === undefined) return 0;
    const crowd = Math.min(this.#since.size * FOR_EACH, AT_MOST);
    return Math.max(0, since + Math.max(crowd, this.#awaiting.has(key) ? this.#grace : 0) - performance.now());
  }
}
