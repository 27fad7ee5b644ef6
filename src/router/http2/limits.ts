import type { Rate } from '../../limits/rate-limiter.ts';
import { limitTable } from '../../limits/table.ts';

/** Bounds on what a peer can make this end hold or do. All sizes in bytes. */
export interface SessionLimits {
  /** Methods that reach `onRequest`; others are answered 405. */
  readonly methods: readonly string[];
  /** Streams that the peer may have open at once. */
  readonly concurrentStreams: number;
  /** Of the fields of requests that wait for their turn: those beyond the share of their routing key are answered 503. */
  readonly requestsWaiting: number;
  /** Of a request's or response's fields, as RFC 9113 section 10.5.1 counts them. */
  readonly headerListBytes: number;
  readonly frameBytes: number;
  /** A new stream's receive window. */
  readonly streamWindow: number;
  /** What a stream's receive window may grow to, where bandwidth and delay ask for it. */
  readonly streamWindowMost: number;
  /** What all streams' windows together may have grown by. */
  readonly growth: number;
  /** Bytes received and not yet consumed, of all streams. */
  readonly unconsumed: number;
  /** Answers that wait for a peer that does not read. */
  readonly answersQueued: number;
  /** All frames but DATA that wait for a peer that does not read; beyond that it gets no new streams, but is cut off. */
  readonly controlQueued: number;
  /** Until the peer's SETTINGS, and until its acknowledgement of ours, milliseconds. */
  readonly settingsDeadline: number;
  /** Until the peer ends a request that was answered whole before, milliseconds. */
  readonly answeredDeadline: number;
  /** Frames that ask for work and bring none (SETTINGS, PING, empty DATA, …): at once, and for each second. */
  readonly idleFrames: Rate;
  /** Streams that the peer resets, or makes us reset, before they were answered, beyond those that ended well: at once, and for each second. */
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
