import { TransportError } from '../kube/errors.ts';

interface Asker {
  /** For messages. */
  readonly call: string;
  readonly signal?: AbortSignal | undefined;
  /** Milliseconds that it is willing to wait. */
  readonly deadline: number;
}

/** A fixed number of places, given out in the order in which they were asked for. */
export class Places {
  #free: number;
  readonly #limit: number;
  readonly #waiting = new Set<() => void>();

  /** `limit`: how many may wait. */
  constructor(places: number, limit: number) {
    this.#free = places;
    this.#limit = limit;
  }

  /** Whoever got a place gives it back. Rejects, with none taken, by the deadline, the signal or the limit. */
  take(asker: Asker): Promise<void> {
    if (this.#free > 0) {
      this.#free--;
      return GRANTED;
    }
    if (this.#waiting.size >= this.#limit) {
      const message = `${asker.call}: ${this.#waiting.size} requests wait for a connection already.`;
      return Promise.reject(new TransportError('kube-busy', message, { sent: false }));
    }
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        clearTimeout(timer);
        asker.signal?.removeEventListener('abort', onAbort);
        this.#waiting.delete(grant);
      };
      const grant = (): void => {
        leave();
        resolve();
      };
      const onAbort = (): void => {
        leave();
        reject(asker.signal?.reason);
      };
      const timer = setTimeout(() => {
        leave();
        const message = `${asker.call}: no connection was free within ${Math.round(asker.deadline)} ms.`;
        reject(new TransportError('kube-timeout', message, { sent: false }));
      }, asker.deadline);
      asker.signal?.addEventListener('abort', onAbort, { once: true });
      this.#waiting.add(grant);
    });
  }

  giveBack(): void {
    const [next] = this.#waiting;
    if (next === undefined) this.#free++;
    else next();
  }
}

const GRANTED = Promise.resolve();
