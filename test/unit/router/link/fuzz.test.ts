import assert from 'node:assert/strict';
import { test } from 'node:test';
import { link } from '../../../fuzz/link.ts';
import { session } from '../../../fuzz/session.ts';

// Short runs of what `npm run fuzz` does for long.
test('sessions take or refuse whatever frames come, and forget their peers', async () => {
  const { accepted, refused } = await session.run({ cases: 300, seed: 1, first: 0, step: () => {} });
  assert.ok(accepted > 50 && refused > 50, `${accepted} accepted, ${refused} refused`);
});

test('links take or refuse whatever a peer with a good certificate says, and forget it', async () => {
  const { accepted, refused, notes } = await link.run({ cases: 150, seed: 1, first: 0, step: () => {} });
  assert.ok(accepted > 10 && refused > 50, `${accepted} accepted, ${refused} refused`);
  assert.ok((notes?.['up'] ?? 0) > 0, 'some links were up');
});
