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

/** As `process.memoryUsage()`, in bytes. */
export type Usage = Pick<NodeJS.MemoryUsage, 'heapUsed' | 'external' | 'rss'>;

/**
 * What the collector of garbage is to prefer. V8 was told to keep the process small (`tune.ts`), which makes it collect the whole heap whenever that
 * has grown by a little: while somebody has a router hold hundreds of megabytes, that is ten times a second, for tens of milliseconds each,
 * in which nobody is served. So it is to be fast as long as much is held, if there is room.
 */
export class Preference {
  readonly #limit: number;
  #isFast = false;

  /** @param limit bytes that the process may use */
  constructor(limit: number) {
    this.#limit = limit;
  }

  /** @returns what to tell V8, where that is otherwise than before */
  flagFor({ heapUsed, external, rss }: Usage): string | undefined {
    const held = heapUsed + external;
    const isFast = rss < this.#limit * ROOM && held >= (this.#isFast ? MUCH * LITTLE : MUCH);
    if (isFast === this.#isFast) return undefined;
    this.#isFast = isFast;
    return isFast ? '--no-optimize-for-size' : '--optimize-for-size';
  }
}

/** Looks from now on. @param limit bytes that the process may use */
export function followMemory(limit: number): Disposable {
  const preference = new Preference(limit);
  const look = (): void => {
    const flag = preference.flagFor(memoryUsage());
    // V8 asks for this one at each collection.
    if (flag !== undefined) setFlagsFromString(flag);
  };
  const timer = setInterval(bounded('look/collector', look), LOOK_EVERY).unref();
  return { [Symbol.dispose]: () => clearInterval(timer) };
}
