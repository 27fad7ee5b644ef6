import { constants, performance, PerformanceObserver, type PerformanceNodeEntry } from 'node:perf_hooks';
import { memoryUsage } from 'node:process';
import { setFlagsFromString } from 'node:v8';
import { bounded } from '../../telemetry/boundary.ts';

/** Milliseconds between two looks. */
const LOOK_EVERY = 500;
const MIB = 1 << 20;
/** Bytes of the heap, and of buffers beside it, from which on much is held; well above what traffic of people who read needs. */
const MUCH = 64 * MIB;
/** A part of that, below which it is little again. */
const LITTLE = 3 / 4;
/** Of the memory that the process may use, what it has to have left for speed to be preferred. */
const ROOM = 1 / 2;
/** Milliseconds between two collections of all of it, within which others notice them; and for how long speed is preferred after such two. */
const [OFTEN, HASTE] = [500, 10_000];
/** A part of its time, below which a process has some left to collect; and for how many looks in a row it is to have that. */
const [BUSY, CALM_LOOKS] = [1 / 2, 10];
/** Bytes of the heap, beyond which collecting all of it keeps others waiting for longer than a tenth of a second. */
const QUICK = 128 * MIB;

/**
 * What V8 is told. While hurried it lets the heap grow by more before it collects all of it again, but not by as much as it would like, which is a third of a
 * process. 0 percent says that it decides by itself.
 */
const FLAGS = {
  small: ['--optimize-for-size', '--heap-growing-percent=0'],
  hurried: ['--no-optimize-for-size', '--heap-growing-percent=50'],
  fast: ['--no-optimize-for-size', '--heap-growing-percent=0'],
} as const satisfies Record<string, readonly string[]>;

/** As `process.memoryUsage()`, in bytes. */
export type Usage = Pick<NodeJS.MemoryUsage, 'heapUsed' | 'external' | 'rss'>;

/**
 * What the collector of garbage is to prefer. V8 was told to keep the process small (`v8-flags.ts`), which makes it collect the whole heap whenever that
 * has grown by a little: while somebody has a router hold more and more, or lets go of much, that is ten times a second, for tens of milliseconds each,
 * in which nobody is served. So it is to be fast as long as much is held, and for a while after it had to collect often, if there is room.
 */
export class Preference {
  readonly #limit: number;
  #now: keyof typeof FLAGS = 'small';
  #collected = -Infinity;
  #hurriedUntil = -Infinity;

  /** @param limit bytes that the process may use */
  constructor(limit: number) {
    this.#limit = limit;
  }

  /**
   * All of the heap was collected.
   * @param at milliseconds on a clock that only goes on
   */
  collected(at: number): void {
    if (at - this.#collected < OFTEN) this.#hurriedUntil = at + HASTE;
    this.#collected = at;
  }

  /** @returns what to tell V8, where that is otherwise than before */
  flagsFor(usage: Usage, at: number): readonly string[] {
    const now = this.#chosen(usage, at);
    if (now === this.#now) return [];
    this.#now = now;
    return FLAGS[now];
  }

  #chosen({ heapUsed, external, rss }: Usage, at: number): keyof typeof FLAGS {
    if (rss >= this.#limit * ROOM) return 'small';
    if (heapUsed + external >= (this.#now === 'fast' ? MUCH * LITTLE : MUCH)) return 'fast';
    return at < this.#hurriedUntil ? 'hurried' : 'small';
  }
}

/**
 * Whether to collect what is left over. V8 collects when much is asked for: a process of which little is asked any more keeps what
 * those held who have gone, hundreds of megabytes, until others come.
 */
export class MemoryReclaimer {
  /** What was held when it was least, since the last time: the rest may be garbage. */
  #least = Infinity;
  #calm = 0;

  /**
   * @param busy the part of its time, since the last look, in which the process did something
   * @returns whether to collect now
   */
  isDue({ heapUsed, external }: Usage, busy: number): boolean {
    const held = heapUsed + external;
    this.#least = Math.min(this.#least, held);
    this.#calm = busy < BUSY ? this.#calm + 1 : 0;
    if (this.#calm < CALM_LOOKS || held < this.#least + MUCH || heapUsed > QUICK) return false;
    // What a collection leaves is in use, and not looked at again before there is more.
    this.#least = Infinity;
    return true;
  }
}

/** Looks from now on. @param limit bytes that the process may use */
export function followMemory(limit: number): Disposable {
  const [preference, leftovers] = [new Preference(limit), new MemoryReclaimer()];
  let before = performance.eventLoopUtilization();
  const prefer = (usage: Usage): void => {
    // V8 asks for these at each collection.
    for (const flag of preference.flagsFor(usage, performance.now())) setFlagsFromString(flag);
  };
  const look = (): void => {
    const [usage, now] = [memoryUsage(), performance.eventLoopUtilization()];
    prefer(usage);
    const busy = performance.eventLoopUtilization(now, before).utilization;
    before = now;
    // It is there once the process has its flags (`v8-flags.ts`).
    if (leftovers.isDue(usage, busy)) globalThis.gc?.();
  };
  const timer = setInterval(bounded('look/collector', look), LOOK_EVERY).unref();
  const observer = new PerformanceObserver(
    bounded('look/collections', (list: PerformanceObserverEntryList) => {
      const full = list.getEntries().filter(isOfAll);
      for (const { startTime } of full) preference.collected(startTime);
      // The next one comes before the next look.
      if (full.length > 0) prefer(memoryUsage());
    }),
  );
  observer.observe({ entryTypes: ['gc'] });
  return {
    [Symbol.dispose]: () => {
      clearInterval(timer);
      observer.disconnect();
    },
  };
}

function isOfAll(entry: PerformanceEntry): boolean {
  const { detail } = entry as PerformanceNodeEntry & { readonly detail: { readonly kind: number } };
  return detail.kind === constants.NODE_PERFORMANCE_GC_MAJOR;
}
