/** What to report about an object that something else keeps changing back. */
export interface RepairReport {
  /** Fields that differed from what was written, such as `spec.ports`. */
  readonly fields: readonly string[];
  /** Field manager that changed them last (`metadata.managedFields`), where it is known. */
  readonly manager?: string;
}

export interface RepairRequest {
  /** Identifies the object: kind, namespace and name. */
  readonly key: string;
  /** Digest of what is to be written, such as a hash. Writing something new is never delayed. */
  readonly desired: string;
  /** Whether the object no longer is what was written last. Left out: only a write of the same digest counts as a repair. */
  readonly isOverwritten?: boolean;
}

/** Repairs at once, before the first pause. */
const FREE = 3;
/** Milliseconds of the first pause. Each further one is twice as long, up to the longest. */
const FIRST_PAUSE = 10_000;
const LONGEST_PAUSE = 60_000;
/** Milliseconds without a further change after which the fight is over. */
const QUIET = 60_000;

interface Entry {
  desired: string;
  /** Time of the last write. */
  at: number;
  /** Repairs since the fight began. */
  repairs: number;
  /** The object has been changed back since the last write. */
  isContested: boolean;
  report: RepairReport | undefined;
}

/**
 * Limits how often objects are repaired that something else keeps changing back: a few times at once, then after 10 s, 20 s, 40 s, and once
 * a minute from then on. So each object costs at most 6 writes in any minute. A minute without a further change ends the fight.
 *
 * Call `delay` before a write, and `wrote` after it has succeeded. A write that fails is not counted: the caller's backoff limits those. All
 * times are milliseconds of one monotonic clock. Only objects written in the last two minutes are remembered.
 */
export class RepairLimiter {
  /** In the order of their last write. */
  readonly #entries = new Map<string, Entry>();

  /** Number of objects that are remembered. */
  get size(): number {
    return this.#entries.size;
  }

  /** @returns milliseconds until the object may be written; 0: now */
  delay({ key, desired, isOverwritten = false }: RepairRequest, now: number): number {
    const entry = this.#current(key, now);
    if (entry === undefined || (entry.desired !== desired && !isOverwritten)) return 0;
    entry.isContested = true;
    return Math.max(0, entry.at + pauseAfter(entry.repairs) - now);
  }

  /** Counts a write that succeeded. */
  wrote({ key, desired, isOverwritten = false }: RepairRequest, now: number): void {
    const before = this.#current(key, now);
    const isRepair = before !== undefined && (before.desired === desired || isOverwritten);
    const repairs = (before?.repairs ?? 0) + (isRepair ? 1 : 0);
    this.#entries.delete(key);
    this.#entries.set(key, { desired, at: now, repairs, isContested: false, report: before?.report });
    this.#evictOld(now);
  }

  /** @returns the digest of what was written last, while it is remembered */
  lastWritten(key: string, now: number): string | undefined {
    return this.#current(key, now)?.desired;
  }

  /** Whether repairs of the object are delayed: now is the time to find out what changes it, and to `note` it. */
  isDamped(key: string, now: number): boolean {
    const entry = this.#current(key, now);
    return entry !== undefined && entry.repairs >= FREE;
  }

  /** Keeps what is to be reported until the fight is over. */
  note(key: string, report: RepairReport, now: number): void {
    const entry = this.#current(key, now);
    if (entry !== undefined) entry.report = report;
  }

  /** @returns what to report of an object whose repairs are delayed, and for how many milliseconds at least that holds */
  reported(key: string, now: number): { readonly report: RepairReport; readonly remaining: number } | undefined {
    const entry = this.#current(key, now);
    if (entry?.report === undefined) return undefined;
    return { report: entry.report, remaining: endOf(entry) - now };
  }

  #current(key: string, now: number): Entry | undefined {
    const entry = this.#entries.get(key);
    return entry === undefined || now >= endOf(entry) ? undefined : entry;
  }

  /** Oldest first: the first that is not over ends the search. */
  #evictOld(now: number): void {
    for (const [key, { at }] of this.#entries) {
      if (now - at < QUIET + LONGEST_PAUSE) return;
      this.#entries.delete(key);
    }
  }
}

function pauseAfter(repairs: number): number {
  return repairs < FREE ? 0 : Math.min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** (repairs - FREE));
}

/** The object has stayed as it was written by then, or nothing has asked for its repair since that was due. */
function endOf({ at, isContested }: Entry): number {
  return at + (isContested ? QUIET + LONGEST_PAUSE : QUIET);
}
