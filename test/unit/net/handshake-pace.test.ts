import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { HandshakePace } from '../../../src/net/handshake-pace.ts';

function paced(t: TestContext): {
  readonly enter: (name: string, group: string) => void;
  readonly leave: (name: string, group: string) => void;
  readonly started: string[];
  readonly pass: (milliseconds: number) => void;
} {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  let now = 0;
  const pace = new HandshakePace<string>(() => now);
  const started: string[] = [];
  return {
    enter: (name, group) => pace.enter(name, group, () => started.push(name)),
    leave: (name, group) => pace.leave(name, group),
    started,
    pass: (milliseconds) => {
      for (let left = milliseconds; left > 0; left -= 1) {
        now += 1;
        t.mock.timers.tick(1);
      }
    },
  };
}

const names = (group: string, count: number): readonly string[] => Array.from({ length: count }, (_, index) => `${group}${index}`);

test('the first few begin at once, further ones of the same address one by one, the last first', (t) => {
  const { enter, started, pass } = paced(t);
  const all = names('a', 40);
  for (const name of all) enter(name, 'a');
  const atOnce = started.length;
  assert.ok(atOnce >= 2 && atOnce <= 8, `${atOnce} at once`);
  pass(3);
  assert.equal(started.length, atOnce);
  pass(1_000);
  assert.deepEqual(started, [...all.slice(0, atOnce), ...all.slice(atOnce).toReversed()]);
});

test('a client with few connections does not wait behind those with many', (t) => {
  const { enter, started } = paced(t);
  for (const name of names('a', 500)) enter(name, 'a');
  enter('b0', 'b');
  assert.equal(started.at(-1), 'b0');
});

test('a connection that ended while it waited does not begin, and costs no other connection its start', (t) => {
  const { enter, leave, started, pass } = paced(t);
  const all = names('a', 34);
  for (const name of all) enter(name, 'a');
  const [first = '', last = ''] = all.slice(-2);
  assert.ok(!started.includes(first) && !started.includes(last));
  leave(last, 'a');
  pass(12);
  assert.equal(started.at(-1), first);
  pass(1_000);
  assert.ok(!started.includes(last));
});

test('after a while without any, a few begin at once again, also where very many have come by', (t) => {
  const { enter, started, pass } = paced(t);
  for (const name of names('a', 33)) enter(name, 'a');
  const atOnce = started.length;
  pass(2_000);
  for (const group of names('g', 3_000)) enter(group, group);
  const before = started.length;
  for (const name of names('again', 33)) enter(name, 'a');
  assert.equal(started.length - before, atOnce);
});
