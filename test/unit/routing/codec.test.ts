import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { anyText } from '../support/any-text.ts';
import { piecesOf, readMessage, writeDigest, writeDone, writeRecords, writeRequest, writeSummary } from '../../../src/routing/codec.ts';
import { RoutingError } from '../../../src/routing/errors.ts';
import { isRouterId, isRoutingKey, fitText, isText } from '../../../src/routing/names.ts';
import { eachKey, findKey, readRecord, writeAbout, writeKey, writeNeighbour, writeRecord } from '../../../src/routing/record.ts';
import type { KeyCount } from '../../../src/routing/record.ts';
import { testKey, testSite } from './support/network.ts';

const about = { name: 'West', namespace: 'näme', platform: 'linux', version: '1.0', edge: true };
const head = { router: 'r-1', epoch: 2 ** 48 - 1, counter: 2 ** 32 - 1, part: 0 };
const neighbour = { router: `${testSite('b').id}/r`, cost: 65_535, link: 'to east ✓' };
const key = testKey('a');
const code =
  (expected: string) =>
  (error: unknown): boolean =>
    error instanceof RoutingError && error.code === expected;

test('the pieces of a message say what the message says, and break off where it does', () => {
  const record = fc.uint8Array({ maxLength: 40 }).map((bytes) => ({ age: bytes.length, bytes: Buffer.from(bytes) }));
  fc.assert(
    fc.property(fc.array(record, { maxLength: 40 }), fc.nat({ max: 50 }), (records, cut) => {
      const [message = writeDone()] = writeRecords(records, 60_000);
      const whole = piecesOf(message).map(readMessage);
      const said = whole.flatMap((piece) => (piece.kind === 'records' ? piece.records : []));
      assert.deepEqual(said, records);
      for (const piece of whole) assert.ok(piece.kind !== 'records' || piece.records.length <= 8);
      const short = message.subarray(0, Math.max(1, message.length - cut));
      const isRead = (bytes: Buffer): boolean => {
        try {
          readMessage(bytes);
          return true;
        } catch {
          return false;
        }
      };
      assert.equal(piecesOf(short).every(isRead), isRead(short));
    }),
  );
  assert.deepEqual(piecesOf(writeDone()), [writeDone()]);
});

test('each message is read as it was written', () => {
  const router = `${testSite('a').id}/r`;
  const sums = Array.from({ length: 64 }, (_, bucket) => BigInt(bucket) << 57n);
  assert.deepEqual(readMessage(writeSummary(sums)), { kind: 'summary', sums });
  const versions = [
    {
      router,
      epoch: 2 ** 47,
      parts: [
        { part: 0, counter: 1, check: 7 },
        { part: 4095, counter: 2 ** 32 - 1, check: 2 ** 32 - 1 },
      ],
    },
  ];
  assert.deepEqual(writeDigest(true, new Set([0, 5, 63]), versions, 4096).map(readMessage), [
    { kind: 'digest', requested: true, buckets: new Set([0, 5, 63]), versions },
  ]);
  const parts = [{ router, parts: [0, 7, 4095] }];
  assert.deepEqual(readMessage(writeRequest(parts)), { kind: 'request', parts });
  const records = [
    { age: 3, bytes: Buffer.from('one') },
    { age: 65_535, bytes: Buffer.from('another') },
  ];
  assert.deepEqual(writeRecords(records, 4096).map(readMessage), [{ kind: 'records', records }]);
  assert.deepEqual(readMessage(writeDone()), { kind: 'done' });
});

test('a digest too large for one message is sent in several, and requests one answer', () => {
  const versions = Array.from({ length: 40 }, (_, site) => ({
    router: `${testSite(`s${site}`).id}/r`,
    epoch: site,
    parts: Array.from({ length: 30 }, (__, part) => ({ part, counter: 1, check: 2 })),
  }));
  const messages = writeDigest(true, new Set([1]), versions, 1000);
  assert.ok(messages.length > 1 && messages.every((message) => message.length <= 1000));
  const read = messages.map(readMessage).filter((message) => message.kind === 'digest');
  assert.deepEqual(
    read.map(({ requested }) => requested),
    messages.map((_, index) => index === 0),
  );
  assert.equal(read.flatMap((digest) => digest.versions.flatMap(({ parts }) => parts)).length, 40 * 30);
});

test('a message of a later version is no error, one that is cut short is', () => {
  assert.deepEqual(readMessage(Buffer.of(200, 1, 2, 3)), { kind: 'unknown' });
  assert.deepEqual(readMessage(Buffer.concat([writeDone(), Buffer.of(9, 9)])), { kind: 'done' });
  assert.throws(() => readMessage(Buffer.alloc(0)), code('routing-message'));
  for (const message of [
    writeSummary([]),
    writeRequest([{ router: neighbour.router, parts: [1] }]),
    ...writeRecords([{ age: 0, bytes: Buffer.from('record') }], 4096),
  ]) {
    assert.throws(() => readMessage(message.subarray(0, message.length - 1)), code('routing-message'));
  }
});

test('a request for more than 256 records is refused, however it is written', () => {
  const many = Array.from({ length: 257 }, (_, part) => part);
  assert.throws(() => readMessage(writeRequest([{ router: neighbour.router, parts: many }])), code('routing-request'));
  assert.throws(
    () => readMessage(writeRequest(many.map((part) => ({ router: neighbour.router, parts: [part] })))),
    code('routing-request'),
  );
  assert.throws(() => readMessage(writeRequest(many.map(() => ({ router: neighbour.router, parts: [] })))), code('routing-request'));
});

