import { performance } from 'node:perf_hooks';
import { bounded, detached, guard } from '../../../telemetry/boundary.ts';
import { DEFAULT_LIVENESS } from '../../contract.ts';
import { addRoundTrip, judgeSilence, roundTripOf, type LivenessTimes } from './liveness-rule.ts';

/** A connection whose peer answers pings while it is alive. */
export interface Watched {
  /** Increases with all input. */
  readonly bytesRead: number;
  /** @returns the round-trip time; rejects if no answer arrives within `deadline`, both in milliseconds */
  ping(deadline: number): Promise<number>;
  /** Nothing has arrived for this time: new requests should use another path. */
  suspect(milliseconds: number): void;
  /** The peer has answered a ping again. */
  recover(): void;
  /** Nothing has arrived for so long that the connection must end. */
  giveUp(milliseconds: number): void;
}

export interface LivenessLimits extends LivenessTimes {
  /** Milliseconds between two scans of all connections. */
  readonly look: number;
  /** Milliseconds between two pings, if the first one was answered. */
  readonly ping: number;
}

/** A peer that dies just after an answer is suspect within 3 s: ping + suspectAfter + two scans. */
const LIMITS: LivenessLimits = { look: 100, ping: 500, ...DEFAULT_LIVENESS };
/** Longest timer of Node.js: this class decides whether the peer is dead, not the ping. */
const NO_DEADLINE = 2 ** 31 - 1;

/**
 * Detects silent peers, even if no packet reports the failure. Any input counts as life, since an answer may wait behind bulk data. One
 * timer serves all connections. Time in which this process was stopped does not count against its peers.
 */
export class Liveness implements Disposable {
  #limits: LivenessLimits;
  readonly #clock: () => number;
  readonly #watched = new Map<Watched, Pulse>();
  #timer: NodeJS.Timeout | undefined;
  #lastScan: number;

  constructor(limits: Partial<LivenessLimits> = {}, clock: () => number = () => performance.now()) {
    this.#limits = { ...LIMITS, ...limits };
    this.#clock = clock;
    this.#lastScan = clock();
  }

  /** Replaces the times for all connections. */
  apply(times: LivenessTimes): void {
    this.#limits = { ...this.#limits, ...times };
  }

  watch(connection: Watched): void {
    const now = this.#clock();
    const { bytesRead } = connection;
    this.#watched.set(connection, {
      bytesRead,
      aliveAt: now,
      pingedAt: now - this.#limits.ping,
      waiting: false,
      isSuspect: false,
      samples: [],
    });
    if (this.#timer !== undefined) return;
    this.#lastScan = now;
    this.#timer = setInterval(
      bounded('look/liveness', () => this.look()),
      this.#limits.look,
    );
  }

  unwatch(connection: Watched): void {
    this.#watched.delete(connection);
    if (this.#watched.size === 0) this[Symbol.dispose]();
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** Scans all connections once; called by the timer. */
  look(): void {
    const now = this.#clock();
    const stoodStill = Math.max(0, now - this.#lastScan - 2 * this.#limits.look);
    this.#lastScan = now;
    for (const [connection, pulse] of this.#watched) {
      pulse.aliveAt += stoodStill;
      guard(
        'session/liveness',
        connection,
        () => this.#lookAt(connection, pulse, now),
        () => this.#giveUp(connection, pulse, now),
      );
    }
  }

  #lookAt(connection: Watched, pulse: Pulse, now: number): void {
    if (connection.bytesRead !== pulse.bytesRead) {
      pulse.bytesRead = connection.bytesRead;
      pulse.aliveAt = now;
    }
    // Without a pending ping the peer had no reason to send, so silence has no meaning.
    const silence = pulse.waiting ? now - pulse.aliveAt : 0;
    const found = judgeSilence(silence, roundTripOf(pulse.samples), this.#limits);
    if (found === 'dead') {
      this.#giveUp(connection, pulse, now);
      return;
    }
    // Bytes from the peer do not prove that it receives ours: its TCP and ours back off independently. An answer proves both.
    const isSuspect = found === 'suspect' || (pulse.isSuspect && pulse.waiting);
    if (!pulse.waiting && now - pulse.pingedAt >= this.#limits.ping) this.#ping(connection, pulse, now);
    if (isSuspect === pulse.isSuspect) return;
    pulse.isSuspect = isSuspect;
    if (isSuspect) connection.suspect(Math.round(silence));
    else connection.recover();
  }

  #giveUp(connection: Watched, pulse: Pulse, now: number): void {
    this.#watched.delete(connection);
    connection.giveUp(Math.round(now - pulse.aliveAt));
  }

  #ping(connection: Watched, pulse: Pulse, now: number): void {
    pulse.waiting = true;
    pulse.pingedAt = now;
    // Silence counts from now at the earliest.
    pulse.aliveAt = Math.max(pulse.aliveAt, now - this.#limits.look);
    const ping = async (): Promise<void> => {
      try {
        pulse.samples = addRoundTrip(pulse.samples, await connection.ping(NO_DEADLINE));
        pulse.aliveAt = this.#clock();
      } catch {
        // The session has ended.
      }
      pulse.waiting = false;
    };
    detached('session/ping', ping, () => {
      pulse.waiting = false;
    });
  }
}

interface Pulse {
  bytesRead: number;
  aliveAt: number;
  pingedAt: number;
  waiting: boolean;
  isSuspect: boolean;
  samples: readonly number[];
}
