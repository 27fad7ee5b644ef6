import type { Buffer } from 'node:buffer';

import type { RateLimiter } from '../../limits/rate-limiter.ts';
import type { SessionEvents, StreamReset } from './contract.ts';
import type { SessionLimits } from './limits.ts';
import type { Pings } from './pings.ts';
import type { SessionStream, StreamOwner } from './stream.ts';

/** What the parts of a session share. */
export interface SessionCore extends StreamOwner {
  readonly role: 'client' | 'server';
  readonly limits: SessionLimits;
  readonly events: SessionEvents;
  readonly streams: Map<number, SessionStream>;
  readonly pings: Pings;
  readonly idleFrames: RateLimiter;
  readonly earlyResets: RateLimiter;
  /** New streams' send window: the peer's SETTINGS_INITIAL_WINDOW_SIZE. */
  peerInitialWindow: number;
  peerConcurrentStreams: number;
  now(): number;
  /** Sends a frame that the peer provoked; a peer that makes us queue too many of them is cut off. */
  answer(frame: Buffer): void;
  /** The peer's first SETTINGS are here. */
  ready(): void;
  settingsAcknowledged(): void;
  goaway(lastStreamId: number, reason: StreamReset): void;
  /** Forgets the stream, and tells its handler in its turn. */
  peerReset(stream: SessionStream, reason: StreamReset): void;
  /**
   * The request begins when it is the turn of its routing key.
   * @param size octets of its fields
   * @returns false where too many of its key wait
   */
  beginInTurn(stream: SessionStream, size: number, begin: () => void): boolean;
  /** Of the work that is to be little in a turn of the event loop, so many pieces are done: a request is one. */
  worked(pieces: number): void;
  /** Streams that waited may open now. */
  openWaiting(): void;
  /** The stream that this end would open next: it and those above are idle. */
  readonly nextLocalStream: number;
  /** The peer's stream is to be taken; false while draining. */
  readonly takesStreams: boolean;
}
