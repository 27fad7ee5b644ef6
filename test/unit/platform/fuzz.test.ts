import assert from 'node:assert/strict';
import { test } from 'node:test';
import { files } from '../../fuzz/files.ts';

// A short run of what `npm run fuzz` does for long.
test('whatever stands in a file becomes a plan, or a problem fit for a terminal', async () => {
  const { accepted, refused } = await files.run({ cases: 150, seed: 1, first: 0, step: () => {} });
  assert.ok(accepted > 20 && refused > 50, `${accepted} accepted, ${refused} refused`);
});