test('a record is read as it was written, and its keys are found', () => {
  const neighbours = [neighbour, { ...neighbour, confined: true }];
  const keys = [
    { routingKey: 'backend', connectors: 1, listeners: 0, failing: false },
    { routingKey: '💥 ключ', connectors: 65_535, listeners: 2, failing: true },
    { routingKey: 'listened', connectors: 0, listeners: 2 },
  ];
  const record = readRecord(writeRecord(head, [writeAbout(about), ...neighbours.map(writeNeighbour), ...keys.map(writeKey)], key));
  assert.equal(record?.router, `${testSite('a').id}/r-1`);
  assert.deepEqual([record.epoch, record.counter, record.part], [head.epoch, head.counter, 0]);
  assert.deepEqual([record.about, record.neighbours, record.keys.length], [about, neighbours, 3]);
  const found: KeyCount[] = [];
  eachKey(record, (one) => found.push(one));
  assert.deepEqual(found, keys);
  assert.deepEqual(findKey(record, Buffer.from('💥 ключ')), { connectors: 65_535, listeners: 2, failing: true });
  assert.deepEqual(findKey(record, Buffer.from('listened')), { connectors: 0, listeners: 2 });
  assert.equal(findKey(record, Buffer.from('back')), undefined);
  assert.equal(findKey(record, Buffer.from('backend2')), undefined);
});

test('fields of a later version, and more bytes in known ones, are passed over', () => {
  const later = Buffer.of(99, 0, 3, 1, 2, 3);
  const longer = Buffer.concat([writeKey({ routingKey: 'k', connectors: 1, listeners: 1 }), Buffer.from('more')]);
  longer.writeUInt16BE(longer.length - 3, 1);
  const record = readRecord(writeRecord(head, [later, writeAbout(about), longer, later], key));
  assert.deepEqual(record?.about, about);
  assert.deepEqual(findKey(record, Buffer.from('k')), { connectors: 1, listeners: 1, failing: false });
});

test('a router of the version before says nothing of how its servers are', () => {
  const now = writeKey({ routingKey: 'k', connectors: 1, listeners: 1, failing: true });
  const before = now.subarray(0, -1);
  before.writeUInt16BE(before.length - 3, 1);
  const record = readRecord(writeRecord(head, [writeAbout(about), before], key));
  assert.ok(record !== undefined);
  assert.deepEqual(findKey(record, Buffer.from('k')), { connectors: 1, listeners: 1 });
});

test('a record with an invalid body is refused', () => {
  const good = writeAbout(about);
  const text = (value: Buffer): Buffer => Buffer.concat([Buffer.of(1, value.length >> 8, value.length & 0xff), value]);
  const bad = [
    Buffer.of(7, 0),
    Buffer.of(7, 0, 9, 1),
    Buffer.of(7, 0, 5, 0, 1, 0, 1, 0),
    writeNeighbour({ ...neighbour, cost: 0 }),
    writeNeighbour({ ...neighbour, link: 'a\nb' }),
    text(Buffer.of(0xff)),
    text(Buffer.of(0xf0, 0x9f, 0x98)),
    text(Buffer.from('a\u0000')),
    text(Buffer.alloc(254, 0x61)),
    Buffer.of(5, 0, 0),
  ];
  for (const field of bad) assert.equal(readRecord(writeRecord(head, [good, field], key)), undefined, field.toString('hex'));
  assert.notEqual(readRecord(writeRecord(head, [good], key)), undefined);
});

test('a record with a head that breaks the rules ends the link', () => {
  assert.throws(() => readRecord(Buffer.alloc(100)), code('routing-message'));
  assert.throws(() => readRecord(writeRecord({ ...head, router: 'R/1' }, [], key)), code('routing-message'));
  assert.throws(() => readRecord(writeRecord({ ...head, part: 4096 }, [], key)), code('routing-message'));
  assert.throws(() => readRecord(writeRecord(head, [Buffer.alloc(4096)], key)), code('routing-message'));
});

test('a routing key is any text of 1 to 253 bytes that stays on one line', () => {
  for (const good of ['a', 'backend:8080', 'with space', 'schlüssel', '..', '__proto__', '💥'.repeat(63), 'x'.repeat(253)])
    assert.ok(isRoutingKey(good), good);
  for (const bad of ['', 'a\nb', '\u0000', '\u007f', '\u0085', '\u2028', '\ud800', '💥'.repeat(64), 'x'.repeat(254)])
    assert.ok(!isRoutingKey(bad), JSON.stringify(bad));
});

test('a text is made to fit by leaving out what it cannot have, and cutting between characters', () => {
  assert.equal(fitText('two\nlines'), 'twolines');
  assert.equal(fitText('💥'.repeat(64)), '💥'.repeat(63));
  fc.assert(
    fc.property(anyText({ maxLength: 400 }), (text) => {
      assert.ok(isText(fitText(text)));
      assert.ok(!isText(text) || fitText(text) === text);
    }),
    { numRuns: 60 },
  );
});

test('a router id is a site id and a name', () => {
  assert.ok(isRouterId(neighbour.router));
  for (const bad of [
    '',
    'r',
    `${testSite('b').id}`,
    `${testSite('b').id}/`,
    `${testSite('b').id}/-r`,
    `${testSite('b').id}/r/r`,
    `${testSite('b').id}/${'r'.repeat(64)}`,
  ])
    assert.ok(!isRouterId(bad), bad);
});
