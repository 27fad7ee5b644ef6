import assert from 'node:assert/strict';
import type { Buffer } from 'node:buffer';
import { test } from 'node:test';
import { readMessage, writeRecords } from '../../../src/routing/codec.ts';
import { TestNetwork, type TestLink } from './support/network.ts';
import { disagreements } from './support/reference.ts';

const minute = 60_000;
const connector = (routingKey: string, connectors = 1): { routingKey: string; connectors: number; listeners: number } => ({
  routingKey,
  connectors,
  listeners: 0,
});

/** The same message with other ages, or with fewer records. */
function withAges(message: Buffer, ageOf: (age: number, record: Buffer) => number | undefined): readonly Buffer[] {
  const read = readMessage(message);
  if (read.kind !== 'records') return [message];
  const told = read.records.flatMap(({ age, bytes }) => {
    const other = ageOf(age, bytes);
    return other === undefined ? [] : [{ age: other, bytes }];
  });
  return writeRecords(told, message.length + 1);
}

/** x is next to b, b next to a; the liar is next to both a and x. */
function besideALiar(): TestNetwork {
  const network = new TestNetwork(['liar', 'a', 'b', 'x']);
  network.facts('x', { edge: false, keys: [connector('backend')] });
  network.link('liar', 'a', 1);
  network.link('liar', 'x', 1);
  network.link('a', 'b', 1);
  network.link('b', 'x', 1);
  return network;
}

test('false ages from a neighbour do not remove a reachable router', () => {
  for (const lie of [1799, 1800, 65_535, 0]) {
    const network = besideALiar();
    // Its links come first, so it is always the first to announce.
    network.tamper = (from, _link, message) => (from === 'liar' ? withAges(message, () => lie) : [message]);
    network.converge();
    for (let passed = 0; passed < 45; passed += 1) {
      network.pass(minute);
      assert.deepEqual(disagreements(network, ['a', 'b', 'x']), [], `age ${lie}, after ${passed} minutes`);
    }
  }
});

test('a router that is reachable only now and then is not removed for the age that others announce', () => {
  const network = besideALiar();
  network.tamper = (from, _link, message) => (from === 'liar' ? withAges(message, () => 1799) : [message]);
  network.converge();
  network.cut('liar-x');
  network.cut('b-x');
  network.pass(5 * minute);
  // No router announces its keys again: a still has what it cached of them.
  network.tamper = (from, _link, message) =>
    from === 'x' || from === 'b' ? withAges(message, (age, bytes) => (bytes.includes('backend') ? undefined : age)) : [message];
  network.link('b', 'x', 1);
  network.pass(1000);
  assert.equal(network.routing('a').destinations('backend').length, 1);
});

test('an unreachable router is removed half an hour later, for any age announced before', () => {
  const network = besideALiar();
  network.tamper = (from, _link, message) => (from === 'liar' ? withAges(message, () => 0) : [message]);
  network.converge();
  network.cut('liar-x');
  network.cut('b-x');
  network.converge();
  const { version } = network.routing('b');
  network.pass(31 * minute);
  assert.ok(network.routing('b').version > version);
});

test('a lost record is noticed within a minute, and a silent first peer delays that little', () => {
  const network = besideALiar();
  network.converge();
  let mute = false;
  network.tamper = (from, _link, message) => {
    const { kind } = readMessage(message);
    if (from === 'liar') return mute && (kind === 'records' || kind === 'done') ? [] : [message];
    return mute || kind !== 'records' ? [message] : [];
  };
  network.facts('x', { edge: false, keys: [connector('backend'), connector('new')] });
  network.pass(1000);
  assert.deepEqual(network.routing('a').destinations('new'), []);
  mute = true;
  network.pass(minute);
  assert.deepEqual(disagreements(network, ['a', 'b', 'x']), []);
});

test('a router of an earlier version, which compares only once, is compared with', () => {
  const network = new TestNetwork(['a', 'b']);
  for (const [old, other] of [
    ['a', 'b'],
    ['b', 'a'],
  ] as const) {
    network.link('a', 'b', 1);
    network.converge();
    let losing = true;
    network.tamper = (from, _link, message) => {
      const { kind } = readMessage(message);
      return (from === old && kind === 'summary') || (losing && kind === 'records') ? [] : [message];
    };
    network.facts(old, { edge: false, keys: [connector(`of ${old}`)] });
    network.facts(other, { edge: false, keys: [connector(`of ${other}`)] });
    network.pass(1000);
    losing = false;
    network.pass(minute);
    assert.deepEqual(disagreements(network, ['a', 'b']), []);
  }
});

test('while nothing changes a link carries one summary in half a minute, and none is answered', () => {
  const network = besideALiar();
  network.converge();
  let summaries = 0;
  let others = 0;
  network.tamper = (_from, _link: TestLink, message) => {
    if (readMessage(message).kind === 'summary') summaries += 1;
    else others += 1;
    return [message];
  };
  network.pass(5 * minute);
  assert.equal(others, 0);
  assert.ok(summaries >= 4 * 9 && summaries <= 4 * 10, `${summaries} summaries over four links`);
});
