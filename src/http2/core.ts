import type { Buffer } from 'node:buffer';

import type { RateLimiter } from '../limits/rate-limiter.ts';
import type { SessionEvents, StreamReset } from './contract.ts';
import type { SessionLimits } from './limits.ts';
import type { Pings } from './pings.ts';
import type { SessionStream, StreamOwner } from './stream.ts';

/** Parts of a session that its other parts use. */
export interface SessionCore extends StreamOwner {
  readonly role: 'client' | 'server';
  readonly limits: SessionLimits;
  readonly events: SessionEvents;
  readonly streams: Map<number, SessionStream>;
  readonly pings: Pings;
  readonly idleFrames: RateLimiter;
  readonly earlyResets: RateLimiter;
  /** Send window of new streams: the peer's SETTINGS_INITIAL_WINDOW_SIZE. */
  peerInitialWindow: number;
  peerConcurrentStreams: number;
  now(): number;
  /** Sends a frame that the peer provoked. A peer that provokes too many queued ones is disconnected. */
  answer(frame: Buffer): void;
  /** Handles the peer's first SETTINGS. */
  ready(): void;
  settingsAcknowledged(): void;
  goaway(lastStreamId: number, reason: StreamReset): void;
  /** Removes the stream, and notifies its handler as deferred work. */
  peerReset(stream: SessionStream, reason: StreamReset): void;
  /**
   * Begins the request as deferred work, round-robin by routing key.
   * @param size octets of its fields
   * @returns false if too many requests of its key wait
   */
  beginInTurn(stream: SessionStream, size: number, begin: () => void): boolean;
  /** Counts work against the quota of the event-loop iteration. Beginning a request is one piece. */
  worked(pieces: number): void;
  /** Opens streams that waited, as far as the limits allow. */
  openWaiting(): void;
  /** Identifier of the stream that this end opens next. That stream and higher ones are idle. */
  readonly nextLocalStream: number;
  /** Whether new streams of the peer are accepted; false while draining. */
  readonly takesStreams: boolean;
}
