/** Records of requests: their rate, ring and filters. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RequestSink } from '../../../../src/router/observers/contract.ts';
import type { RequestRecord } from '../../../../src/router/records/contract.ts';
import { coarseClock } from '../../../../src/router/records/coarse-clock.ts';
import { RequestRecords } from '../../../../src/router/records/request-records.ts';

const nothing: RequestSink = { onRequest: () => {} };

function connection(records: RequestRecords, given: { readonly id?: string; readonly key?: string; readonly hasPaths?: boolean } = {}) {
  return records.sinkFor({ id: 'abc1', key: 'web', protocol: 'http1', hasPaths: false, ...given }, nothing);
}

/** Moves the clock, so that the rate permits as many requests again. */
const later = (seconds = 2): void => void (coarseClock.now += seconds * 1_000);

test('a request reads as it was recorded, and is counted as before', () => {
  const records = new RequestRecords();
  const counted: string[] = [];
  const next: RequestSink = { onRequest: (method, status) => void counted.push(`${method} ${status}`) };
  const sink = records.sinkFor({ id: 'abc1', key: 'web', protocol: 'http2', hasPaths: true }, next);
  assert.equal(sink.wantsPath, true);
  later();
  sink.onRequest('GET', 200, 4.24, '/a');
  sink.onRequest('PURGE', 503, 1);
  const { items, total, next: more } = records.list({ limit: 10 });
  const shared = { at: '', connection: 'abc1', key: 'web', protocol: 'http2', of: 1 } as const;
  assert.deepEqual(
    items.map((item) => ({ ...item, at: '' })),
    [
      { ...shared, method: 'other', status: 503, ms: 1, path: null },
      { ...shared, method: 'GET', status: 200, ms: 4.2, path: '/a' },
    ],
  );
  assert.ok(Math.abs(Date.parse(items[0]?.at ?? '') - Date.now()) < 60_000);
  assert.deepEqual([total, more, counted], [2, undefined, ['GET 200', 'PURGE 503']]);
});

test('at most 100 requests a second are recorded, and the next one counts the others', () => {
  const records = new RequestRecords();
  const sink = connection(records);
  later();
  for (let index = 0; index < 5_000; index += 1) sink.onRequest('GET', 200, 1);
  assert.equal(records.list({ limit: 1_000 }).total, 100);
  later();
  sink.onRequest('GET', 200, 1);
  assert.equal(records.list({ limit: 1 }).items[0]?.of, 4_901);
});

test('a full ring keeps the last requests, and pages have each of them once', () => {
  const records = new RequestRecords();
  const sink = connection(records, { hasPaths: true });
  for (let index = 1; index <= 8_300; index += 1) {
    if (index % 100 === 1) later();
    sink.onRequest('GET', 200, 1, index === 8_300 ? '' : `/${index}`);
  }
  const items: RequestRecord[] = [];
  for (let cursor: number | undefined; ;) {
    const page = records.list({ limit: 1_000, ...(cursor === undefined ? {} : { cursor }) });
    items.push(...page.items);
    cursor = page.next;
    if (cursor === undefined) break;
  }
  assert.deepEqual([items.length, items[0]?.path, items[1]?.path, items.at(-1)?.path], [8_192, null, '/8299', '/109']);
});

test('requests are selected by key, connection and number', () => {
  const records = new RequestRecords();
  later();
  connection(records).onRequest('GET', 200, 1);
  const { latest } = records.list({ limit: 1 });
  connection(records, { id: 'abc2' }).onRequest('GET', 201, 1);
  connection(records, { id: 'abc3', key: 'db' }).onRequest('GET', 202, 1);
  const statuses = (query: object): readonly number[] => records.list({ limit: 10, ...query }).items.map(({ status }) => status);
  assert.deepEqual(statuses({}), [202, 201, 200]);
  assert.deepEqual(statuses({ key: 'web' }), [201, 200]);
  assert.deepEqual(statuses({ connection: 'abc3' }), [202]);
  assert.deepEqual(statuses({ after: latest }), [202, 201]);
});

test('a router without requests lists none', () => {
  assert.deepEqual(new RequestRecords().list({ limit: 10 }), { items: [], next: undefined, total: 0, latest: 0 });
});
