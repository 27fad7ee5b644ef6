/** Short runs of what `npm run simulate` does for long. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { changed } from '../simulate/change.ts';
import { faults } from '../simulate/faults/faults.ts';
import { LIMIT, ROUTERS, runJob } from '../simulate/jobs.ts';
import { SCALES } from '../simulate/scale.ts';
import { shorten } from '../simulate/shorten.ts';

/** Fewer at a desk: a quarter of the seeds finds most of what a change breaks, and CI runs the others. */
const SEEDS = process.env['CI'] === 'true' ? 200 : 50;

test(
  'worlds of routers come to rest with nothing lost, nothing left and nothing thrown, whatever happens to them',
  { timeout: LIMIT },
  async (t) => {
    const { failure, done } = await runJob(ROUTERS, { from: 1, count: SEEDS }, t.signal);
    assert.deepEqual(failure?.wrong, undefined, `npm run simulate -- --seed ${failure?.seed}`);
    assert.equal(done.seeds, SEEDS);
    await t.test('a seed is the same run in every process, after whatever other seeds', async () => {
      const alone = await runJob(ROUTERS, { from: SEEDS, count: 1 });
      assert.notEqual(alone.done.digest, 0);
      assert.equal(alone.done.digest, done.digest);
    });
  },
);

test('an error of a tick is kept, and its other ticks run before the next event', async () => {
  const program = `
    import { Loop } from ${JSON.stringify(new URL('../simulate/loop.ts', import.meta.url).href)};
    const loop = new Loop(() => 0.5);
    const seen = [];
    loop.at(1, undefined, () => {
      process.nextTick(() => { throw new Error('first'); });
      process.nextTick(() => { throw new Error('second'); });
      process.nextTick(() => seen.push('tick'));
      Promise.resolve().then(() => seen.push('promise'));
    });
    loop.at(2, undefined, () => seen.push('next'));
    loop.at(3, undefined, () => process.nextTick(() => { throw new Error('last'); }));
    await loop.run(10);
    console.log(JSON.stringify([seen, loop.thrown.map(({ message }) => message)]));
  `;
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', program]);
  assert.deepEqual(JSON.parse(stdout), [
    ['tick', 'promise', 'next'],
    ['first', 'second', 'last'],
  ]);
});

test('the code that the simulator replaces in the router exists', () => {
  for (const change of [...SCALES, ...Object.values(faults).flatMap(({ changes }) => changes)]) {
    const text = readFileSync(new URL(`../../src/${change.file}`, import.meta.url), 'utf8');
    assert.notEqual(changed(text, [change]), text);
  }
  assert.throws(() => changed('a a', [{ file: 'b', from: 'a', to: '' }]), /2 times/);
});

test('a history is shortened to what makes it fail', async () => {
  const all = Array.from({ length: 40 }, (_, at) => at);
  assert.deepEqual(await shorten(all, async (some) => some.includes(7) && some.includes(31)), [7, 31]);
});
