import { bounded } from '../../telemetry/boundary.ts';

/** In one chunk, 64 KiB at most, and so many in any case. Nobody who uses HTTP brings so much at once. */
const [MOST, FEW] = [4_096, 256];
/** In a turn of the event loop, of all connections: some milliseconds. */
const MOST_OF_ALL = 32_768;

let inTurn = 0;
let isEnding = false;

const beginAnew = (): void => {
  inTurn = 0;
  isEnding = false;
};
const endTurn = bounded('look/observed', beginAnew, beginAnew);

/**
 * What it takes to understand what one direction of a connection brings, in lines of heads, or fields, a fifth of a microsecond each.
 * Hundreds of connections may bring 64 KiB of them in one turn of the event loop, which is a second and more. Such connections are observed no more.
 */
export class Effort {
  #ofChunk = 0;

  /** Of the next chunk. */
  begin(): void {
    this.#ofChunk = 0;
  }

  /** @returns false where it is too much */
  take(more: number): boolean {
    this.#ofChunk += more;
    inTurn += more;
    // Not in each turn that brings a request: it would cost more than what is read.
    if (inTurn > FEW && !isEnding) {
      isEnding = true;
      setImmediate(endTurn);
    }
    return this.#ofChunk <= FEW || (this.#ofChunk <= MOST && inTurn <= MOST_OF_ALL);
  }
}
