import { bounded } from '../../telemetry/boundary.ts';
import { FairQueue } from '../../limits/fair-queue.ts';
import { FairShare } from '../../limits/fair-share.ts';
import type { SessionStream } from './stream.ts';
import type { LoopQuota } from '../../limits/loop/loop-quota.ts';

/**
 * What a session has to do about what it read, in turns of its peer, and within those for one routing key after the other: however many requests of
 * one key come at once, those of another wait for one of them each.
 */
export class DeferredWork {
  readonly #lane: LoopQuota;
  readonly #onFault: () => void;
  readonly #queue = new FairQueue<() => void>();
  /** It will be called back. */
  #continues = false;
  /** Octets of fields, by routing key. */
  readonly #requests: FairShare;

  /** @param requests octets of the fields of those that wait, at most. @param onFault what was to be done threw */
  constructor(lane: LoopQuota, requests: number, onFault: () => void) {
    this.#lane = lane;
    this.#requests = new FairShare(requests, true);
    this.#onFault = onFault;
  }

  /** Octets of fields of requests that wait. */
  get held(): number {
    return this.#requests.held.total;
  }

  /** Now, or when it is the key's turn. */
  do(key: string, work: () => void): void {
    if (this.#isNext) {
      this.#lane.spend();
      work();
      return;
    }
    this.#queue.add(key, work);
    if (!this.#continues) this.#comeBack();
  }

  /** A request, which is `waiting` until then. @returns false where as many of its routing key wait as may */
  begin(stream: SessionStream, size: number, begin: () => void): boolean {
    const { key } = stream;
    if (this.#isNext) {
      this.do(key, begin);
      return true;
    }
    if (!this.#requests.hasRoom(key, size)) return false;
    const beginNow = (): void => {
      this.drop(stream);
      begin();
    };
    this.#requests.change(key, size);
    stream.waiting = { size, begin: beginNow };
    this.do(key, beginNow);
    return true;
  }

  /** It does not begin any more, or has begun. */
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

  /** Where something is left to be done. */
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
