import { performance } from 'node:perf_hooks';
import { bounded, detached } from '../telemetry/boundary.ts';
import type { Logger } from '../telemetry/log.ts';
import { backoffDelay, type Backoff } from './backoff.ts';
import { Fifo } from './fifo.ts';
import { logReconcile, type ReconcileEnd } from './reconcile-log.ts';
import { TerminalError, type Outcome, type Reconcile } from './reconcile.ts';

export interface WorkQueueOptions {
  /** Name in messages and metrics. */
  readonly name: string;
  readonly reconcile: Reconcile;
  /** Receives the start and the result of each reconcile, at debug. */
  readonly log: Logger;
  /** Maximum number of keys that run concurrently. A key never runs twice at once. */
  readonly concurrency: number;
  /** Group of a key, such as its namespace. Groups are served round-robin, so many keys of one delay no other. */
  readonly groupOf?: (key: string) => string;
  /** Maximum number of keys of one group that run concurrently, so that one group does not keep a shared server busy. */
  readonly mostOfGroup?: number;
  /** Backoff of a key whose reconcile rejects, or a function that returns it for an error. */
  readonly backoff?: Backoff | ((error: unknown) => Backoff);
  /** Random number in [0, 1) for the jitter of the backoff. */
  readonly random?: () => number;
  /** Milliseconds that an error asks to wait; used if longer than the backoff. */
  readonly askedToWait?: (error: unknown) => number;
  /** Called after every reconcile. */
  readonly onResult?: (key: string, outcome: Outcome, seconds: number, error?: unknown) => void;
}

const BACKOFF: Backoff = { first: 200, max: 120_000 };
const DISPOSE_DEADLINE = 5_000;
/** Milliseconds in which a reconcile may react to its aborted signal. */
const ABORT_GRACE = 1_000;

/**
 * Deduplicates and delays keys, and runs a reconcile for each. A key is, independently, waiting, running, and delayed: each at
 * most once, but delayed once by its last result and once by `addAfter`. A key added while it runs is marked, and waits again
 * after that run. Runs start in the event loop's check phase, never within `add`. So changes that arrive together cause one run,
 * and a long queue of fast keys does not block sockets and timers.
 */
export class WorkQueue implements AsyncDisposable {
  readonly #options: WorkQueueOptions;
  readonly #waiting = new Set<string>();
  /** Waiting keys by group. No list is empty. */
  readonly #order = new Map<string, Fifo<string>>();
  /** Each group with waiting keys that may start one, once. */
  readonly #groups = new Fifo<string>();
  readonly #running = new Map<string, { again: boolean; readonly group: string; readonly ended: Promise<void> }>();
  /** Number of running keys by group; absent if none. */
  readonly #runningOf = new Map<string, number>();
  /** Keys delayed by `addAfter`. */
  readonly #later = new Map<string, Delayed>();
  /** Keys delayed by the result of their last run; cancelled when the key runs again. */
  readonly #retries = new Map<string, Delayed>();
  readonly #failures = new Map<string, number>();
  readonly #abort = new AbortController();
  #pump: NodeJS.Immediate | undefined;
  #stopped = false;

  constructor(options: WorkQueueOptions) {
    this.#options = options;
  }

  /** Number of keys that wait only because of `concurrency`; delayed ones do not count. */
  get depth(): number {
    return this.#waiting.size;
  }

  get running(): number {
    return this.#running.size;
  }

  get delayed(): number {
    return this.#later.size + this.#retries.size;
  }

