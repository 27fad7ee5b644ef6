import { bounded } from '../../telemetry/boundary.ts';
import { FairQueue } from '../fair-queue.ts';

export interface Asker {
  readonly signal?: AbortSignal | undefined;
  /** Maximum time to wait in milliseconds. */
  readonly deadline: number;
  /** Slots are granted round-robin by owner. If absent, all such callers share one owner. */
  readonly owner?: string;
}

/** Only a `granted` slot is given back. `full`: too many callers wait already. `late`: no slot was free by the deadline. */
export type Answer = 'granted' | 'full' | 'late';

/** A fixed number of slots, granted round-robin by owner, and to each owner in order. */
export class Semaphore {
  #free: number;
  readonly #limit: number;
  readonly #waiting = new FairQueue<() => void>();

  /** @param limit maximum number of waiting callers */
  constructor(slots: number, limit: number) {
    this.#free = slots;
    this.#limit = limit;
  }

  /** Takes a slot. If aborted, rejects with the signal's reason and takes none. */
  take({ signal, deadline, owner = '' }: Asker): Promise<Answer> {
    if (this.#free > 0) {
      this.#free--;
      return GRANTED;
    }
    if (this.#waiting.size >= this.#limit) return Promise.resolve('full');
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', onAbort);
        this.#waiting.delete(owner, grant);
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
      this.#waiting.add(owner, grant);
    });
  }

  giveBack(): void {
    const next = this.#waiting.take();
    if (next === undefined) this.#free++;
    else next();
  }
}

const GRANTED = Promise.resolve<Answer>('granted');
