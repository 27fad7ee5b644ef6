import { performance } from 'node:perf_hooks';

import { backoffDelay } from '../../work/backoff.ts';
import { pause } from '../../work/pause.ts';
import type { Backoff } from '../../work/backoff.ts';
import type { ListWatch, Page, Selection, WatchEvent } from '../contract.ts';
import { ApiError, askedToWait, isClosed, isExpired, TransportError } from '../errors.ts';
import type { KubeObject } from '../objects.ts';
import type { Resource } from '../resource.ts';

/**
 * Watches all selected objects through every failure: an interrupted watch resumes from the last known version, and an expired
 * version causes a relist. The sink sees complete lists and the changes between them, never a gap.
 *
 *            ┌─ restart ─┐                         ┌──── cut, stalled, ended ────┐
 *            ▼           │                         ▼                             │
 *     streaming (watch-list: objects, then a bookmark) ── ready ──▶ watching (from a resourceVersion)
 *            │ not offered                         ▲                             │
 *            ▼                                     │ ready                       │ expired (410)
 *     listing (page after page) ───────────────────┘             restart ◀───────┘
 */
export type WatcherState =
  | { readonly phase: 'streaming' }
  | { readonly phase: 'listing'; readonly continue: string | undefined }
  | { readonly phase: 'watching'; readonly resourceVersion: string };

/** How complete lists are read: streamed if the server supports it, which needs less memory on both sides, else in pages. */
export type Strategy = 'watch-list' | 'pages';

/** Receives the events of the watcher. */
export interface WatcherSink<T extends KubeObject> {
  /** A new list begins; objects of an incomplete one are discarded. */
  restart(): void;
  put(object: T): void;
  remove(object: T): void;
  /** The list is complete as of this resourceVersion. */
  ready(resourceVersion: string): void;
}

export type Effect<T extends KubeObject> =
  | { readonly kind: 'restart' }
  | { readonly kind: 'ready'; readonly resourceVersion: string }
  | { readonly kind: 'put' | 'remove'; readonly object: T };

/** Effects are applied before the state changes: if the sink throws, the state stays the same. */
export interface Transition<T extends KubeObject> {
  readonly next: WatcherState;
  readonly effects: readonly Effect<T>[];
}

export interface WatcherOptions<T extends KubeObject> {
  readonly selection: Selection;
  readonly sink: WatcherSink<T>;
  readonly signal: AbortSignal;
  readonly onProblem: (kind: 'resume' | 'relist', error: unknown, delay: number) => void;
  readonly backoff?: Backoff;
  /** Random number in [0, 1). */
  readonly random?: () => number;
}

/** The first retry is fast: the API server also ends watches that it considers slow, for example at a busy moment. */
const BACKOFF: Backoff = { first: 50, max: 10_000 };
/** Milliseconds after which a watch counts as successful, so that the next failure counts as the first one. */
const GOOD_WATCH = 10_000;
/**
 * Maximum time of streaming in milliseconds. A server that does not know watch-list ignores the parameter and never sends the
 * closing bookmark.
 */
const STREAMING_TIMEOUT = 60_000;
const LONGEST_PAUSE = 60_000;

export function begin(strategy: Strategy): WatcherState {
  return strategy === 'watch-list' ? { phase: 'streaming' } : { phase: 'listing', continue: undefined };
}

/** The transition after the end of an attempt: an error, or undefined if the server ended the watch normally. */
export function afterEnd(
  state: WatcherState,
  strategy: Strategy,
  error: unknown,
): { readonly next: WatcherState; readonly strategy: Strategy } {
  switch (state.phase) {
    case 'watching':
      return isExpired(error) ? { next: begin(strategy), strategy } : { next: state, strategy };
    case 'listing':
      return { next: isExpired(error) ? begin('pages') : state, strategy };
    case 'streaming': {
      const refused = error instanceof ApiError && (error.status === 400 || error.status === 422);
      const neverEnded = error === undefined || (error instanceof TransportError && error.code === 'kube-timeout');
      return refused || neverEnded ? { next: begin('pages'), strategy: 'pages' } : { next: state, strategy };
    }
  }
}

/** The transition after a watch event. */
export function afterEvent<T extends KubeObject>(state: WatcherState, event: WatchEvent<T>): Transition<T> {
  if (event.type === 'BOOKMARK') {
    const { resourceVersion } = event;
    if (state.phase === 'watching') return { next: { phase: 'watching', resourceVersion }, effects: [] };
    return event.initialEventsEnd
      ? { next: { phase: 'watching', resourceVersion }, effects: [{ kind: 'ready', resourceVersion }] }
      : { next: state, effects: [] };
  }
  const { object } = event;
  const effects = [{ kind: event.type === 'DELETED' ? 'remove' : 'put', object } as const];
  if (state.phase !== 'watching') return { next: state, effects };
  return { next: { phase: 'watching', resourceVersion: object.metadata.resourceVersion ?? state.resourceVersion }, effects };
}

