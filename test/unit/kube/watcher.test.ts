import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { ListWatch, Page, WatchEvent, WatchOptions } from '../../../src/kube/contract.ts';
import { ApiError, TransportError } from '../../../src/kube/errors.ts';
import type { KubeObject } from '../../../src/kube/objects.ts';
import { services } from '../../../src/kube/resource.ts';
import { afterEnd, afterEvent, afterPage, runWatcher, type WatcherState } from '../../../src/kube/watch/watcher.ts';

const refused = (): Error => new TransportError('kube-unreachable', 'refused', { sent: false });
const gone = (): Error => new ApiError('watch services', { status: 410, reason: 'Expired', message: 'too old resource version' });

/** Delays after each end of a watch: the first is whole, then each ends with the next error. */
async function delaysAfter(errors: readonly Error[]): Promise<readonly number[]> {
  const delays: number[] = [];
  const stop = new AbortController();
  const left = [...errors];
  const source: ListWatch = {
    page: <T extends KubeObject>(): Promise<Page<T>> => Promise.reject(new Error('no page is asked for')),
    async watch<T extends KubeObject>(_of: unknown, { from, onEvent }: WatchOptions<T>) {
      if ('initial' in from) onEvent({ type: 'BOOKMARK', resourceVersion: '1', initialEventsEnd: true });
      const next = left.shift();
      if (next === undefined) return stop.abort();
      throw next;
    },
  };
  await runWatcher(source, services, {
    selection: {},
    sink: { restart: () => undefined, put: () => undefined, remove: () => undefined, ready: () => undefined },
    signal: stop.signal,
    onProblem: (_kind, _error, delay) => delays.push(delay),
    backoff: { first: 1, max: 100 },
    random: () => 0,
  });
  return delays;
}

it('lists again at once when the server returns and has lost the resource version, after any outage', async () => {
  assert.deepEqual(await delaysAfter([refused(), refused(), refused(), refused(), gone()]), [1, 2, 4, 8, 1]);
});

it('waits longer and longer while every point that it is given expires', async () => {
  assert.deepEqual(await delaysAfter([gone(), gone(), gone(), gone()]), [1, 2, 4, 8]);
});

const streaming: WatcherState = { phase: 'streaming' };
const watching: WatcherState = { phase: 'watching', resourceVersion: '5' };
const object: KubeObject = { metadata: { name: 'a', resourceVersion: '7' } };
const bookmark = (initialEventsEnd: boolean): WatchEvent<KubeObject> => ({ type: 'BOOKMARK', resourceVersion: '9', initialEventsEnd });

it('moves from a streamed list to watching by the closing bookmark only, and then on with every event', () => {
  const put = [{ kind: 'put', object }];
  assert.deepEqual(afterEvent(streaming, { type: 'ADDED', object }), { next: streaming, effects: put });
  assert.deepEqual(afterEvent(streaming, bookmark(false)), { next: streaming, effects: [] });
  const listed = { next: { phase: 'watching', resourceVersion: '9' }, effects: [{ kind: 'ready', resourceVersion: '9' }] };
  assert.deepEqual(afterEvent(streaming, bookmark(true)), listed);
  assert.deepEqual(afterEvent(watching, bookmark(true)), { ...listed, effects: [] });
  const moved = { phase: 'watching', resourceVersion: '7' };
  assert.deepEqual(afterEvent(watching, { type: 'MODIFIED', object }), { next: moved, effects: put });
  assert.deepEqual(afterEvent(watching, { type: 'DELETED', object }), { next: moved, effects: [{ kind: 'remove', object }] });
});

it('restarts with the first page of a list, and is ready with the last', () => {
  const page = { items: [object], resourceVersion: '9' };
  const [restart, put, ready] = [{ kind: 'restart' }, { kind: 'put', object }, { kind: 'ready', resourceVersion: '9' }];
  const listing = { phase: 'listing', continue: 'token' };
  assert.deepEqual(afterPage(true, { ...page, continue: 'token' }), { next: listing, effects: [restart, put] });
  assert.deepEqual(afterPage(false, page), { next: { phase: 'watching', resourceVersion: '9' }, effects: [put, ready] });
});

it('continues with pages if streaming lists are unsupported, and restarts if a resource version has expired', () => {
  const pages = { next: { phase: 'listing', continue: undefined }, strategy: 'pages' };
  assert.deepEqual(afterEnd(streaming, 'watch-list', undefined), pages);
  assert.deepEqual(afterEnd(streaming, 'watch-list', refused()), { next: streaming, strategy: 'watch-list' });
  assert.deepEqual(afterEnd(watching, 'watch-list', gone()), { next: streaming, strategy: 'watch-list' });
  assert.deepEqual(afterEnd(watching, 'pages', gone()), pages);
  assert.deepEqual(afterEnd(watching, 'pages', refused()), { next: watching, strategy: 'pages' });
});

/** Resolves when the watcher has asked for a watch; the watch ends only with its signal. */
class QuietServer implements ListWatch {
  readonly asked: WatchOptions<KubeObject>['from'][] = [];
  readonly ended: unknown[] = [];

  page<T extends KubeObject>(): Promise<Page<T>> {
    return Promise.reject(refused());
  }

  watch<T extends KubeObject>(_of: unknown, { from, signal, onEvent }: WatchOptions<T>): Promise<void> {
    this.asked.push(from);
    // The first list is whole, and its watch is cut: the second goes on from there.
    if (this.asked.length === 1) onEvent({ type: 'BOOKMARK', resourceVersion: '1', initialEventsEnd: true });
    if (this.asked.length === 1) return Promise.reject(refused());
    return new Promise((_resolve, reject) => signal?.addEventListener('abort', () => reject(this.ended.push(signal.reason))));
  }
}

it('leaves a watch that goes on alone however long nothing changes, and takes no notice of it', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const server = new QuietServer();
  const stop = new AbortController();
  const trouble: string[] = [];
  const run = runWatcher(server, services, {
    selection: {},
    sink: { restart: () => undefined, put: () => undefined, remove: () => undefined, ready: () => undefined },
    signal: stop.signal,
    onProblem: (kind) => trouble.push(kind),
    random: () => 0,
  });
  await turns();
  t.mock.timers.tick(50);
  await turns();
  assert.deepEqual(server.asked, [{ initial: true }, { after: '1' }]);
  t.mock.timers.tick(290_000);
  await turns();
  assert.deepEqual(server.ended, []);
  assert.deepEqual(trouble, ['resume'], 'that of the cut');
  stop.abort();
  await run;
});

function turns(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
