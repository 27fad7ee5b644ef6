import { ConnectionError, ErrorCode } from './errors.ts';
import { MAX_WINDOW } from './frames.ts';
import type { SessionLimits } from './limits.ts';

/**
 * The receiving half of a stream's flow control. Invariant: what the peer may still send, and what is unconsumed, is at most `target`, or the
 * usual initial window more where that was lowered and raised again.
 */
export interface ReceiveSide {
  readonly id: number;
  /** What the peer may still send; below zero after the initial window was lowered (RFC 9113 section 6.9.2). */
  window: number;
  target: number;
  unconsumed: number;
  /** Of the present measurement: its begin, and what was consumed since. */
  since: number;
  consumedSince: number;
  /** The peer sends no more: its window is of no use. */
  readonly remoteEnded: boolean;
}

export interface ReceiveActions {
  /** Stream 0 is the connection. */
  credit(streamId: number, bytes: number): void;
  /** Tell the peer of a new initial window; `acknowledged` is to be called with its acknowledgement. */
  announce(initialWindow: number): void;
  /** Ask for a `sample` of the round trip. */
  measure(): void;
}

/**
 * How much the peer may send (RFC 9113 section 5.2).
 *
 * - A stopped reader holds only its own stream's window. While many have stopped, the initial window is lowered for all (which takes
 *   windows back that were given already), so that they do not use up the connection's.
 * - The connection's window is `limits.unconsumed` less what is unconsumed. Where that comes to nothing, and the peer has acknowledged the
 *   lowest initial window, a little is given nevertheless, so that those who do read go on. So what is held at most, however many
 *   readers stop, is `limits.unconsumed`, and beyond that the lowest window for each stream.
 * - A stream's window doubles when a share of it is consumed faster than in four times the share of a round trip: then it, and not the
 *   reader, may be what limits the sender. All growth comes from one bounded pool, of which a stream takes at most half of what is left: a
 *   few whose readers stop cannot use it up. A stream that goes slow gives its part back.
 */
export class ReceiveWindows {
  readonly #limits: SessionLimits;
  readonly #actions: ReceiveActions;
  readonly #now: () => number;
  #connectionWindow: number;
  #unconsumed = 0;
  /** Of that, what lies beyond the usual initial window of its stream: in windows that have grown. */
  #beyond = 0;
  #grown = 0;
  #initial: number;
  /** An initial window that the peer has not acknowledged yet. */
  #announced: number | undefined;
  #rtt = Infinity;
  #previousRtt = Infinity;
  #rttSince = 0;
  #sampled = -Infinity;

  /** @param connectionWindow what the peer has been told of by the time that this begins */
  constructor(limits: SessionLimits, actions: ReceiveActions, now: () => number) {
    this.#limits = limits;
    this.#actions = actions;
    this.#now = now;
    this.#connectionWindow = limits.unconsumed;
    this.#initial = limits.streamWindow;
  }

