/** The report about an object that something else keeps changing back. */
export interface RepairReport {
  /** Fields that differed from the last write, such as `spec.ports`. */
  readonly fields: readonly string[];
  /** Field manager that last changed them (`metadata.managedFields`), if known. */
  readonly manager?: string;
}

export interface RepairRequest {
  /** Identity of the object: kind, namespace and name. */
  readonly key: string;
  /** Digest of the desired state, such as a hash. Writing a new state is never delayed. */
  readonly desired: string;
  /** Whether the object differs from the last write. Default: only a write of the same digest counts as a repair. */
  readonly isOverwritten?: boolean;
}

/** Number of immediate repairs before the first delay. */
const FREE = 3;
/** First delay in milliseconds. Each further one is twice as long, up to the longest. */
const FIRST_PAUSE = 10_000;
const LONGEST_PAUSE = 60_000;
/** Milliseconds without a further change after which the conflict has ended. */
const QUIET = 60_000;

interface Entry {
  desired: string;
  /** Time of the last write. */
  at: number;
  /** Number of repairs since the conflict began. */
  repairs: number;
  /** Whether the object was changed back since the last write. */
  isContested: boolean;
  report: RepairReport | undefined;
}

/**
 * Limits repairs of objects that something else keeps changing back: three at once, then after 10, 20 and 40 s, then once a
 * minute. So each object costs at most 6 writes per minute. A minute without a change ends the conflict. Call `delay` before a
 * write and `wrote` after its success; failed writes are left to the caller's backoff. Times are milliseconds of one monotonic
 * clock. Only objects written in the last two minutes are cached.
 */
export class RepairLimiter {
  /** Objects in the order of their last write. */
  readonly #entries = new Map<string, Entry>();

  /** Number of cached objects. */
  get size(): number {
    return this.#entries.size;
  }

  /** @returns milliseconds until the object may be written; 0 means now */
  delay({ key, desired, isOverwritten = false }: RepairRequest, now: number): number {
    const entry = this.#current(key, now);
    if (entry === undefined || (entry.desired !== desired && !isOverwritten)) return 0;
    entry.isContested = true;
    return Math.max(0, entry.at + pauseAfter(entry.repairs) - now);
  }

  /** Counts a successful write. */
  wrote({ key, desired, isOverwritten = false }: RepairRequest, now: number): void {
    const before = this.#current(key, now);
    const isRepair = before !== undefined && (before.desired === desired || isOverwritten);
    const repairs = (before?.repairs ?? 0) + (isRepair ? 1 : 0);
    this.#entries.delete(key);
    this.#entries.set(key, { desired, at: now, repairs, isContested: false, report: before?.report });
    this.#evictOld(now);
  }

  /** @returns the digest of the last write, while it is cached */
  lastWritten(key: string, now: number): string | undefined {
    return this.#current(key, now)?.desired;
  }

  /** Whether repairs of the object are delayed: the caller then finds out what changes it and calls `note`. */
  isDamped(key: string, now: number): boolean {
    const entry = this.#current(key, now);
    return entry !== undefined && entry.repairs >= FREE;
  }

  /** Stores the report until the conflict ends. */
  note(key: string, report: RepairReport, now: number): void {
    const entry = this.#current(key, now);
    if (entry !== undefined) entry.report = report;
  }

  /** @returns the report about an object with delayed repairs, and how many milliseconds it is valid at least */
  reported(key: string, now: number): { readonly report: RepairReport; readonly remaining: number } | undefined {
    const entry = this.#current(key, now);
    if (entry?.report === undefined) return undefined;
    return { report: entry.report, remaining: endOf(entry) - now };
  }

  #current(key: string, now: number): Entry | undefined {
    const entry = this.#entries.get(key);
    return entry === undefined || now >= endOf(entry) ? undefined : entry;
  }

  /** Entries are sorted by time, so the first recent one ends the search. */
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

/** Time at which the conflict ends: the object stayed as written, or no repair was requested although one was due. */
function endOf({ at, isContested }: Entry): number {
  return at + (isContested ? QUIET + LONGEST_PAUSE : QUIET);
}
