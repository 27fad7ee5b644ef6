import { constants, performance, PerformanceObserver, type PerformanceNodeEntry } from 'node:perf_hooks';
import { memoryUsage } from 'node:process';
import { setFlagsFromString } from 'node:v8';
import { bounded } from '../../telemetry/boundary.ts';

/** Interval between two checks in milliseconds. */
const LOOK_EVERY = 500;
const MIB = 1 << 20;
/** Bytes of heap and external buffers from which memory use counts as high. Ordinary traffic stays well below. */
const MUCH = 64 * MIB;
/** Fraction of `MUCH` below which memory use counts as low again. */
const LITTLE = 3 / 4;
/** Fraction of the memory limit; speed is preferred only while the process uses less. */
const ROOM = 1 / 2;
/**
 * Interval in milliseconds below which two full collections count as frequent, and time for which speed is preferred after them.
 */
const [OFTEN, HASTE] = [5_000, 10_000];
/** CPU-time fraction below which the process counts as calm, and number of calm checks in a row before it collects. */
const [BUSY, CALM_LOOKS] = [1 / 2, 10];
/** Heap bytes above which a full collection blocks the event loop for more than a tenth of a second. */
const QUICK = 128 * MIB;

/**
 * V8 flags of each mode. `hurried` lets the heap grow further between full collections, but less than V8's own choice, which is a
 * third of the process. 0 percent lets V8 decide.
 */
const FLAGS = {
  small: ['--optimize-for-size', '--heap-growing-percent=0'],
  hurried: ['--no-optimize-for-size', '--heap-growing-percent=70'],
  fast: ['--no-optimize-for-size', '--heap-growing-percent=0'],
} as const satisfies Record<string, readonly string[]>;

/** Memory use in bytes, as in `process.memoryUsage()`. */
export type Usage = Pick<NodeJS.MemoryUsage, 'heapUsed' | 'external' | 'rss'>;

/**
 * Chooses the mode of the garbage collector. At first V8 keeps the process small. While a router's memory
 * grows or shrinks fast, V8 would then run full collections several times a second: a fifth of the cost of new connections
 * (docs/adr/0033). So speed is preferred while memory use is high and after frequent full collections, if memory is available.
 */
export class Preference {
  /** Maximum memory of the process in bytes. */
  limit: number;
  #now: keyof typeof FLAGS = 'small';
  #collected = -Infinity;
  #hurriedUntil = -Infinity;

  constructor(limit: number) {
    this.limit = limit;
  }

  /**
   * Records a full collection.
   * @param at time in milliseconds, monotonic
   */
  collected(at: number): void {
    if (at - this.#collected < OFTEN) this.#hurriedUntil = at + HASTE;
    this.#collected = at;
  }

  /** @returns the V8 flags to set if the mode changed */
  flagsFor(usage: Usage, at: number): readonly string[] {
    const now = this.#chosen(usage, at);
    if (now === this.#now) return [];
    this.#now = now;
    return FLAGS[now];
  }

  #chosen({ heapUsed, external, rss }: Usage, at: number): keyof typeof FLAGS {
    if (rss >= this.limit * ROOM) return 'small';
    if (heapUsed + external >= (this.#now === 'fast' ? MUCH * LITTLE : MUCH)) return 'fast';
    return at < this.#hurriedUntil ? 'hurried' : 'small';
  }
}

/**
 * Decides when to collect garbage explicitly. V8 collects on allocation: after a peak an idle process would keep hundreds of
 * megabytes of garbage until new connections come.
 */
export class MemoryReclaimer {
  /** Minimum memory use since the last collection; the excess may be garbage. */
  #least = Infinity;
  #calm = 0;

  /**
   * @param busy fraction of time since the last check in which the event loop was busy
   * @returns whether to collect now
   */
  isDue({ heapUsed, external }: Usage, busy: number): boolean {
    const held = heapUsed + external;
    this.#least = Math.min(this.#least, held);
    this.#calm = busy < BUSY ? this.#calm + 1 : 0;
    if (this.#calm < CALM_LOOKS || held < this.#least + MUCH || heapUsed > QUICK) return false;
    // Everything that survives a collection is in use, so the next minimum starts from there.
    this.#least = Infinity;
    return true;
  }
}

/**
 * Starts checking.
 * @param limit returns the maximum memory of the process in bytes at present
 */
export function followMemory(limit: () => number): Disposable {
  const [preference, leftovers] = [new Preference(limit()), new MemoryReclaimer()];
  let before = performance.eventLoopUtilization();
  const prefer = (usage: Usage): void => {
    // V8 reads these flags at each collection.
    setFlags(preference.flagsFor(usage, performance.now()));
  };
  const look = (): void => {
    const [usage, now] = [memoryUsage(), performance.eventLoopUtilization()];
    preference.limit = limit();
    prefer(usage);
    const busy = performance.eventLoopUtilization(now, before).utilization;
    before = now;
    // Exists because of `--expose-gc` (`v8-flags.ts`).
    if (leftovers.isDue(usage, busy)) globalThis.gc?.();
  };
  setFlags(FLAGS.small);
  const timer = setInterval(bounded('look/collector', look), LOOK_EVERY).unref();
  const observer = new PerformanceObserver(
    bounded('look/collections', (list: PerformanceObserverEntryList) => {
      const full = list.getEntries().filter(isOfAll);
      for (const { startTime } of full) preference.collected(startTime);
      // The next collection may come before the next check.
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

function setFlags(flags: readonly string[]): void {
  for (const flag of flags) setFlagsFromString(flag);
}

function isOfAll(entry: PerformanceEntry): boolean {
  const { detail } = entry as PerformanceNodeEntry & { readonly detail: { readonly kind: number } };
  return detail.kind === constants.NODE_PERFORMANCE_GC_MAJOR;
}
