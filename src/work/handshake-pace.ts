import { bounded } from '../telemetry/boundary.ts';

/** Milliseconds between two of one group, after the first few: what is asked for of one address takes a tenth or two of the loop's time. */
const EVERY = 10;
/** They come in one turn of the loop, in which nobody else is served. */
const AT_ONCE = 4;
/** Groups above which those are forgotten that may start as many at once as one that nobody has seen. */
const MANY = 1_024;

interface Waiting<T> {
  readonly member: T;
  readonly start: () => void;
}

interface Group<T> {
  /** The last that came is the last. */
  readonly waiting: Waiting<T>[];
  /** How many may start at once. */
  left: number;
  at: number;
  timer: NodeJS.Timeout | undefined;
}

/**
 * How fast handshakes begin: each takes a millisecond or two of the loop's time, so whoever asks for more than a few at once gets them one
 * by one, each group by itself. The last that came is the first, since the oldest are those that lose their place to newcomers.
 */
export class HandshakePace<T> {
  readonly #groups = new Map<string, Group<T>>();
  readonly #now: () => number;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  enter(member: T, of: string, start: () => void): void {
    const group = this.#groups.get(of) ?? this.#add(of);
    if (this.#takes(group)) {
      start();
      return;
    }
    group.waiting.push({ member, start });
    this.#resumeLater(group);
  }

  /** Also of one that does not wait. */
  leave(member: T, of: string): void {
    const waiting = this.#groups.get(of)?.waiting ?? [];
    const at = waiting.findIndex((one) => one.member === member);
    if (at >= 0) waiting.splice(at, 1);
  }

  #add(of: string): Group<T> {
    const group = { waiting: [], left: AT_ONCE, at: this.#now(), timer: undefined };
    if (this.#groups.size >= MANY)
      for (const [name, old] of this.#groups) if (old.waiting.length === 0 && this.#refill(old) >= AT_ONCE) this.#groups.delete(name);
    this.#groups.set(of, group);
    return group;
  }

  #refill(group: Group<T>): number {
    const now = this.#now();
    group.left = Math.min(AT_ONCE, group.left + Math.max(0, now - group.at) / EVERY);
    group.at = now;
    return group.left;
  }

  #takes(group: Group<T>): boolean {
    if (this.#refill(group) < 1) return false;
    group.left -= 1;
    return true;
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
    const next = group.waiting.length > 0 && this.#takes(group) ? group.waiting.pop() : undefined;
    if (group.waiting.length > 0) this.#resumeLater(group);
    next?.start();
  }
}
