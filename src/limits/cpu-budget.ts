import { KeyedLimits } from './keyed-limits.ts';

/** CPU time used by an activity. Clocks and work are in milliseconds. */
export interface CpuUsage {
  /** Milliseconds until time is available again. */
  wait(clock: number): number;
  spend(milliseconds: number, clock: number): void;
}

/** Default maximum that one piece of work counts, in milliseconds. */
const MOST_AT_ONCE = 1_000;

/** Limits an activity to a fraction of CPU time. */
export class CpuBudget implements CpuUsage {
  readonly #part: number;
  readonly #burst: number;
  readonly #most: number;
  #owed = 0;
  #since = Number.NEGATIVE_INFINITY;

  /**
   * @param part fraction of the time, up to 1
   * @param burst milliseconds that may be spent at once beyond it
   * @param most maximum milliseconds that one piece of work counts; a longer one means that the process was suspended
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

  /** Whether everything that was spent is paid back. */
  isWhole(clock: number): boolean {
    this.#commit(clock);
    return this.#owed === 0;
  }

  #commit(clock: number): void {
    this.#owed = Math.max(0, this.#owed - Math.max(0, clock - this.#since) * this.#part);
    this.#since = clock;
  }
}

/** One of several users of a budget. */
export interface CpuBudgetUser extends CpuUsage {
  /** Stops waiting. Must be called when the user closes. */
  leave(): void;
}

/** Number of keys at which idle budgets are evicted. */
const MOST_IDLE = 1_024;
/** Milliseconds that one user may spend before the next one. */
const SLICE = 5;
/** Milliseconds after which a user that waits for others asks again. */
const NEXT_LOOK = 20;

interface Shared {
  readonly time: CpuBudget;
  /** Users that wait, in the order in which they asked. */
  readonly waiting: Set<CpuBudgetUser>;
  /** The user whose slice it is, and what is left of the slice. */
  slice: { readonly of: CpuBudgetUser; left: number } | undefined;
}

/** The same budget for each of many keys. A key that returns still owes what it spent. The users of a key spend its time round-robin. */
export class KeyedCpuBudget {
  readonly #budgets: KeyedLimits<Shared>;

  /** The parameters of a `CpuBudget`. */
  constructor(part: number, burst: number) {
    this.#budgets = new KeyedLimits<Shared>({
      create: () => ({ time: new CpuBudget(part, burst), waiting: new Set(), slice: undefined }),
      isIdle: ({ time, waiting }, clock) => waiting.size === 0 && time.isWhole(clock),
      most: MOST_IDLE,
    });
  }

  of(key: string): CpuBudgetUser {
    const user: CpuBudgetUser = {
      wait: (clock) => {
        const shared = this.#budgets.find(key);
        return shared === undefined ? 0 : waitOf(user, shared, clock);
      },
      spend: (milliseconds, clock) => {
        const { time, slice } = this.#budgets.of(key, clock);
        time.spend(milliseconds, clock);
        if (slice?.of === user) slice.left -= milliseconds;
      },
      leave: () => void this.#budgets.find(key)?.waiting.delete(user),
    };
    return user;
  }
}

function waitOf(user: CpuBudgetUser, shared: Shared, clock: number): number {
  const { time, waiting, slice } = shared;
  const wait = time.wait(clock);
  const [first] = waiting;
  const isNext = first === undefined || first === user || (slice?.of === user && slice.left > 0);
  if (wait > 0 || !isNext) {
    waiting.add(user);
    return wait > 0 ? wait : NEXT_LOOK;
  }
  if (first === user) {
    waiting.delete(user);
    shared.slice = { of: user, left: SLICE };
  }
  return 0;
}
