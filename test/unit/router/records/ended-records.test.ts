/** The ring of ended and failed connections, and the choice of those that get a record. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EndedRecords, type EndedRecord } from '../../../../src/router/records/ended-records.ts';
import { RecordSampler } from '../../../../src/router/records/record-sampler.ts';

const anEnd = (given: Partial<EndedRecord> = {}): EndedRecord => ({
  id: 'abc123',
  key: 'web',
  state: 'ended',
  halves: ['first', 'last'],
  origin: 'w',
  client: '2001:db8::1',
  listener: 'Listener/web',
  via: ['h/1', 'h/2'],
  to: 'e/1',
  server: '192.0.2.1:80',
  begun: 1_767_225_600_000.5,
  duration: 1_234.5,
  connect: 3.25,
  firstByte: NaN,
  toServer: 2 ** 40,
  toClient: 7,
  end: 'orderly',
  message: '',
  of: 3,
  ...given,
});

test('a record reads as it was written', () => {
  const ring = new EndedRecords(4, 100);
  const records = [anEnd(), anEnd({ state: 'failed', halves: ['transit'], end: 'no-connector', message: 'None.', client: '', via: [] })];
  for (const record of records) ring.add(record);
  assert.deepEqual([ring.get(1), ring.get(2)], records);
  assert.deepEqual([ring.state(1), ring.state(2)], ['ended', 'failed']);
});

test('a full ring drops the oldest record', () => {
  const ring = new EndedRecords(3, 100);
  for (let number = 1; number <= 1_000; number += 1) {
    const own = (name: string): string => `${name} ${number}`;
    ring.add(
      anEnd({ key: own('key'), origin: own('site'), listener: own('listener'), to: own('to'), server: own('server'), via: [`v${number}`] }),
    );
  }
  assert.deepEqual([ring.oldest, ring.added], [998, 1_000]);
  for (const number of [998, 999, 1_000]) {
    const { key, server, via } = ring.get(number);
    assert.deepEqual([key, server, via], [`key ${number}`, `server ${number}`, [`v${number}`]]);
  }
});

const ofPeer = (given: Partial<EndedRecord>): EndedRecord => anEnd({ halves: ['last'], listener: '', client: '', ...given });

test('texts of peers leave the texts of own clients in place, and always leave room for a new one', () => {
  const ring = new EndedRecords(1_000, 10);
  ring.add(anEnd());
  ring.add(ofPeer({ key: 'early' }));
  for (let number = 0; number < 500; number += 1) ring.add(ofPeer({ key: `key ${number}`, via: [`v${number}`] }));
  ring.add(ofPeer({ key: 'late', via: [], end: 'no-connector', state: 'failed' }));
  assert.deepEqual(ring.get(1), anEnd());
  const late = ring.get(ring.added);
  assert.deepEqual([late.key, late.end, late.to], ['late', 'no-connector', 'e/1']);
  assert.deepEqual([ring.get(2).key, ring.get(2).id], ['', 'abc123'], 'the least recent text is evicted, the record is kept');
});

test('a text that is used again and again is not evicted', () => {
  const ring = new EndedRecords(1_000, 10);
  ring.add(ofPeer({}));
  for (let number = 0; number < 100; number += 1) {
    ring.add(ofPeer({ key: `key ${number}` }));
    ring.add(ofPeer({}));
  }
  assert.deepEqual(ring.get(1), ofPeer({}));
});

test('beyond the rate one connection of each key and second gets a record, which counts the others', () => {
  const sampler = new RecordSampler({ burst: 2, perSecond: 1 });
  const taken = ['web', 'web', 'web', 'web', 'db', 'db'].map((key) => sampler.take(key, 1_000));
  assert.deepEqual(taken, [1, 1, 0, 0, 3, 0]);
  assert.equal(sampler.take('web', 2_000), 2, 'the next second');
});

test('a client that names ever more keys gets a bounded number of records', () => {
  const sampler = new RecordSampler({ burst: 10, perSecond: 10 });
  const taken = Array.from({ length: 5_000 }, (_, index) => sampler.take(`key ${index}`, 1_000)).filter((of) => of > 0);
  assert.ok(taken.length <= 210, String(taken.length));
});

test('a key that returns gets records, however many new keys come before it in each second', () => {
  const sampler = new RecordSampler({ burst: 1, perSecond: 0.1 });
  const taken = Array.from({ length: 9 }, (_, index) => {
    const clock = (index + 1) * 1_000;
    for (let number = 0; number < 500; number += 1) sampler.take(`new ${index} ${number}`, clock);
    return sampler.take('web', clock + 500);
  });
  assert.ok(taken.filter((of) => of > 0).length >= 3, taken.join());
});

test('more keys than get a record in one second are recorded round-robin', () => {
  const sampler = new RecordSampler({ burst: 1, perSecond: 1 });
  const keys = Array.from({ length: 600 }, (_, number) => `key ${number}`);
  const recorded = new Set<string>();
  for (const second of [1, 2, 3]) for (const key of keys) if (sampler.take(key, second * 1_000) > 0) recorded.add(key);
  assert.equal(recorded.size, keys.length);
});
