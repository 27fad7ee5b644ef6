import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Random } from '../../../../bench/routing/random.ts';
import { Backlog } from '../../../../src/router/link/session/backlog.ts';

test('bytes that wait come out as they went in, however they are cut', () => {
  const random = new Random(3);
  const backlog = new Backlog();
  let [next, expected] = [0, 0];
  for (let round = 0; round < 3_000; round += 1) {
    const chunk = Buffer.from(Array.from({ length: random.below(random.below(20) === 0 ? 2_000 : 6) }, () => next++ & 0xff));
    backlog.add(chunk);
    chunk.fill(0);
    const taken = backlog.bytes.subarray(0, random.below(backlog.length + 1));
    for (const byte of taken) assert.equal(byte, expected++ & 0xff);
    backlog.drop(taken.length);
    assert.equal(backlog.length, next - expected);
  }
  backlog.clear();
  assert.equal(backlog.bytes.length, 0);
});
