import assert from 'node:assert/strict';
import { test } from 'node:test';
import { listConnections } from '../../../src/console/connections.ts';
import { History } from '../../../src/console/history.ts';
import type { ConsoleSources } from '../../../src/console/sources.ts';
import { NotReadable } from '../../../src/errors/not-readable.ts';
import { Watcher } from '../../../src/console/watcher.ts';
import { memorySources, memoryState } from './memory-sources.ts';

/** Sources of a user who may read resources, but may ask two routers neither for state nor for figures. */
function limitedSources(): ConsoleSources {
  const state = memoryState();
  return {
    ...memorySources(state),
    routers: () => Promise.resolve(['one', 'two']),
    ask: () => Promise.reject(new NotReadable('Connections are not shown: your user may not create pods/portforward.')),
    metrics: () => Promise.reject(new NotReadable('Figures are not shown: your user may not get pods/proxy.')),
    notReadable: () => ['Some resources are not shown: your user may not list accessgrants.'],
    recorded: () =>
      Promise.resolve({
        routers: [{ name: 'one', version: '1', ready: true }],
        network: { items: state.network },
        keys: { items: state.keys },
        links: state.links,
      }),
  };
}

function watcherOf(sources: ConsoleSources): Watcher {
  const place = { where: 'here', namespace: 'west', isMachine: false, version: '1' };
  return new Watcher(sources, { place, history: new History(2 ** 24) });
}

test('a console without the right to ask routers shows the state that the resources have', async () => {
  const watcher = watcherOf(limitedSources());
  await watcher.read();
  const { sites, links, keys, routers } = watcher.overview();
  assert.deepEqual([sites, links.up, keys.total, routers.map(({ name }) => name)], [3, 2, 2, ['one']]);
});

test('missing rights are named once each, and are not problems of the site', async () => {
  const watcher = watcherOf(limitedSources());
  await watcher.read();
  await watcher.read();
  const expected = [
    'Some resources are not shown: your user may not list accessgrants.',
    'Connections are not shown: your user may not create pods/portforward.',
    'Figures are not shown: your user may not get pods/proxy.',
  ];
  assert.deepEqual(
    watcher.overview().partial,
    expected.map((why) => ({ router: '', why })),
  );
  assert.deepEqual(
    watcher.problems.filter(({ kind }) => kind === 'router'),
    [],
  );
});

test('a list of connections without the right to ask routers names the right', async () => {
  const { items, partial } = await listConnections(limitedSources(), new URLSearchParams());
  assert.deepEqual([items, partial], [[], [{ router: '', why: 'Connections are not shown: your user may not create pods/portforward.' }]]);
});

test('a router that does not answer is a problem, although the resources have the state', async () => {
  const watcher = watcherOf({ ...limitedSources(), ask: () => Promise.reject(new Error('connection refused')) });
  await watcher.read();
  assert.deepEqual(
    watcher.problems.filter(({ kind }) => kind === 'router').map(({ name, message }) => [name, message]),
    [
      ['one', 'connection refused'],
      ['two', 'connection refused'],
    ],
  );
});

test('a namespace without routers that is not reported as stopped has no problem of a process', async () => {
  const state = memoryState();
  state.routers = [];
  const watcher = watcherOf(memorySources(state));
  await watcher.read();
  assert.deepEqual(
    watcher.problems.filter(({ kind }) => kind === 'process'),
    [],
  );
});