  /** Runs the key as soon as `concurrency` allows. No-op if it waits already. */
  add(key: string): void {
    if (this.#stopped || this.#waiting.has(key)) return;
    const run = this.#running.get(key);
    if (run !== undefined) {
      run.again = true;
      return;
    }
    this.#waiting.add(key);
    this.#enqueue(key);
    this.#schedule();
  }

  addAfter(key: string, milliseconds: number): void {
    this.#delay(this.#later, key, milliseconds);
  }

  /** Accepts no more keys, waits for running reconciles up to the deadline, then aborts their signal. */
  async stop(deadlineMilliseconds: number): Promise<void> {
    this.#stopped = true;
    clearImmediate(this.#pump);
    this.#waiting.clear();
    this.#order.clear();
    this.#groups.clear();
    for (const delayed of [this.#later, this.#retries]) {
      for (const { timer } of delayed.values()) clearTimeout(timer);
      delayed.clear();
    }
    if (await this.#allEnded(deadlineMilliseconds)) return;
    this.#abort.abort(new Error(`The work queue ${this.#options.name} is stopping, and its deadline has passed.`));
    await this.#allEnded(ABORT_GRACE);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop(DISPOSE_DEADLINE);
  }

  async #allEnded(milliseconds: number): Promise<boolean> {
    if (this.#running.size === 0) return true;
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const timer = setTimeout(resolve, milliseconds, false);
    const allEnded = async (): Promise<void> => {
      await Promise.all([...this.#running.values()].map(({ ended }) => ended));
      resolve(true);
    };
    detached('pass/queue-ended', allEnded, () => resolve(true));
    try {
      return await promise;
    } finally {
      clearTimeout(timer);
    }
  }

  #schedule(): void {
    if (this.#stopped || this.#running.size >= this.#options.concurrency) return;
    const pump = (): void => {
      this.#pump = undefined;
      while (this.#running.size < this.#options.concurrency) {
        const group = this.#groups.shift();
        if (group === undefined) return;
        this.#startOf(group);
      }
    };
    this.#pump ??= setImmediate(bounded('pass/queue-pump', pump, pump));
  }

  #enqueue(key: string): void {
    const group = this.#options.groupOf?.(key) ?? '';
    const keys = this.#order.get(group) ?? new Fifo();
    this.#order.set(group, keys);
    keys.push(key);
    if (keys.size === 1 && this.#mayStart(group)) this.#groups.push(group);
  }

  #mayStart(group: string): boolean {
    return (this.#runningOf.get(group) ?? 0) < (this.#options.mostOfGroup ?? Infinity);
  }

  #startOf(group: string): void {
    const keys = this.#order.get(group);
    const key = keys?.shift();
    if (keys === undefined || key === undefined) throw new RangeError('The queue holds no key.');
    this.#runningOf.set(group, (this.#runningOf.get(group) ?? 0) + 1);
    if (keys.size === 0) this.#order.delete(group);
    else if (this.#mayStart(group)) this.#groups.push(group);
    this.#waiting.delete(key);
    this.#start(key, group);
  }

  #ended(key: string): void {
    const group = this.#running.get(key)?.group;
    this.#running.delete(key);
    if (group === undefined) return;
    const couldStart = this.#mayStart(group);
    const left = (this.#runningOf.get(group) ?? 0) - 1;
    if (left > 0) this.#runningOf.set(group, left);
    else this.#runningOf.delete(group);
    if (!couldStart && this.#order.has(group)) this.#groups.push(group);
  }

  #start(key: string, group: string): void {
    this.#cancel(this.#retries, key);
    const { promise: ended, resolve } = Promise.withResolvers<void>();
    this.#running.set(key, { again: false, group, ended });
    const run = async (): Promise<void> => {
      await this.#run(key);
      resolve();
    };
    detached('pass/queue-run', run, () => {
      this.#ended(key);
      resolve();
      this.addAfter(key, BACKOFF.first);
      this.#schedule();
    });
  }

  async #run(key: string): Promise<void> {
    const { name, log, onResult } = this.#options;
    const startedAt = performance.now();
    const logEnd = logReconcile(log, name, key);
    const result = await this.#reconcile(key);
    logEnd?.(result);
    const again = this.#running.get(key)?.again === true;
    this.#ended(key);
    if (result.retryAfter !== undefined) this.#delay(this.#retries, key, result.retryAfter);
    if (again) this.add(key);
    this.#schedule();
    onResult?.(key, result.outcome, (performance.now() - startedAt) / 1_000, result.error);
  }

  async #reconcile(key: string): Promise<ReconcileEnd> {
    try {
      const retryAfter = (await this.#options.reconcile(key, this.#abort.signal))?.requeueAfter;
      this.#failures.delete(key);
      return { outcome: retryAfter === undefined ? 'success' : 'requeue', retryAfter };
    } catch (error) {
      const retryAfter = this.#afterError(key, error);
      return { outcome: retryAfter === undefined ? 'terminal' : 'error', retryAfter, error };
    }
  }

  #afterError(key: string, error: unknown): number | undefined {
    if (error instanceof TerminalError) {
      this.#failures.delete(key);
      return undefined;
    }
    const failures = (this.#failures.get(key) ?? 0) + 1;
    this.#failures.set(key, failures);
    const { backoff = BACKOFF, random = Math.random, askedToWait } = this.#options;
    const pauses = typeof backoff === 'function' ? backoff(error) : backoff;
    return Math.max(backoffDelay(pauses, failures, random()), askedToWait?.(error) ?? 0);
  }

  /** The earlier of two times wins. */
  #delay(delayed: Map<string, Delayed>, key: string, milliseconds: number): void {
    if (this.#stopped) return;
    const at = performance.now() + milliseconds;
    const before = delayed.get(key);
    if (before !== undefined && before.at <= at) return;
    clearTimeout(before?.timer);
    const add = (): void => {
      delayed.delete(key);
      this.add(key);
    };
    const timer = setTimeout(bounded('pass/queue-delayed', add, add), milliseconds);
    delayed.set(key, { at, timer });
  }

  #cancel(delayed: Map<string, Delayed>, key: string): void {
    clearTimeout(delayed.get(key)?.timer);
    delayed.delete(key);
  }
}

interface Delayed {
  /** Value of performance.now() at which the delay ends. */
  readonly at: number;
  readonly timer: NodeJS.Timeout;
}
