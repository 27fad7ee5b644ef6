import { randomBytes } from 'node:crypto';
import { performance } from 'node:perf_hooks';

import { backoffDelay, type Backoff } from '../../work/backoff.ts';
import { pause } from '../../work/pause.ts';
import { KeyedRateLimiter, RateLimiter } from '../../limits/rate-limiter.ts';
import type { EventRecorder, KubeClient } from '../contract.ts';
import { ApiError, isAlreadyExists, isNotFound } from '../errors.ts';
import { eventKey, eventObject, events, objectKey, seriesPatch, shownNote } from './event-record.ts';
import type { EventInput, Reporter } from './event-record.ts';
import { limitTable } from '../../limits/table.ts';

export interface EventRecorderOptions extends Reporter {
  readonly client: Pick<KubeClient, 'create' | 'patch'>;
  /** Called with the result of each event: an API write, or a drop (too many at once, or for one object). */
  readonly onResult?: (outcome: 'created' | 'counted' | 'failed' | 'dropped', error?: unknown) => void;
  /** Delay in milliseconds before a count is written; for tests. */
  readonly seriesDelay?: number;
}

export function createEventRecorder(options: EventRecorderOptions): EventRecorder {
  return new Recorder(options);
}

/** Milliseconds after which the same event is a new one (as in client-go). */
const SERIES_ENDS = 6 * 60_000;
/** Milliseconds for which repetitions are counted before the count is written. */
const SERIES_DELAY = 10_000;
const MOST_KNOWN = 1_000;
const MOST_QUEUED = limitTable.eventsQueued.value;
/** Rate limit of all events: a burst, then a number per second. Events are for users and must not burden the API server. */
const ALL = limitTable.events.value;
/** Rate limit of different events of one object: a flapping object must not fill etcd. */
const EACH = limitTable.eventsOfObject.value;
const RETRY: Backoff = { first: 1_000, max: 2_000 };
const DISPOSE_DEADLINE = 2_000;

/** One event object, created or to be created. */
interface Known {
  readonly input: EventInput;
  readonly key: string;
  name: string | undefined;
  count: number;
  /** Count that was last written to the API server. */
  written: number;
  last: Date;
  lastAt: number;
  /** Whether it is queued or being written. */
  busy: boolean;
  timer: NodeJS.Timeout | undefined;
}

/**
 * Writes events in the background, one at a time. An event repeated within six minutes increases the count of the existing
 * object. Queue, memory and rate are bounded; events beyond are dropped and reported.
 */
class Recorder implements EventRecorder {
  readonly #options: EventRecorderOptions;
  readonly #known = new Map<string, Known>();
  readonly #each = new KeyedRateLimiter(EACH, MOST_KNOWN);
  readonly #all = new RateLimiter(ALL);
  #queue: Known[] = [];
  #worker: Promise<void> | undefined;
  readonly #stop = new AbortController();
  #closing = false;

  constructor(options: EventRecorderOptions) {
    this.#options = options;
  }

  record(event: EventInput): void {
    if (this.#closing) return;
    const now = performance.now();
    // Truncated because up to a thousand are kept, and a note may quote untrusted text of any length.
    const input = { ...event, note: shownNote(event.note) };
    const key = eventKey(input);
    const known = this.#known.get(key);
    if (known !== undefined && now - known.lastAt < SERIES_ENDS) {
      known.count++;
      known.last = new Date();
      known.lastAt = now;
      this.#known.delete(key);
      this.#known.set(key, known);
      if (!known.busy && known.timer === undefined) this.#countLater(known);
      return;
    }
    if (this.#queue.length >= MOST_QUEUED || !this.#each.take(objectKey(input.regarding), now)) {
      this.#options.onResult?.('dropped');
      return;
    }
    const nothingWritten = { name: undefined, written: 0, busy: false, timer: undefined };
    const fresh: Known = { input, key, count: 1, last: new Date(), lastAt: now, ...nothingWritten };
    this.#known.set(key, fresh);
    this.#evictOldest();
    this.#enqueue(fresh);
  }

  /** Writes pending events, for two seconds at most. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#closing) return;
    this.#closing = true;
    for (const known of this.#known.values()) {
      if (known.timer === undefined) continue;
      clearTimeout(known.timer);
      this.#enqueue(known);
    }
    const deadline = setTimeout(() => this.#stop.abort(new Error('The event recorder is closed.')), DISPOSE_DEADLINE);
    await this.#worker;
    clearTimeout(deadline);
  }

  #countLater(known: Known): void {
    known.timer = setTimeout(() => this.#enqueue(known), this.#options.seriesDelay ?? SERIES_DELAY);
    known.timer.unref();
  }

  #enqueue(known: Known): void {
    known.timer = undefined;
    known.busy = true;
    this.#queue.push(known);
    this.#worker ??= this.#work();
  }

  async #work(): Promise<void> {
    for (let known = this.#queue.shift(); known !== undefined && !this.#stop.signal.aborted; known = this.#queue.shift()) {
      const wait = this.#closing ? 0 : this.#all.reserve(performance.now());
      if (wait > 0) await pause(wait, this.#stop.signal).catch(() => undefined);
      const written = await this.#write(known);
      known.busy = false;
      if (!written || known.count === known.written) continue;
      if (this.#closing) this.#enqueue(known);
      else this.#countLater(known);
    }
    // Reset here instead of in a later microtask: events queued from now on start another worker.
    this.#worker = undefined;
  }

  async #write(known: Known): Promise<boolean> {
    const { onResult } = this.#options;
    for (let attempt = 1; ; attempt++) {
      try {
        const outcome = await (known.name === undefined ? this.#create(known) : this.#count(known, known.name));
        onResult?.(outcome);
        return true;
      } catch (error) {
        const temporary = !(error instanceof ApiError) || error.status >= 500 || error.status === 429;
        if (attempt === 3 || !temporary || this.#stop.signal.aborted) {
          this.#known.delete(known.key);
          onResult?.('failed', error);
          return false;
        }
        await pause(backoffDelay(RETRY, attempt, Math.random()), this.#stop.signal).catch(() => undefined);
      }
    }
  }

  async #create(known: Known): Promise<'created'> {
    const suffix = `${Date.now().toString(16)}${randomBytes(3).toString('hex')}`;
    const object = eventObject(known.input, this.#options, suffix, known.last);
    const { name } = object.metadata;
    try {
      await this.#options.client.create(events, object, { signal: this.#stop.signal });
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
    }
    known.name = name;
    known.written = 1;
    return 'created';
  }

  async #count(known: Known, name: string): Promise<'counted' | 'created'> {
    const { count } = known;
    const namespace = known.input.regarding.namespace ?? 'default';
    try {
      const patch = seriesPatch(count, known.last);
      await this.#options.client.patch(events, { namespace, name }, patch, { type: 'merge', signal: this.#stop.signal });
    } catch (error) {
      // Events are deleted after an hour, so the object may not exist.
      if (!isNotFound(error)) throw error;
      known.name = undefined;
      known.count = 1;
      return this.#create(known);
    }
    known.written = count;
    return 'counted';
  }

  #evictOldest(): void {
    if (this.#known.size <= MOST_KNOWN) return;
    const [oldest] = this.#known.values();
    if (oldest === undefined) return;
    clearTimeout(oldest.timer);
    this.#known.delete(oldest.key);
  }
}