/** The transition after a list page. */
export function afterPage<T extends KubeObject>(isFirst: boolean, page: Page<T>): Transition<T> {
  const objects = page.items.map((object) => ({ kind: 'put', object }) as const);
  const effects: readonly Effect<T>[] = isFirst ? [{ kind: 'restart' }, ...objects] : objects;
  if (page.continue !== undefined) return { next: { phase: 'listing', continue: page.continue }, effects };
  const { resourceVersion } = page;
  return { next: { phase: 'watching', resourceVersion }, effects: [...effects, { kind: 'ready', resourceVersion }] };
}

/** Runs until the signal is aborted or the client is closed. Never rejects. */
export function runWatcher<T extends KubeObject>(source: ListWatch, of: Resource<T>, options: WatcherOptions<T>): Promise<void> {
  return new Watcher(source, of, options).run();
}

class Watcher<T extends KubeObject> {
  readonly #source: ListWatch;
  readonly #of: Resource<T>;
  readonly #options: WatcherOptions<T>;
  #strategy: Strategy = 'watch-list';
  #state: WatcherState = begin('watch-list');

  constructor(source: ListWatch, of: Resource<T>, options: WatcherOptions<T>) {
    this.#source = source;
    this.#of = of;
    this.#options = options;
  }

  async run(): Promise<void> {
    const { signal } = this.#options;
    let failures = 0;
    let expired = false;
    while (!signal.aborted) {
      const startedAt = performance.now();
      const paged = this.#state.phase === 'listing';
      const error = await (paged ? this.#page() : this.#watch()).then(
        () => undefined,
        (cause: unknown) => cause ?? new Error('rejected without a reason'),
      );
      if (signal.aborted || isClosed(error)) return;
      const lasted = performance.now() - startedAt >= GOOD_WATCH;
      if (!paged && lasted) failures = 0;
      // An expired version after other failures means that the server is back, so it relists at once.
      const wasExpired = expired;
      expired = isExpired(error);
      if (expired && !wasExpired) failures = 0;
      const expected = error === undefined && (paged || (lasted && this.#state.phase === 'watching'));
      if (!expected) await this.#recover(++failures, error).catch(() => undefined);
    }
  }

  async #recover(failures: number, error: unknown): Promise<void> {
    const { next, strategy } = afterEnd(this.#state, this.#strategy, error);
    this.#strategy = strategy;
    this.#advance({ next, effects: [] });
    const own = backoffDelay(this.#options.backoff ?? BACKOFF, failures, this.#random());
    const delay = Math.max(own, Math.min(askedToWait(error), LONGEST_PAUSE));
    this.#options.onProblem(next.phase === 'watching' ? 'resume' : 'relist', error ?? endedEarly(this.#of), delay);
    await pause(delay, this.#options.signal);
  }

  async #page(): Promise<void> {
    const { signal, selection } = this.#options;
    const token = this.#state.phase === 'listing' ? this.#state.continue : undefined;
    const page = await this.#source.page(this.#of, selection, { signal, ...(token === undefined ? {} : { continue: token }) });
    this.#advance(afterPage(token === undefined, page));
  }

  async #watch(): Promise<void> {
    const { signal, selection } = this.#options;
    const state = this.#state;
    if (state.phase === 'streaming') this.#advance({ next: state, effects: [{ kind: 'restart' }] });
    const attempt = new AbortController();
    const onAbort = (): void => attempt.abort(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    // Only a streamed list must finish in time; a watch may be silent for as long as it lasts.
    const late = state.phase === 'streaming' ? setTimeout(() => attempt.abort(neverListed(this.#of)), STREAMING_TIMEOUT) : undefined;
    try {
      await this.#source.watch(this.#of, {
        ...selection,
        from: state.phase === 'watching' ? { after: state.resourceVersion } : { initial: true },
        // Jitter, so that the watches of many informers do not all end together.
        timeoutSeconds: Math.round(300 + 300 * this.#random()),
        signal: attempt.signal,
        onEvent: (event) => {
          this.#advance(afterEvent(this.#state, event));
          if (this.#state.phase === 'watching') clearTimeout(late);
        },
      });
    } finally {
      clearTimeout(late);
      signal.removeEventListener('abort', onAbort);
    }
  }

  #advance({ next, effects }: Transition<T>): void {
    const { sink } = this.#options;
    for (const effect of effects) {
      if (effect.kind === 'restart') sink.restart();
      else if (effect.kind === 'ready') sink.ready(effect.resourceVersion);
      else sink[effect.kind](effect.object);
    }
    this.#state = next;
  }

  #random(): number {
    return (this.#options.random ?? Math.random)();
  }
}

function endedEarly(of: Resource): TransportError {
  const message = `watch ${of.plural}: the server ended it early, as it does with slow watches.`;
  return new TransportError('kube-cut', message, { sent: true, answered: true });
}

function neverListed(of: Resource): TransportError {
  const message = `watch ${of.plural}: the initial objects were incomplete after ${STREAMING_TIMEOUT} ms; continuing with pages.`;
  return new TransportError('kube-timeout', message, { sent: true, answered: true });
}
