/** Lists of records: filters, pages and limits. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConnectionRecords, type LiveConnection } from '../../../../src/router/records/connection-records.ts';
import type { ConnectionFacts, ConnectionRecord, RecordQuery, RecordState } from '../../../../src/router/records/contract.ts';
import { countBytes, TO_CLIENT } from '../../../../src/router/records/figures.ts';

const facts: ConnectionFacts = {
  id: '',
  key: 'web',
  halves: ['first'],
  origin: 'w',
  client: '127.0.0.1',
  listener: 'Listener/web',
  via: [],
  to: 'e/1',
  server: '',
};

interface Live {
  readonly connection: LiveConnection;
  readonly slot: number;
  end(): void;
}

function someRecords(size = 100) {
  const records = new ConnectionRecords({ size, siteName: (id) => (id === 'e' ? 'east' : undefined) });
  const open = (id: string, given: Partial<ConnectionFacts> = {}, ageInMs = 0): Live => {
    const end = (): void => records.ended(slot, connection, given.key ?? 'web', 'command');
    const connection = { id, facts: () => ({ ...facts, ...given, id }), end };
    const { slot } = records.opened(connection, performance.now() - ageInMs);
    return { connection, slot, end: () => records.ended(slot, connection, given.key ?? 'web', 'orderly') };
  };
  const ids = (query: Partial<RecordQuery> = {}): readonly string[] =>
    records.list({ state: 'open', limit: 1_000, ...query }).items.map(({ id }) => id);
  return { records, open, ids, [Symbol.dispose]: () => records[Symbol.dispose]() };
}

/** All pages. */
function listAll(
  records: ConnectionRecords,
  state: RecordState,
  limit: number,
): { readonly items: ConnectionRecord[]; readonly pages: number } {
  const items: ConnectionRecord[] = [];
  let pages = 0;
  for (let cursor: number | undefined = undefined; ; pages += 1) {
    const page = records.list({ state, limit, ...(cursor === undefined ? {} : { cursor }) });
    items.push(...page.items);
    cursor = page.next;
    if (cursor === undefined) return { items, pages: pages + 1 };
  }
}

test('open connections are selected by key, site at either end, ID and age', () => {
  using some = someRecords();
  some.open('a');
  some.open('b', { key: 'db', origin: 's', to: 'n/1' });
  some.open('c', { origin: 'n' }, 60_000);
  assert.deepEqual(some.ids(), ['a', 'b', 'c']);
  assert.deepEqual(some.ids({ key: 'db' }), ['b']);
  assert.deepEqual(some.ids({ site: 'n' }), ['b', 'c']);
  assert.deepEqual(some.ids({ site: 'east' }), ['a', 'c'], 'by name');
  assert.deepEqual(some.ids({ id: 'a' }), ['a']);
  assert.deepEqual(some.ids({ age: 60_000 }), ['c']);
  assert.deepEqual(some.ids({ idle: 60_000 }), []);
});

test('pages have each open connection once, while others end and begin', () => {
  using some = someRecords();
  const all = Array.from({ length: 10 }, (_, index) => some.open(`c${index}`));
  const { items, next } = some.records.list({ state: 'open', limit: 4 });
  all[1]?.end();
  some.open('new');
  const rest = some.records.list({ state: 'open', limit: 100, ...(next === undefined ? {} : { cursor: next }) });
  const ids = [...items, ...rest.items].map(({ id }) => id);
  assert.deepEqual(
    ids,
    Array.from({ length: 10 }, (_, index) => `c${index}`),
  );
  assert.equal(rest.next, undefined);
});

test('a page examines at most 5,000 connections, even if none matches', () => {
  using some = someRecords();
  for (let index = 0; index < 12_000; index += 1) some.open(`c${index}`);
  some.open('last', { key: 'rare' });
  const first = some.records.list({ state: 'open', key: 'rare', limit: 10 });
  assert.deepEqual([first.items.length, first.next, first.total], [0, 5_000, 12_001]);
  const { items, pages } = listAll(some.records, 'open', 1_000);
  assert.deepEqual([items.length, pages], [12_001, 13]);
});

test('a slot that is used again shows the figures of its new connection only', () => {
  using some = someRecords();
  const before = some.open('before');
  some.open('other');
  const old = { id: 'x', facts: () => ({ ...facts, id: 'x' }), end: () => {} };
  before.end();
  const { figures, slot } = some.records.opened(old, performance.now());
  assert.equal(slot, before.slot);
  assert.deepEqual(some.records.list({ state: 'open', id: 'x', limit: 1 }).items[0]?.bytes, { up: 0, down: 0 });
  countBytes(figures.page, figures.at + TO_CLIENT, 5);
  const [shown] = some.records.list({ state: 'open', id: 'x', limit: 1 }).items;
  assert.deepEqual(shown?.bytes, { up: 0, down: 5 });
  assert.ok((shown?.ms.firstByte ?? -1) >= 0);
});

test('ended and failed connections are listed apart, the latest first, and only those after a number', () => {
  using some = someRecords();
  for (const id of ['a', 'b']) some.open(id).end();
  const why = { code: 'no-connector', message: 'None is reachable.' } as const;
  some.records.failed('web', performance.now(), why, () => ({ ...facts, id: 'f', to: '' }));
  const { latest } = some.records.list({ state: 'ended', limit: 10 });
  assert.deepEqual(some.ids({ state: 'ended' }), ['b', 'a']);
  const [failed] = some.records.list({ state: 'failed', limit: 10 }).items;
  assert.deepEqual([failed?.end, failed?.message, failed?.to.router], ['no-connector', 'None is reachable.', null]);
  some.open('c').end();
  assert.deepEqual(some.ids({ state: 'ended', after: latest }), ['c']);
});

test('totals count what a full ring still has', () => {
  using some = someRecords(5);
  const why = { code: 'busy', message: '' } as const;
  for (let index = 0; index < 3; index += 1) some.records.failed('web', performance.now(), why, () => facts);
  for (let index = 0; index < 4; index += 1) some.open(`c${index}`).end();
  const totals = (['ended', 'failed'] as const).map((state) => some.records.list({ state, limit: 1 }).total);
  assert.deepEqual(totals, [4, 1]);
  assert.equal(listAll(some.records, 'ended', 1).items.length, 4);
});

test('all open connections with an ID end, wherever they are among many', async () => {
  using some = someRecords();
  for (let index = 0; index < 6_000; index += 1) some.open(index % 5_999 === 0 ? 'x' : `c${index}`);
  assert.equal(await some.records.end('x'), true);
  assert.deepEqual([some.records.list({ state: 'open', limit: 1 }).total, some.ids({ id: 'x' })], [5_998, []]);
  assert.equal(await some.records.end('x'), false);
});

test('a request that ends a connection examines a bounded number of connections at once', async () => {
  using some = someRecords();
  for (let index = 0; index < 12_000; index += 1) some.open(`c${index}`);
  let iterations = 0;
  const count = (): void => {
    iterations += 1;
    next = setImmediate(count);
  };
  let next = setImmediate(count);
  await some.records.end('c11999');
  clearImmediate(next);
  assert.ok(iterations >= 1, 'others ran in between');
});
