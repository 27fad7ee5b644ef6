/** Short runs of what `npm run play` does for long. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { faults } from '../fake-cluster/faults.ts';
import { CHANGES } from '../fake-cluster/surroundings.ts';
import { changed } from '../simulate/change.ts';
import { CLUSTERS, LIMIT, runJob } from '../simulate/jobs.ts';

/** Fewer at a desk: CI runs the others. */
const SEEDS = process.env['CI'] === 'true' ? 150 : 60;

test(
  'whatever order things happen in, Listeners, Services, mounts and files come to what the rules say without a timer, and then to rest',
  { timeout: LIMIT },
  async (t) => {
    const { failure, done } = await runJob(CLUSTERS, { from: 1, count: SEEDS }, t.signal);
    assert.deepEqual(failure?.wrong, undefined, `npm run play -- --seed ${failure?.seed}`);
    assert.equal(done.seeds, SEEDS);
    await t.test('a seed is the same cluster in every process, after whatever other seeds', async () => {
      const alone = await runJob(CLUSTERS, { from: SEEDS, count: 1 });
      assert.notEqual(alone.done.digest, 0);
      assert.equal(alone.done.digest, done.digest);
    });
  },
);

test('the code that a simulated cluster replaces in Earshot exists', () => {
  for (const change of [...CHANGES, ...Object.values(faults).flatMap(({ changes }) => changes)]) {
    const text = readFileSync(new URL(`../../src/${change.file}`, import.meta.url), 'utf8');
    assert.notEqual(changed(text, [change]), text);
  }
});
