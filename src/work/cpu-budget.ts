/** Milliseconds of any one clock, and of work. */
export interface CpuUsage {
  /** Until there is time again for what has been spent. */
  wait(clock: number): number;
  spend(milliseconds: number, clock: number): void;
}

/** Milliseconds. */
const MOST_AT_ONCE = 1_000;

/** A part of the time for what may be asked for more often than there is time for it. */
export class CpuBudget implements CpuUsage {
  readonly #part: number;
  readonly #burst: number;
  readonly #most: number;
  #owed = 0;
  #since = Number.NEGATIVE_INFINITY;

  /**
   * @param part of the time, up to 1
   * @param burst what may be spent at once beyond it
   * @param most what one piece of work counts as: what took longer did so because the process stood still
   */
  constructor(part: number, burst: number, most = MOST_AT_ONCE) {
    this.#part = part;
    this.#burst = burst;
    this.#most = most;
  }

  wait(clock: number): number {
    this.#commit(clock);
    return Math.max(0, this.#owed - this.#burst) / this.#part;
  }

  spend(milliseconds: number, clock: number): void {
    this.#commit(clock);
    this.#owed += Math.min(milliseconds, this.#most);
  }

  /** Nothing is owed. */
  isWhole(clock: number): boolean {
    this.#commit(clock);
    return this.#owed === 0;
  }

  #commit(clock: number): void {
    this.#owed = Math.max(0, this.#owed - Math.max(0, clock - this.#since) * this.#part);
    this.#since = clock;
  }
}

/** One of those who spend of one part. */
export interface CpuBudgetUser extends CpuUsage {
  /** It waits no more. To be called when it goes. */
  leave(): void;
}

/** Beyond so many names, those that owe nothing are dropped. */
const MOST_IDLE = 1_024;
/** Milliseconds that one of many may spend before it is another's turn. */
const TURN = 5;
/** Milliseconds after which whoever waits for the turn of others asks again. */
const NEXT_LOOK = 20;

interface Shared {
  readonly time: CpuBudget;
  /** In turn. */
  readonly waiting: Set<CpuBudgetUser>;
  /** Whose turn it is, and what is left of it. */
  turn: { readonly of: CpuBudgetUser; left: number } | undefined;
}

/** The same part for each of many, by name. Whoever goes and comes back finds what is owed. Those of one name have their turns, in the order in which they ask. */
export class KeyedCpuBudget {
  readonly #part: number;
  readonly #burst: number;
  readonly #shares = new Map<string, Shared>();

  /** As of a `CpuBudget`. */
  constructor(part: number, burst: number) {
    this.#part = part;
    this.#burst = burst;
  }

  of(name: string): CpuBudgetUser {
    const spender: CpuBudgetUser = {
      wait: (clock) => {
        const shared = this.#shares.get(name);
        return shared === undefined ? 0 : waitOf(spender, shared, clock);
      },
      spend: (milliseconds, clock) => {
        const { time, turn } = this.#of(name, clock);
        time.spend(milliseconds, clock);
        if (turn?.of === spender) turn.left -= milliseconds;
      },
      leave: () => void this.#shares.get(name)?.waiting.delete(spender),
    };
    return spender;
  }

  #of(name: string, clock: number): Shared {
    const known = this.#shares.get(name);
    if (known !== undefined) return known;
    if (this.#shares.size >= MOST_IDLE)
      for (const [other, { time, waiting }] of this.#shares) if (waiting.size === 0 && time.isWhole(clock)) this.#shares.delete(other);
    const made: Shared = { time: new CpuBudget(this.#part, this.#burst), waiting: new Set(), turn: undefined };
    this.#shares.set(name, made);
    return made;
  }
}

function waitOf(spender: CpuBudgetUser, shared: Shared, clock: number): number {
  const { time, waiting, turn } = shared;
  const wait = time.wait(clock);
  const [first] = waiting;
  const isIts = first === undefined || first === spender || (turn?.of === spender && turn.left > 0);
  if (wait > 0 || !isIts) {
    waiting.add(spender);
    return wait > 0 ? wait : NEXT_LOOK;
  }
  if (first === spender) {
    waiting.delete(spender);
    shared.turn = { of: spender, left: TURN };
  }
  return 0;
}
