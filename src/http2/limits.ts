import type { Rate } from '../limits/rate-limiter.ts';
import { limitTable } from '../limits/table.ts';

/** Limits on what a peer can make this end hold or do. All sizes in bytes. */
export interface SessionLimits {
  /** Methods that reach `onRequest`; other methods get a 405. */
  readonly methods: readonly string[];
  /** Number of streams that the peer may have open. */
  readonly concurrentStreams: number;
  /** Size of the fields of deferred requests. A request beyond the fair share of its routing key gets a 503. */
  readonly requestsWaiting: number;
  /** Size of the fields of a request or response, counted as in RFC 9113 section 10.5.1. */
  readonly headerListBytes: number;
  readonly frameBytes: number;
  /** Initial receive window of a stream. */
  readonly streamWindow: number;
  /** Largest receive window of a stream, reached if bandwidth and delay need it. */
  readonly streamWindowMost: number;
  /** Growth of all stream windows together. */
  readonly growth: number;
  /** Bytes received and not consumed yet, over all streams. */
  readonly unconsumed: number;
  /** Replies queued for a peer that does not read. */
  readonly answersQueued: number;
  /** Frames other than DATA queued for a peer that does not read. A peer beyond it is disconnected when it opens a stream or sends DATA. */
  readonly controlQueued: number;
  /** Milliseconds until the peer's SETTINGS and until its acknowledgement of ours. */
  readonly settingsDeadline: number;
  /** Milliseconds until the peer must end a request that has its complete response. */
  readonly answeredDeadline: number;
  /** Burst and rate per second of frames that cost work without a purpose: SETTINGS, PING, empty DATA, and others. */
  readonly idleFrames: Rate;
  /** Burst and rate per second of streams reset by either end before their response. A stream that ends in order gives one back. */
  readonly earlyResets: Rate;
}

export const DEFAULT_LIMITS: SessionLimits = {
  methods: ['CONNECT', 'POST'],
  concurrentStreams: limitTable.concurrentStreams.value,
  requestsWaiting: limitTable.requestsWaiting.value,
  headerListBytes: limitTable.headerListBytes.value,
  frameBytes: 65_535,
  streamWindow: 65_535,
  streamWindowMost: 8 << 20,
  growth: 16 << 20,
  unconsumed: limitTable.unconsumedBytes.value,
  answersQueued: limitTable.answersQueued.value,
  controlQueued: limitTable.controlQueued.value,
  settingsDeadline: 30_000,
  answeredDeadline: 30_000,
  idleFrames: limitTable.idleFrames.value,
  earlyResets: limitTable.earlyResets.value,
};
