import { bounded } from '../../telemetry/boundary.ts';
import { FairQueue } from '../fair-queue.ts';

/** Runs one piece of work in each event-loop iteration, round-robin by owner. */
export class RoundRobin {
  readonly #waiting = new FairQueue<() => void>();
  #isNext = false;

  /** Adds work, which never runs within the call. An exception does not affect other work. */
  add(owner: string, work: () => void): void {
    this.#waiting.add(owner, work);
    this.#resume();
  }

  /** No-op if it has run already. */
  delete(owner: string, work: () => void): void {
    this.#waiting.delete(owner, work);
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
