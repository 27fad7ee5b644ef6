import { bounded } from '../../telemetry/boundary.ts';

/** Maximum number of lines in one chunk of at most 64 KiB, and the number that is always allowed. Ordinary HTTP stays far below. */
const [MOST, FEW] = [4_096, 256];
/** Maximum number of lines of all connections in an event-loop iteration. They take some milliseconds. */
const MOST_OF_ALL = 32_768;

/** Counts lines of all connections of this process in an event-loop iteration. */
class IterationCount {
  #lines = 0;
  #isEnding = false;
  readonly #begin = (): void => {
    this.#lines = 0;
    this.#isEnding = false;
  };
  readonly #end = bounded('look/observed', this.#begin, this.#begin);

  /** @returns number of lines in this iteration so far */
  add(lines: number): number {
    this.#lines += lines;
    // A callback for each request would cost more than reading it.
    if (this.#lines > FEW && !this.#isEnding) {
      this.#isEnding = true;
      setImmediate(this.#end);
    }
    return this.#lines;
  }
}

const ofProcess = new IterationCount();

/**
 * Limits the work of parsing one direction of a connection, in header lines or fields of a fifth of a microsecond each. Hundreds of connections
 * may bring 64 KiB of them in one event-loop iteration, which takes more than a second. Such connections are no longer observed.
 */
export class Effort {
  #ofChunk = 0;

  /** Starts the next chunk. */
  begin(): void {
    this.#ofChunk = 0;
  }

  /** @returns false if the limit is exceeded */
  take(lines: number): boolean {
    this.#ofChunk += lines;
    const inIteration = ofProcess.add(lines);
    return this.#ofChunk <= FEW || (this.#ofChunk <= MOST && inIteration <= MOST_OF_ALL);
  }
}
