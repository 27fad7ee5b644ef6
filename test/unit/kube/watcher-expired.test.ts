import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { ListWatch, Page, WatchOptions } from '../../../src/kube/contract.ts';
import { ApiError, TransportError } from '../../../src/kube/errors.ts';
import type { KubeObject } from '../../../src/kube/objects.ts';
import { services } from '../../../src/kube/resource.ts';
import { runWatcher } from '../../../src/kube/watch/watcher.ts';

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
    onTrouble: (_kind, _error, delay) => delays.push(delay),
    backoff: { first: 1, max: 100 },
    random: () => 0,
  });
  return delays;
}

it('lists anew at once when the server is back and no longer knows the point, however long it was away', async () => {
  assert.deepEqual(await delaysAfter([refused(), refused(), refused(), refused(), gone()]), [1, 2, 4, 8, 1]);
});

it('waits longer and longer while every point that it is given expires', async () => {
  assert.deepEqual(await delaysAfter([gone(), gone(), gone(), gone()]), [1, 2, 4, 8]);
});
