import { ConnectionError, ErrorCode } from './errors.ts';
import { MAX_WINDOW } from './frames.ts';
import type { SessionLimits } from './limits.ts';

/**
 * Receiving half of a stream's flow control. Invariant: `window + unconsumed <= target`, or larger by up to the usual initial window after
 * that was lowered and raised again.
 */
export interface ReceiveSide {
  readonly id: number;
  /** Bytes that the peer may still send; below zero after the initial window was lowered (RFC 9113 section 6.9.2). */
  window: number;
  target: number;
  unconsumed: number;
  /** Start of the current measurement, and the bytes consumed since. */
  since: number;
  consumedSince: number;
  /** Whether the peer has ended its half and needs no window. */
  readonly remoteEnded: boolean;
}

export interface ReceiveActions {
  /** Stream 0 is the connection. */
  credit(streamId: number, bytes: number): void;
  /** Announces a new initial window; the caller calls `acknowledged` on the peer's acknowledgement. */
  announce(initialWindow: number): void;
  /** Requests a `sample` of the round-trip time. */
  measure(): void;
}

/**
 * Decides how much the peer may send (RFC 9113 section 5.2).
 *
 * - A stopped reader holds only its own stream's window. While many have stopped, the initial window is lowered for all streams, which
 *   takes back windows already given. So they do not use up the connection's window.
 * - The connection's window is `limits.unconsumed` less the unconsumed bytes. At zero, once the peer has acknowledged the lowest initial
 *   window, a little is given anyway, so that active readers continue. Memory is bounded by `limits.unconsumed` plus the lowest window for
 *   each stream.
 * - A stream's window doubles when a fraction of it is consumed in less than four times that fraction of a round trip. Then the window, not
 *   the reader, may limit the sender. Growth comes from one bounded pool, and a stream takes at most half of what is left. So a few stopped
 *   readers cannot use it up. A slow stream gives its part back.
 */
export class ReceiveWindows {
  readonly #limits: SessionLimits;
  readonly #actions: ReceiveActions;
  readonly #now: () => number;
  #connectionWindow: number;
  #unconsumed = 0;
  /** Part of the unconsumed bytes beyond the usual initial window of their streams, i.e. in grown windows. */
  #beyond = 0;
  #grown = 0;
  #initial: number;
  /** Initial window that the peer has not acknowledged yet. */
  #announced: number | undefined;
  #rtt = Infinity;
  #previousRtt = Infinity;
  #rttSince = 0;
  #sampled = -Infinity;

  /** The connection's window starts at `limits.unconsumed`, which the session announces at its start. */
  constructor(limits: SessionLimits, actions: ReceiveActions, now: () => number) {
    this.#limits = limits;
    this.#actions = actions;
    this.#now = now;
    this.#connectionWindow = limits.unconsumed;
    this.#initial = limits.streamWindow;
  }

  /** Counters over all streams; each is zero when all streams are gone. */
  get held(): { readonly unconsumed: number; readonly beyond: number; readonly grown: number } {
    return { unconsumed: this.#unconsumed, beyond: this.#beyond, grown: this.#grown };
  }

  /** Initial window of a new stream. */
  get initial(): number {
    return this.#initial;
  }

  /** Counts every DATA frame, including ignored ones. */
  arrivedOnConnection(bytes: number): void {
    this.#connectionWindow -= bytes;
    if (this.#connectionWindow < 0) throw new ConnectionError(ErrorCode.FLOW_CONTROL_ERROR, 'DATA beyond the window of the connection');
  }

  /** @returns false if beyond the stream's window */
  arrived(stream: ReceiveSide, bytes: number): boolean {
    // END_STREAM needs no window, which is below zero after it was taken back.
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

  /** The stream is gone, and its unconsumed bytes will not be consumed. */
  released(stream: ReceiveSide): void {
    this.#hold(stream, -stream.unconsumed);
    this.ended(stream);
    this.creditConnection();
    if (this.#initial < this.#limits.streamWindow) this.#reconsider();
  }

  /** The stream has ended in order; its user may still consume what arrived. */
  ended(stream: ReceiveSide): void {
    this.#grown -= Math.max(0, stream.target - this.#limits.streamWindow);
    stream.target = 0;
  }

  creditConnection(): void {
    const lowest = this.#initial <= this.#limits.streamWindow >> LOWEST;
    const aim = Math.max(this.#limits.unconsumed - this.#unconsumed, lowest ? this.#limits.unconsumed >> 4 : 0);
    const bytes = aim - this.#connectionWindow;
    // Rarely while much is left, at once when little is left.
    if (bytes < this.#limits.unconsumed / 4 && (bytes <= 0 || this.#connectionWindow > aim / 2)) return;
    this.#connectionWindow += bytes;
    this.#actions.credit(0, bytes);
  }

  /** The peer has applied the announced initial window to all its streams. */
  acknowledged(streams: ReadonlyMap<number, ReceiveSide>): void {
    if (this.#announced === undefined) return;
    const change = this.#announced - this.#initial;
    for (const stream of streams.values()) {
      if (stream.target === this.#initial || stream.target < this.#announced) stream.target = this.#announced;
      stream.window += change;
    }
    this.#initial = this.#announced;
    this.#announced = undefined;
    // Streams below zero without unconsumed bytes would never get a window back otherwise.
    for (const stream of streams.values()) if (!stream.remoteEnded && stream.window < stream.target / 2) this.#credit(stream);
    this.creditConnection();
    this.#reconsider();
  }

  /** @param milliseconds the measured round-trip time */
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

  /** The pool is counted from the usual initial window, even while a lower one applies. */
  #retarget(stream: ReceiveSide, target: number): void {
    const base = this.#limits.streamWindow;
    const change = Math.max(base, target) - Math.max(base, stream.target);
    const isTooMuch = change > (this.#limits.growth - this.#grown) / 2 || this.#unconsumed - this.#beyond > this.#limits.unconsumed / 2;
    if (target > stream.target && isTooMuch) return;
    this.#grown += change;
    stream.target = target;
  }

  /**
   * Lowers the initial window as unconsumed bytes accumulate, and raises it at half of the load that lowered it. Bytes in grown windows do
   * not count: the pool bounds them, and a lower initial window takes none of them back. It would only slow the active readers.
   */
  #reconsider(): void {
    if (this.#announced !== undefined) return;
    const full = this.#limits.streamWindow;
    const load = (this.#unconsumed - this.#beyond) / Math.max(1, this.#limits.unconsumed - this.#beyond);
    let aim = this.#initial;
    if (load > 1 / 2) aim = full >> LOWEST;
    else if (load > 1 / 4) aim = Math.min(aim, full >> 2);
    else if (load < 1 / 8) aim = full;
    if (aim === this.#initial) return;
    this.#announced = aim;
    this.#actions.announce(aim);
  }
}

/**
 * Bytes consumed before a window is given back. With halves of a large window, a distant sender would stall for a part of each round trip.
 * At 50 ms, 8 MiB carry 0.67 Gbit/s in halves and 1.2 Gbit/s in eighths. With eighths of a small window there would be many frames.
 */
function step(target: number): number {
  return Math.max(target / 8, Math.min(target / 2, 32_768));
}

/** Milliseconds. The shortest round trip of the last one to two epochs counts, since longer ones include queueing. */
const RTT_EPOCH = 10_000;
const SAMPLE_AGE = 500;
/** Milliseconds. A stream that takes longer for half a window does not need a large one. */
const SLOW = 2_000;
/** The lowest initial window is the usual one shifted right by this many bits. */
const LOWEST = 6;
