import { performance } from 'node:perf_hooks';

import { backoffDelay } from '../../work/backoff.ts';
import { pause } from '../../work/pause.ts';
import type { Backoff } from '../../work/backoff.ts';
import type { ListWatch, Page, Selection, WatchEvent } from '../contract.ts';
import { ApiError, askedToWait, isClosed, isExpired, TransportError } from '../errors.ts';
import type { KubeObject } from '../objects.ts';
import type { Resource } from '../resource.ts';

/**
 * Follows all objects of a selection through every failure: a cut watch goes on from the last point known, an expired
 * point begins anew, and whoever is told sees whole lists and the changes between them, never a gap.
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

/** How whole lists are read: streamed where the server offers it, which costs it and us less memory, else in pages. */
export type Strategy = 'watch-list' | 'pages';

/** Told what the watcher sees. */
export interface WatcherSink<T extends KubeObject> {
  /** A whole list begins; what an unfinished one brought is void. */
  restart(): void;
  put(object: T): void;
  remove(object: T): void;
  /** The list is whole, as of this resourceVersion. */
  ready(resourceVersion: string): void;
}

export type Effect<T extends KubeObject> =
  | { readonly kind: 'restart' }
  | { readonly kind: 'ready'; readonly resourceVersion: string }
  | { readonly kind: 'put' | 'remove'; readonly object: T };

/** The sink is told of the effects before the state changes: where it throws, the watcher stays where it was. */
export interface Transition<T extends KubeObject> {
  readonly next: WatcherState;
  readonly effects: readonly Effect<T>[];
}

export interface WatcherOptions<T extends KubeObject> {
  readonly selection: Selection;
  readonly sink: WatcherSink<T>;
  readonly signal: AbortSignal;
  readonly onTrouble: (kind: 'resume' | 'relist', error: unknown, delay: number) => void;
  readonly backoff?: Backoff;
  /** In [0, 1). */
  readonly random?: () => number;
}

/** The first retry is quick: the API server ends a watch that it finds slow, and a busy moment is reason enough. */
const BACKOFF: Backoff = { first: 50, max: 10_000 };
/** A watch that lasted this long was a good one: the next failure counts as the first again. */
const GOOD_WATCH = 10_000;
/** A server too old to know watch-list ignores the parameter, and its closing bookmark never comes. */
const STREAMING_TIMEOUT = 60_000;
const LONGEST_PAUSE = 60_000;

export function begin(strategy: Strategy): WatcherState {
  return strategy === 'watch-list' ? { phase: 'streaming' } : { phase: 'listing', continue: undefined };
}

/** What an attempt's end (an error, or undefined for a watch that the server ended in good order) leads to. */
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

/** What an event of a watch leads to. */
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

/** What a page of a list leads to. */
export function afterPage<T extends KubeObject>(isFirst: boolean, page: Page<T>): Transition<T> {
  const objects = page.items.map((object) => ({ kind: 'put', object }) as const);
  const effects: readonly Effect<T>[] = isFirst ? [{ kind: 'restart' }, ...objects] : objects;
  if (page.continue !== undefined) return { next: { phase: 'listing', continue: page.continue }, effects };
  const { resourceVersion } = page;
  return { next: { phase: 'watching', resourceVersion }, effects: [...effects, { kind: 'ready', resourceVersion }] };
}

/** Runs until the signal is aborted or the client is closed; never rejects. */
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
      // An expired point, after failures of another kind, means that the server is back: what it holds is wanted at once.
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
    this.#options.onTrouble(next.phase === 'watching' ? 'resume' : 'relist', error ?? endedEarly(this.#of), delay);
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
    // Only a streamed list has an end to wait for: a watch that goes on may stay quiet for as long as it lasts.
    const late = state.phase === 'streaming' ? setTimeout(() => attempt.abort(neverListed(this.#of)), STREAMING_TIMEOUT) : undefined;
    try {
      await this.#source.watch(this.#of, {
        ...selection,
        from: state.phase === 'watching' ? { after: state.resourceVersion } : { initial: true },
        // Spread, so that the watches of many informers do not all end together.
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
  const message = `watch ${of.plural}: the server ended it early, as it does with a watch that it finds slow.`;
  return new TransportError('kube-cut', message, { sent: true, answered: true });
}

function neverListed(of: Resource): TransportError {
  const message = `watch ${of.plural}: the initial objects were not whole after ${STREAMING_TIMEOUT} ms; going on with pages.`;
  return new TransportError('kube-timeout', message, { sent: true, answered: true });
}
