import { bounded } from '../telemetry/boundary.ts';
import { FairQueue } from '../limits/fair-queue.ts';
import { FairShare } from '../limits/fair-share.ts';
import type { SessionStream } from './stream.ts';
import type { LoopQuota } from '../limits/loop/loop-quota.ts';

/**
 * Work that follows from what a session read. It runs within the event-loop quota of the session's peer, round-robin by routing key.
 * However many requests of one key arrive at once, each request of another key waits for only one of them.
 */
export class DeferredWork {
  readonly #lane: LoopQuota;
  readonly #onFault: () => void;
  readonly #queue = new FairQueue<() => void>();
  /** Whether `#resume` is scheduled. */
  #continues = false;
  /** Octets of the fields of waiting requests, by routing key. */
  readonly #requests: FairShare;

  /** @param requests most octets of the fields of waiting requests. @param onFault called when deferred work throws */
  constructor(lane: LoopQuota, requests: number, onFault: () => void) {
    this.#lane = lane;
    this.#requests = new FairShare(requests, true);
    this.#onFault = onFault;
  }

  /** Octets of the fields of waiting requests. */
  get held(): number {
    return this.#requests.held.total;
  }

  /** Runs the work now, or when it is the key's turn. */
  do(key: string, work: () => void): void {
    if (this.#isNext) {
      this.#lane.spend();
      work();
      return;
    }
    this.#queue.add(key, work);
    if (!this.#continues) this.#comeBack();
  }

  /** Begins a request, now or later; it is `waiting` until then. @returns false if too many requests of its routing key wait */
  begin(stream: SessionStream, size: number, begin: () => void): boolean {
    const { key } = stream;
    if (this.#isNext) {
      this.do(key, begin);
      return true;
    }
    if (!this.#requests.hasRoom(key, size)) return false;
    const arrived = performance.now();
    const beginNow = (): void => {
      this.drop(stream);
      stream.waited = performance.now() - arrived;
      begin();
    };
    this.#requests.change(key, size);
    stream.waiting = { size, begin: beginNow };
    this.do(key, beginNow);
    return true;
  }

  /** Removes a request that has begun or will not begin. */
  drop(stream: SessionStream): void {
    const { waiting, key } = stream;
    if (waiting === undefined) return;
    stream.waiting = undefined;
    this.#requests.change(key, -waiting.size);
    this.#queue.delete(key, waiting.begin);
  }

  get #isNext(): boolean {
    return this.#queue.size === 0 && !this.#lane.isBusy;
  }

  /** Schedules `#resume` if work is left. */
  #comeBack(): void {
    this.#continues = this.#queue.size > 0;
    if (this.#continues) this.#lane.wait(this.#resume);
  }

  readonly #resume = bounded(
    'session/go-on',
    () => {
      while (!this.#lane.isSpent && this.#queue.size > 0) {
        this.#lane.spend();
        this.#queue.take()?.();
      }
      this.#comeBack();
    },
    () => {
      this.#comeBack();
      this.#onFault();
    },
  );
}
