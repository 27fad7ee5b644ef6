import assert from 'node:assert/strict';
import { it } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { RoundRobin } from '../../../../src/limits/loop/round-robin.ts';

it('does one piece in a turn of the loop, for one after the other, and what was given up never', async () => {
  const turns = new RoundRobin();
  const done: string[] = [];
  const piece = (name: string) => () => void done.push(name);
  for (const name of ['a1', 'a2', 'a3']) turns.add('a', piece(name));
  const left = piece('b0');
  turns.add('b', left);
  turns.add('b', piece('b1'));
  turns.delete('b', left);
  assert.deepEqual(done, []);
  for (const expected of ['a1', 'a1 b1', 'a1 b1 a2', 'a1 b1 a2 a3', 'a1 b1 a2 a3']) {
    await setImmediate();
    assert.equal(done.join(' '), expected);
  }
});
