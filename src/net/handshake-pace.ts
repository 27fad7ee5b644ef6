import { KeyedLimits } from '../limits/keyed-limits.ts';
import { RateLimiter } from '../limits/rate-limiter.ts';
import { bounded } from '../telemetry/boundary.ts';
import { limitTable } from '../limits/table.ts';

/** The burst starts in one event-loop iteration, during which no other client is served. */
const RATE = limitTable.handshakeStarts.value;
/** Milliseconds between two handshakes of one group. They take one or two tenths of the event loop's time. */
const EVERY = 1_000 / RATE.perSecond;
/** Number of groups at which idle ones are evicted. */
const MANY = 1_024;

interface Waiting<T> {
  readonly member: T;
  readonly start: () => void;
}

interface Group<T> {
  readonly rate: RateLimiter;
  /** Waiting members, the newest last. */
  readonly waiting: Waiting<T>[];
  timer: NodeJS.Timeout | undefined;
}

/**
 * Limits how fast handshakes start, separately for each group: each takes a millisecond or two of the event loop's time. The newest
 * starts first, since admission evicts the oldest.
 */
export class HandshakePace<T> {
  readonly #groups: KeyedLimits<Group<T>>;
  readonly #now: () => number;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
    this.#groups = new KeyedLimits<Group<T>>({
      create: () => ({ rate: new RateLimiter(RATE), waiting: [], timer: undefined }),
      isIdle: ({ rate, waiting }, clock) => waiting.length === 0 && rate.isFull(clock),
      most: MANY,
    });
  }

  enter(member: T, of: string, start: () => void): void {
    const now = this.#now();
    const group = this.#groups.of(of, now);
    if (group.rate.take(now)) {
      start();
      return;
    }
    group.waiting.push({ member, start });
    this.#resumeLater(group);
  }

  /** No-op for a member that does not wait. */
  leave(member: T, of: string): void {
    const waiting = this.#groups.find(of)?.waiting ?? [];
    const at = waiting.findIndex((one) => one.member === member);
    if (at >= 0) waiting.splice(at, 1);
  }

  #resumeLater(group: Group<T>): void {
    group.timer ??= setTimeout(
      bounded(
        'connection/handshake-pace',
        () => this.#resume(group),
        () => this.#resumeLater(group),
      ),
      EVERY,
    ).unref();
  }

  #resume(group: Group<T>): void {
    group.timer = undefined;
    const next = group.waiting.length > 0 && group.rate.take(this.#now()) ? group.waiting.pop() : undefined;
    if (group.waiting.length > 0) this.#resumeLater(group);
    next?.start();
  }
}
