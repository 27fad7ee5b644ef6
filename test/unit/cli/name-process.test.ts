import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { RunningSite } from './running-site.ts';

test('a site is called earshot by what lists processes, and its command line says which it is', async () => {
  await using site = await RunningSite.make();
  const { pid } = await site.start();
  assert.equal(readFileSync(`/proc/${pid}/comm`, 'utf8'), 'earshot\n');
  assert.match(readFileSync(`/proc/${pid}/cmdline`, 'utf8'), /\0-n\0west\0run\0/);
});
