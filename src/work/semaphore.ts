import { bounded } from '../telemetry/boundary.ts';
import { FairQueue } from './fair-queue.ts';

export interface Asker {
  readonly signal?: AbortSignal | undefined;
  /** Milliseconds that it is willing to wait. */
  readonly deadline: number;
  /** Those of each have a slot in turn. Left out: all are one's. */
  readonly whose?: string;
}

/** Only who is `granted` a slot has to give it back. `full`: too many wait already. `late`: none was free by the deadline. */
export type Answer = 'granted' | 'full' | 'late';

/** A fixed number of slots. Those of one asker are given out in the order in which they were asked for, and those of several in turn. */
export class Semaphore {
  #free: number;
  readonly #limit: number;
  readonly #waiting = new FairQueue<() => void>();

  /** `limit`: how many may wait. */
  constructor(slots: number, limit: number) {
    this.#free = slots;
    this.#limit = limit;
  }

  /** Rejects, with none taken, with the signal's reason. */
  take({ signal, deadline, whose = '' }: Asker): Promise<Answer> {
    if (this.#free > 0) {
      this.#free--;
      return GRANTED;
    }
    if (this.#waiting.size >= this.#limit) return Promise.resolve('full');
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', onAbort);
        this.#waiting.delete(whose, grant);
      };
      const grant = (): void => {
        leave();
        resolve('granted');
      };
      const giveUp = (): void => {
        leave();
        reject(signal?.reason);
      };
      const onAbort = bounded('request/slot-aborted', giveUp, giveUp);
      const late = (): void => {
        leave();
        resolve('late');
      };
      const timer = setTimeout(bounded('request/slot-late', late, late), deadline);
      signal?.addEventListener('abort', onAbort, { once: true });
      this.#waiting.add(whose, grant);
    });
  }

  giveBack(): void {
    const next = this.#waiting.take();
    if (next === undefined) this.#free++;
    else next();
  }
}

const GRANTED = Promise.resolve<Answer>('granted');
