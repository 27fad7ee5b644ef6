/** One namespace costs only itself, whatever its editor writes into it. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setImmediate as iteration } from 'node:timers/promises';
import { listenerClasses, listeners } from '../../../src/api/listeners/index.ts';
import { nodes } from '../../../src/kube/resource.ts';
import { leastOf, longestStretch } from '../support/longest-stretch.ts';
import { aClass, aListener, aNode } from './listeners/fixtures.ts';
import { crowds, type Crowd } from './support/crowded-namespace.ts';
import { PlayedApi } from './support/played-api.ts';
import { CONCURRENCY, playController } from './support/played-controller.ts';

const COUNT = 500;
/** Milliseconds of CPU time of this thread, on an idle machine. */
const MOST_AT_ONCE = 50;

function world(): PlayedApi {
  const api = new PlayedApi();
  for (const [name, serviceType] of [
    ['some-class', 'NodePort'],
    ['balanced', 'LoadBalancer'],
  ] as const)
    api.put(listenerClasses, { ...aClass({ serviceType }), metadata: { name, uid: `uid-${name}` } });
  for (let index = 0; index < 100; index += 1) api.put(nodes, aNode(`n${index}`, [{ type: 'InternalIP', address: `192.0.2.${index}` }]));
  // An answer comes in another iteration, as that of a real API server.
  api.meets = () => iteration();
  return api;
}

/** The objects arrive one by one, as from a watch. */
async function arrive(api: PlayedApi, crowd: Crowd): Promise<void> {
  for (const write of crowd(COUNT)) {
    write(api);
    await iteration();
  }
}

describe('A namespace with thousands of', () => {
  for (const [what, crowd] of Object.entries(crowds))
    test(`${what}: no rule holds the event loop up`, async () => {
      const longest = await leastOf(MOST_AT_ONCE, async () => {
        const api = world();
        await using controller = await playController(api, { provisions: true });
        return await longestStretch(async () => {
          await arrive(api, crowd);
          await controller.settle(Infinity);
        });
      });
      assert.ok(longest < MOST_AT_ONCE, `${longest.toFixed(0)} ms at once`);
    });
});

test('a Listener of another namespace gets its Service while thousands of one wait', async () => {
  const api = world();
  await using controller = await playController(api);
  for (const write of crowds['Listener']?.(COUNT) ?? assert.fail()) write(api);
  api.put(listeners, aListener({}, { namespace: 'other', name: 'web', uid: 'uid-other' }));
  await controller.settle(Infinity);
  const order = api.calls.filter((call) => call.startsWith('create services'));
  assert.equal(order.length, COUNT + 1);
  const at = order.indexOf('create services other/web');
  assert.ok(at <= CONCURRENCY, `${at} Services before it`);
});
