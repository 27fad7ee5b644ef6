import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ConnectionRecord, Half } from '../../../../src/router/records/contract.ts';
import { mergeRecords } from '../../../../src/router/records/merge-records.ts';

const aRecord = (half: Half, given: Partial<ConnectionRecord> = {}): ConnectionRecord => ({
  id: 'one',
  key: 'web',
  state: 'ended',
  begun: '2026-01-01T00:00:00.000Z',
  ended: '2026-01-01T00:00:05.000Z',
  idle: null,
  from: { site: 'w', siteName: 'west', client: null, listener: null },
  via: [],
  to: { site: 'e', siteName: 'east', router: 'e/1', server: null },
  bytes: { up: 1, down: 2 },
  ms: { connect: 3, firstByte: 4 },
  end: 'orderly',
  message: null,
  halves: [half],
  of: 1,
  ...given,
});

test('halves of three routers are one connection, with the client of the first and the server of the last', () => {
  const last = aRecord('last', { to: { site: 'e', siteName: null, router: 'e/1', server: '192.0.2.1:80' }, bytes: { up: 9, down: 9 } });
  const first = aRecord('first', { from: { site: 'w', siteName: 'west', client: '127.0.0.1', listener: 'Listener/web' }, via: ['h/1'] });
  const merged = mergeRecords([last, aRecord('transit', { via: ['h/1'] }), first, aRecord('first', { id: 'two' })]);
  assert.deepEqual(merged, [
    { ...first, to: { site: 'e', siteName: 'east', router: 'e/1', server: '192.0.2.1:80' }, halves: ['first', 'transit', 'last'] },
    aRecord('first', { id: 'two' }),
  ]);
});

test('half of a connection stays half of one', () => {
  const half = aRecord('last');
  assert.deepEqual(mergeRecords([half]), [half]);
  const [pair] = mergeRecords([aRecord('last', { via: [] }), aRecord('transit', { via: ['h/1'] })]);
  assert.deepEqual([pair?.halves, pair?.via], [['transit', 'last'], ['h/1']]);
});

test('the router that knows why a connection ended decides', () => {
  const seen = aRecord('first', { end: 'other-router' });
  assert.equal(mergeRecords([seen, aRecord('transit', { end: 'command' })])[0]?.end, 'command');
  const failed = aRecord('first', { state: 'failed', end: 'peer-refused', message: 'far' });
  const why = aRecord('last', { state: 'failed', end: 'refused', message: 'near' });
  assert.deepEqual(
    mergeRecords([failed, why]).map(({ end, message }) => [end, message]),
    [['refused', 'near']],
  );
});

test('a connection that one router still has open has ended if another one says so', () => {
  const open = aRecord('first', { state: 'open', ended: null, end: null, idle: 0 });
  const [merged] = mergeRecords([open, aRecord('last', { end: 'server-reset' })]);
  assert.deepEqual([merged?.state, merged?.end], ['ended', 'server-reset']);
});

const router = (name: string) => ({ to: { site: name, siteName: null, router: `${name}/1`, server: '192.0.2.1:80' } });

test('a record of another connection with the same ID stays alone', () => {
  const first = aRecord('first', { from: { site: 'w', siteName: 'west', client: '127.0.0.1', listener: 'Listener/web' } });
  const last = aRecord('last', router('e'));
  const others = {
    destination: aRecord('last', { ...router('w'), end: 'server-reset', message: 'false' }),
    key: aRecord('last', { ...router('e'), key: 'db' }),
    origin: aRecord('transit', { from: { site: 'x', siteName: null, client: null, listener: null }, via: ['h/1'] }),
    'the same half': aRecord('last', { ...router('e'), state: 'open' }),
    'a first without a Listener': aRecord('first', { message: 'false' }),
  };
  for (const [by, other] of Object.entries(others)) {
    const merged = mergeRecords(by === 'the same half' ? [first, last, other] : [other, first, last]);
    const { halves, state, end, message, to } = merged.find(({ from }) => from.client !== null) ?? other;
    assert.deepEqual([halves, state, end, message, to.server], [['first', 'last'], 'ended', 'orderly', null, '192.0.2.1:80'], by);
    assert.deepEqual(merged.slice(1), [other], by);
  }
});

test('routers of one site that a connection passes one after the other are one connection', () => {
  const [merged, ...others] = mergeRecords([aRecord('transit', { via: ['h/1'] }), aRecord('transit', { via: ['h/2'] }), aRecord('last')]);
  assert.deepEqual([merged?.via, merged?.halves, others], [['h/1', 'h/2'], ['transit', 'last'], []]);
});
