import { performance } from 'node:perf_hooks';
import { bounded, detached, guard } from '../../../telemetry/boundary.ts';
import { DEFAULT_LIVENESS } from '../../contract.ts';
import { addRoundTrip, judgeSilence, roundTripOf, type LivenessTimes } from './liveness-rule.ts';

/** A connection whose peer answers pings as long as it lives. */
export interface Watched {
  /** Rises with everything that arrives. */
  readonly bytesRead: number;
  /** Milliseconds; rejects if no answer comes in time. */
  ping(deadline: number): Promise<number>;
  /** Nothing has arrived for so many milliseconds: new requests should go another way. */
  suspect(milliseconds: number): void;
  /** The peer has answered again. */
  recover(): void;
  /** Nothing has arrived for so long that the connection has to end. */
  giveUp(milliseconds: number): void;
}

export interface LivenessLimits extends LivenessTimes {
  /** Milliseconds between two scans of all connections. */
  readonly look: number;
  /** Milliseconds between two pings, if the first was answered. */
  readonly ping: number;
}

/** A peer that dies just after it answered is suspect in less than 3 s: ping + suspectAfter + two scans. */
const LIMITS: LivenessLimits = { look: 100, ping: 500, ...DEFAULT_LIVENESS };
/** The longest that a timer of Node.js takes: whether the peer is dead is decided here, not by the ping. */
const NO_DEADLINE = 2 ** 31 - 1;

/**
 * Finds silent peers, also where no packet reports it. Anything that arrives counts as life: an answer may wait behind bulk data. One timer
 * serves all connections. Time in which this process itself stood still is not held against its peers.
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

  /** Other times from now on. */
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

  /** One round; the timer's work. */
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
    // Without a ping under way nobody was asked: then silence means nothing.
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
    // Silence counts from here at the earliest.
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
