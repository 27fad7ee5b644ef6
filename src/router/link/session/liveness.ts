import { performance } from 'node:perf_hooks';
import { bounded, detached, guard } from '../../../telemetry/boundary.ts';

/** What is watched: a connection that answers pings as long as its peer lives. */
export interface Watched {
  /** Rises with everything that arrives. */
  readonly bytesRead: number;
  /** Milliseconds; rejects where no answer comes in time. */
  ping(deadline: number): Promise<number>;
  /** The peer has been silent for too long. */
  silent(milliseconds: number): void;
}

export interface LivenessLimits {
  /** How often all connections are looked at. */
  readonly look: number;
  /** Since the last ping was answered until the next is sent. */
  readonly ping: number;
  /** A peer of whom nothing arrived for so long, though it was pinged, is given up. */
  readonly silence: number;
}

/** Together less than 3 s at the worst moment, when a peer dies just after it answered: ping + silence + two looks. */
const LIMITS: LivenessLimits = { look: 100, ping: 500, silence: 2_100 };

/**
 * Finds peers that fell silent: within 3 s, also where no packet says so. Anything that arrives counts as life, so that a
 * ping that waits behind bulk data is no death. One timer serves all connections. Time in which this process itself stood
 * still is not held against its peers.
 */
export class Liveness implements Disposable {
  readonly #limits: LivenessLimits;
  readonly #clock: () => number;
  readonly #watched = new Map<Watched, Pulse>();
  #timer: NodeJS.Timeout | undefined;
  #lastLook: number;

  constructor(limits: Partial<LivenessLimits> = {}, clock: () => number = () => performance.now()) {
    this.#limits = { ...LIMITS, ...limits };
    this.#clock = clock;
    this.#lastLook = clock();
  }

  watch(connection: Watched): void {
    const now = this.#clock();
    this.#watched.set(connection, { bytesRead: connection.bytesRead, aliveAt: now, pingedAt: now - this.#limits.ping, waiting: false });
    if (this.#timer !== undefined) return;
    this.#lastLook = now;
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
    const stoodStill = Math.max(0, now - this.#lastLook - 2 * this.#limits.look);
    this.#lastLook = now;
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
    if (pulse.waiting && now - pulse.aliveAt >= this.#limits.silence) this.#giveUp(connection, pulse, now);
    else if (!pulse.waiting && now - pulse.pingedAt >= this.#limits.ping) this.#ping(connection, pulse, now);
  }

  #giveUp(connection: Watched, pulse: Pulse, now: number): void {
    this.#watched.delete(connection);
    connection.silent(Math.round(now - pulse.aliveAt));
  }

  #ping(connection: Watched, pulse: Pulse, now: number): void {
    pulse.waiting = true;
    pulse.pingedAt = now;
    // Silence counts from here at the earliest: before, nobody was asked.
    pulse.aliveAt = Math.max(pulse.aliveAt, now - this.#limits.look);
    const ping = async (): Promise<void> => {
      try {
        await connection.ping(LONGEST_PING);
        pulse.aliveAt = this.#clock();
      } catch {
        // Whether the peer is dead is decided in `look`.
      }
      pulse.waiting = false;
    };
    detached('session/ping', ping, () => {
      pulse.waiting = false;
    });
  }
}

/** Far beyond `silence`: whether the peer is dead is decided here, not by the session. */
const LONGEST_PING = 30_000;

interface Pulse {
  bytesRead: number;
  aliveAt: number;
  pingedAt: number;
  waiting: boolean;
}
