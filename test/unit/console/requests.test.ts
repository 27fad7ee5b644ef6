import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { listRequests } from '../../../src/console/requests.ts';
import type { ConsoleSources } from '../../../src/console/sources.ts';
import { anyText } from '../support/any-text.ts';
import { memorySources, memoryState } from './memory-sources.ts';

const request = { connection: 'a', key: 'web', protocol: 'http1', method: 'GET', status: 200, ms: 4, path: null, of: 1 };

const sourcesOf = (ask: ConsoleSources['ask']): ConsoleSources => ({
  ...memorySources(memoryState()),
  routers: () => Promise.resolve(['one', 'two']),
  ask,
});

test('requests of all routers are one list, the latest first', async () => {
  const asked: string[] = [];
  const sources = sourcesOf((router, path) => {
    asked.push(`${router} ${path}`);
    const at = `2026-01-01T00:00:0${router === 'one' ? 1 : 2}.000Z`;
    return Promise.resolve({ items: [{ ...request, at, ...(router === 'one' ? { path: '/a' } : {}) }], total: 3, next: '5' });
  });
  const { items, total, next } = await listRequests(sources, new URLSearchParams({ key: 'web', other: 'x' }));
  assert.deepEqual(
    items.map(({ at, path }) => [at.slice(17, 19), path]),
    [
      ['02', undefined],
      ['01', '/a'],
    ],
  );
  assert.deepEqual([total, next, asked[0]], [6, 'one=5&two=5', 'one /v1/requests?limit=200&key=web']);
});

test('any answer of a router gives bounded texts that are safe to show', async () => {
  const any = fc.oneof(fc.anything(), anyText({ maxLength: 1_000 }));
  const item = fc.record(
    { at: any, connection: any, key: any, method: any, status: any, ms: any, path: any, of: any },
    { requiredKeys: [] },
  );
  const answer = fc.oneof(fc.anything(), fc.record({ items: fc.oneof(any, fc.array(item)), total: any, next: any }));
  await fc.assert(
    fc.asyncProperty(answer, async (found) => {
      const { items } = await listRequests(
        sourcesOf(() => Promise.resolve(found)),
        new URLSearchParams(),
      );
      for (const { path = '', key, method } of items)
        for (const text of [path, key, method]) assert.ok(text.length <= 253 && !/\p{Cc}/u.test(text));
    }),
  );
});
