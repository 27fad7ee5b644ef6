import { runTicks } from './node/internals.ts';

/** An owner of code that runs: a machine. Each has its own wall clock, and its work of one iteration stays in order. */
export interface Owner {
  readonly name: string;
  /** When the last of its `soon` is due. */
  soonAt: number;
  /** Wall clock: milliseconds beyond the simulation's, and its rate. */
  readonly clock: Clock;
  /** Time until which its last work has taken. */
  busyUntil?: number;
  /** It has ended: what was due for it is not done. */
  readonly gone?: boolean;
}

export interface Clock {
  ahead: number;
  rate: number;
  /** Since when it has that rate. */
  since: number;
}

export interface Due {
  /** Later than it was due where its owner was busy. */
  at: number;
  readonly due: number;
  readonly order: number;
  readonly owner: Owner | undefined;
  run: (() => void) | undefined;
  readonly kind: Kind;
}

/** Kind of a due event: of the world, of a machine's timers, or of its iterations. Only the first continues by itself. */
export type Kind = 'world' | 'timer' | 'turn';

/** Events that run in one turn of Node.js's own loop, each followed by its ticks and microtasks. */
const BATCH = 256;
/** A turn of a machine's event loop takes up to so many milliseconds. */
const TURN = 0.05;

/**
 * Time, and what happens in it. One event runs at a time, with all ticks and promises that come of it; then the next. So the whole run is a
 * function of what the events draw.
 */
export class Loop {
  now = 0;
  owner: Owner | undefined;
  /** Milliseconds that the event which runs has taken so far. */
  spent = 0;
  /** Uncaught errors of events. */
  readonly thrown: unknown[] = [];
  ran = 0;
  /** Receives the owner of each event as it begins, for measuring its cost. */
  meter: ((owner: Owner | undefined) => void) | undefined;
  readonly #heap: Due[] = [];
  readonly #unit: () => number;
  #order = 0;
  readonly waiting: Record<Kind, number> = { world: 0, timer: 0, turn: 0 };

  constructor(unit: () => number) {
    this.#unit = unit;
  }

  at(time: number, owner: Owner | undefined, run: () => void, kind: Kind = 'world'): Due {
    const at = Math.max(time, this.now);
    const due: Due = { at, due: at, order: this.#order++, owner, run, kind };
    this.waiting[kind] += 1;
    this.#push(due);
    return due;
  }

  after(delay: number, owner: Owner | undefined, run: () => void, kind: Kind = 'world'): Due {
    return this.at(this.now + delay, owner, run, kind);
  }

  /** In a later turn of the owner's event loop, and in order with its others. */
  soon(owner: Owner | undefined, run: () => void, kind: Kind = 'turn'): Due {
    const at = Math.max(owner?.soonAt ?? 0, this.now + this.#unit() * TURN);
    if (owner !== undefined) owner.soonAt = at;
    return this.at(at, owner, run, kind);
  }

  /** The event that runs takes so much longer: what is due for its owner meanwhile comes after that, in order. */
  spend(milliseconds: number): void {
    this.spent += milliseconds;
    if (this.owner !== undefined) this.owner.busyUntil = this.now + this.spent;
  }

  cancel(due: Due): void {
    if (due.run === undefined) return;
    due.run = undefined;
    this.waiting[due.kind] -= 1;
  }

  /** Runs what is due until then, or until it is enough: asked after each event. */
  run(until: number, enough: () => boolean = () => false): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const turn = (): void => {
      for (let left = BATCH; left > 0; left -= 1) {
        if (!this.#next(until, enough)) {
          this.owner = undefined;
          resolve();
          return;
        }
        this.#settle(turn);
      }
      setImmediate(turn);
    };
    setImmediate(turn);
    return promise;
  }

  /** Errors of ticks are left to Node.js, which would not survive a continuation in this iteration; later ticks run before the next event. */
  #settle(turn: () => void): void {
    try {
      runTicks();
    } catch (error) {
      const keep = (thrown: unknown): void => void this.thrown.push(thrown);
      process.on('uncaughtException', keep);
      // After the first, Node.js runs what is left.
      setImmediate(() =>
        setImmediate(() => {
          process.off('uncaughtException', keep);
          turn();
        }),
      );
      throw error;
    }
  }

  #next(until: number, enough: () => boolean): boolean {
    if (enough()) return false;
    const due = this.#pop();
    if (due === undefined || due.at > until) {
      if (due !== undefined) this.#push(due);
      this.now = Math.max(this.now, Math.min(until, due?.at ?? until));
      return false;
    }
    const { run, owner } = due;
    if (owner !== undefined && (owner.busyUntil ?? 0) > due.at) {
      due.at = owner.busyUntil ?? 0;
      this.#push(due);
      return true;
    }
    this.now = due.at;
    this.spent = 0;
    this.owner = owner;
    due.run = undefined;
    this.waiting[due.kind] -= 1;
    if (owner?.gone === true) return true;
    this.ran += 1;
    this.meter?.(owner);
    try {
      run?.();
    } catch (error) {
      this.thrown.push(error);
    }
    return true;
  }

  #push(due: Due): void {
    const heap = this.#heap;
    let at = heap.length;
    heap.push(due);
    while (at > 0) {
      const up = (at - 1) >> 1;
      const above = heap[up];
      if (above === undefined || before(above, due)) break;
      heap[at] = above;
      at = up;
    }
    heap[at] = due;
  }

  #pop(): Due | undefined {
    for (;;) {
      const first = this.#take();
      if (first === undefined || first.run !== undefined) return first;
    }
  }

  #take(): Due | undefined {
    const heap = this.#heap;
    const first = heap[0];
    const last = heap.pop();
    if (first === undefined || last === undefined || heap.length === 0) return first;
    let at = 0;
    for (;;) {
      let down = 2 * at + 1;
      let below = heap[down];
      if (below === undefined) break;
      const other = heap[down + 1];
      if (other !== undefined && before(other, below)) {
        down += 1;
        below = other;
      }
      if (before(last, below)) break;
      heap[at] = below;
      at = down;
    }
    heap[at] = last;
    return first;
  }
}

function before(one: Due, other: Due): boolean {
  if (one.at !== other.at) return one.at < other.at;
  return one.due === other.due ? one.order < other.order : one.due < other.due;
}
