import { bounded } from '../telemetry/boundary.ts';
import { FairQueue } from './fair-queue.ts';

/** One piece of work in a turn of the event loop, of several for whom it is done in order, and for one after the other of them. */
export class RoundRobin {
  readonly #waiting = new FairQueue<() => void>();
  #isNext = false;

  /** Calls back in its turn, never within the call. What that throws keeps none of the others from theirs. */
  add(whose: string, work: () => void): void {
    this.#waiting.add(whose, work);
    this.#resume();
  }

  /** Also of one that has had its turn. */
  delete(whose: string, work: () => void): void {
    this.#waiting.delete(whose, work);
  }

  #resume(): void {
    if (this.#isNext || this.#waiting.size === 0) return;
    this.#isNext = true;
    setImmediate(this.#next);
  }

  readonly #next = bounded('look/turn', () => {
    this.#isNext = false;
    const work = this.#waiting.take();
    this.#resume();
    work?.();
  });
}
