import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findConnections, listConnections } from '../../../src/console/connections.ts';
import { memorySources, memoryState } from './memory-sources.ts';

const first = {
  id: 'a',
  key: 'web',
  begun: '2026-01-01T00:00:01.000Z',
  from: { site: 'west-id', siteName: 'west', client: '127.0.0.1', listener: 'Listener/web' },
  to: { site: 'west-id', siteName: 'west', server: null },
  bytes: { up: 1, down: 2 },
  ms: { connect: 3, firstByte: null },
  halves: ['first'],
  of: 1,
};
const last = {
  ...first,
  from: { site: 'west-id', siteName: 'west', client: null },
  to: { ...first.to, server: '127.0.0.1:80' },
  halves: ['last'],
};
const newer = { ...first, id: 'b', begun: '2026-01-01T00:00:02.000Z', key: `\u001b[2J${'x'.repeat(5_000)}` };

test('both halves of a connection become one, and the latest is first', async () => {
  const sources = {
    ...memorySources(memoryState()),
    routers: () => Promise.resolve(['one', 'two']),
    ask: (router: string) =>
      Promise.resolve({ items: router === 'one' ? [last] : [first, newer], total: 2, next: router === 'one' ? '7' : null }),
  };
  const { items, next, total } = await listConnections(sources, new URLSearchParams());
  assert.deepEqual(
    items.map(({ id }) => id),
    ['b', 'a'],
  );
  const [bounded, merged] = items;
  assert.deepEqual([merged?.client, merged?.server, merged?.halves, merged?.up], ['127.0.0.1', '127.0.0.1:80', ['first', 'last'], 1]);
  assert.match(bounded?.key ?? '', /^\\u\{1b\}\[2Jx+…$/);
  assert.deepEqual([next, total], ['one=7', 4]);
});

test('a cursor asks only the routers that have more, and a router without an answer is named', async () => {
  const asked: string[] = [];
  const sources = {
    ...memorySources(memoryState()),
    routers: () => Promise.resolve(['one', 'two']),
    ask: (router: string, path: string) => {
      asked.push(`${router} ${path}`);
      return Promise.reject(new Error('gone'));
    },
  };
  const { partial } = await listConnections(sources, new URLSearchParams({ state: 'failed', key: 'web', cursor: 'one=7' }));
  assert.deepEqual(asked, ['one /v1/connections?limit=200&state=failed&key=web&cursor=7']);
  assert.deepEqual(partial, [{ router: 'one', why: 'gone' }]);
});

test('a connection is found by its ID in any state, and others with its ID are counted', async () => {
  const asked: string[] = [];
  const other = { ...first, key: 'other', halves: ['transit'] };
  const sources = {
    ...memorySources(memoryState()),
    routers: () => Promise.resolve(['one', 'two']),
    ask: (router: string, path: string) => {
      asked.push(path);
      const items = !path.includes('state=ended') ? [] : router === 'one' ? [last, other] : [{ ...first, end: 'orderly' }, newer];
      return Promise.resolve({ items, total: 9, next: null });
    },
  };
  const found = await findConnections(sources, 'a');
  assert.deepEqual(
    found.map(({ id, key, state, client, server, end }) => [id, key, state, client, server, end]),
    [
      ['a', 'web', 'ended', '127.0.0.1', '127.0.0.1:80', 'orderly'],
      ['a', 'other', 'ended', '127.0.0.1', undefined, undefined],
    ],
  );
  assert.ok(asked.every((path) => path.includes('id=a')));
});
