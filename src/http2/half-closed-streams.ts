import { bounded } from '../telemetry/boundary.ts';
import { ErrorCode } from './errors.ts';
import type { SessionStream } from './stream.ts';
import type { LoopQuota } from '../limits/loop/loop-quota.ts';

/**
 * Streams with a complete response whose request has not ended. They are reset after a deadline, so that a peer cannot hold them forever.
 */
export class HalfClosedStreams {
  readonly #milliseconds: number;
  readonly #work: LoopQuota;
  readonly #now: () => number;
  /** Time of the reset by stream, earliest first. */
  readonly #streams = new Map<SessionStream, number>();
  #timer: NodeJS.Timeout | undefined;

  readonly #due = bounded('session/answered-deadline', () => this.#reset());

  constructor(milliseconds: number, work: LoopQuota, now: () => number) {
    this.#milliseconds = milliseconds;
    this.#work = work;
    this.#now = now;
  }

  add(stream: SessionStream): void {
    this.#streams.set(stream, this.#now() + this.#milliseconds);
    this.#timer ??= setTimeout(this.#due, this.#milliseconds).unref();
  }

  /** No-op if absent. */
  delete(stream: SessionStream): void {
    this.#streams.delete(stream);
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#streams.clear();
  }

  #reset(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const now = this.#now();
    for (const [stream, until] of this.#streams) {
      if (until > now) {
        this.#timer = setTimeout(this.#due, until - now).unref();
        return;
      }
      if (this.#work.isSpent) {
        this.#work.wait(this.#due);
        return;
      }
      this.#work.spend();
      this.#streams.delete(stream);
      stream.giveUp({ code: ErrorCode.CANCEL, reason: 'the peer did not end its request after the answer' });
    }
  }
}