  /** What is counted for streams: each comes to nothing when they are all gone. */
  get held(): { readonly unconsumed: number; readonly beyond: number; readonly grown: number } {
    return { unconsumed: this.#unconsumed, beyond: this.#beyond, grown: this.#grown };
  }

  /** What a new stream starts with. */
  get initial(): number {
    return this.#initial;
  }

  /** Every DATA frame, also one that is to be ignored. */
  arrivedOnConnection(bytes: number): void {
    this.#connectionWindow -= bytes;
    if (this.#connectionWindow < 0) throw new ConnectionError(ErrorCode.FLOW_CONTROL_ERROR, 'DATA beyond the window of the connection');
  }

  /** @returns false where it is beyond the stream's window */
  arrived(stream: ReceiveSide, bytes: number): boolean {
    // The end of a stream needs no window, and finds one below zero where it was taken back.
    if (bytes > 0 && bytes > stream.window) return false;
    stream.window -= bytes;
    this.#hold(stream, bytes);
    if (this.#unconsumed > this.#limits.unconsumed / 4) {
      this.#reconsider();
      this.creditConnection();
    }
    return true;
  }

  consumed(stream: ReceiveSide, bytes: number): void {
    const counted = Math.min(bytes, stream.unconsumed);
    this.#hold(stream, -counted);
    stream.consumedSince += counted;
    if (!stream.remoteEnded && stream.target - stream.window - stream.unconsumed >= step(stream.target)) this.#credit(stream);
    this.creditConnection();
    if (this.#initial < this.#limits.streamWindow) this.#reconsider();
  }

  /** The stream is gone, and nobody consumes any more what it brought. */
  released(stream: ReceiveSide): void {
    this.#hold(stream, -stream.unconsumed);
    this.ended(stream);
    this.creditConnection();
    if (this.#initial < this.#limits.streamWindow) this.#reconsider();
  }

  /** The stream has ended well; its user may still consume what came. */
  ended(stream: ReceiveSide): void {
    this.#grown -= Math.max(0, stream.target - this.#limits.streamWindow);
    stream.target = 0;
  }

  creditConnection(): void {
    const lowest = this.#initial <= this.#limits.streamWindow >> LOWEST;
    const wanted = Math.max(this.#limits.unconsumed - this.#unconsumed, lowest ? this.#limits.unconsumed >> 4 : 0);
    const bytes = wanted - this.#connectionWindow;
    // Rarely while there is plenty, at once when little is left.
    if (bytes < this.#limits.unconsumed / 4 && (bytes <= 0 || this.#connectionWindow > wanted / 2)) return;
    this.#connectionWindow += bytes;
    this.#actions.credit(0, bytes);
  }

  /** The peer has taken the announced initial window for all its streams. */
  acknowledged(streams: ReadonlyMap<number, ReceiveSide>): void {
    if (this.#announced === undefined) return;
    const change = this.#announced - this.#initial;
    for (const stream of streams.values()) {
      if (stream.target === this.#initial || stream.target < this.#announced) stream.target = this.#announced;
      stream.window += change;
    }
    this.#initial = this.#announced;
    this.#announced = undefined;
    // Those that are below zero now, and have nothing to be consumed, get nothing by themselves.
    for (const stream of streams.values()) if (!stream.remoteEnded && stream.window < stream.target / 2) this.#credit(stream);
    this.creditConnection();
    this.#reconsider();
  }

  /** A round trip took so many milliseconds. */
  sample(milliseconds: number): void {
    const now = this.#now();
    this.#sampled = now;
    if (now - this.#rttSince > RTT_EPOCH) {
      this.#previousRtt = this.#rtt;
      this.#rtt = Infinity;
      this.#rttSince = now;
    }
    this.#rtt = Math.min(this.#rtt, milliseconds);
  }

  #hold(stream: ReceiveSide, change: number): void {
    const base = this.#limits.streamWindow;
    const before = Math.max(0, stream.unconsumed - base);
    stream.unconsumed += change;
    this.#unconsumed += change;
    this.#beyond += Math.max(0, stream.unconsumed - base) - before;
  }

  #credit(stream: ReceiveSide): void {
    this.#resize(stream);
    const bytes = Math.min(stream.target - stream.window - stream.unconsumed, MAX_WINDOW - stream.window);
    if (bytes <= 0) return;
    stream.window += bytes;
    this.#actions.credit(stream.id, bytes);
  }

  #resize(stream: ReceiveSide): void {
    const now = this.#now();
    const elapsed = now - stream.since;
    const share = stream.consumedSince / stream.target;
    stream.since = now;
    stream.consumedSince = 0;
    if (elapsed > SLOW) {
      this.#retarget(stream, Math.max(this.#initial, stream.target >> 1));
      return;
    }
    if (now - this.#sampled > SAMPLE_AGE) {
      this.#sampled = now;
      this.#actions.measure();
    }
    const rtt = Math.min(this.#rtt, this.#previousRtt);
    if (rtt !== Infinity && elapsed < 4 * share * rtt) this.#retarget(stream, Math.min(stream.target * 2, this.#limits.streamWindowMost));
  }

  /** The pool is counted from the usual initial window, also while a lower one holds. */
  #retarget(stream: ReceiveSide, target: number): void {
    const base = this.#limits.streamWindow;
    const change = Math.max(base, target) - Math.max(base, stream.target);
    const isTooMuch = change > (this.#limits.growth - this.#grown) / 2 || this.#unconsumed - this.#beyond > this.#limits.unconsumed / 2;
    if (target > stream.target && isTooMuch) return;
    this.#grown += change;
    stream.target = target;
  }

  /**
   * Lower the initial window as unconsumed bytes mount up; raise it again when they are half as many as made it low. What stopped
   * readers hold in grown windows is bounded by the pool, and a lower initial window would take none of it back: it would only slow
   * those who read.
   */
  #reconsider(): void {
    if (this.#announced !== undefined) return;
    const full = this.#limits.streamWindow;
    const load = (this.#unconsumed - this.#beyond) / Math.max(1, this.#limits.unconsumed - this.#beyond);
    let wanted = this.#initial;
    if (load > 1 / 2) wanted = full >> LOWEST;
    else if (load > 1 / 4) wanted = Math.min(wanted, full >> 2);
    else if (load < 1 / 8) wanted = full;
    if (wanted === this.#initial) return;
    this.#announced = wanted;
    this.#actions.announce(wanted);
  }
}

/**
 * What has to be consumed until a window is given back. With half of a large window the sender of a far stream would stand still for a part
 * of each round trip: at 50 ms, 8 MiB carry 0.67 Gbit/s in halves, and 1.2 Gbit/s in eighths. With a small one the frames would be many.
 */
function step(target: number): number {
  return Math.max(target / 8, Math.min(target / 2, 32_768));
}

/** The least round trip of the last one to two epochs counts: a longer one holds queues. */
const RTT_EPOCH = 10_000;
const SAMPLE_AGE = 500;
/** A stream that takes longer than this for half a window has no use for a large one. */
const SLOW = 2_000;
/** The lowest initial window is the usual one shifted by so many bits. */
const LOWEST = 6;
