import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { schedules } from '../../runner/schedule.ts';

const ROOT = join(import.meta.dirname, '../../..');

test('the schedule names only files that exist', () => {
  const named = Object.values(schedules).flatMap(({ first }) => first);
  assert.deepEqual(
    named.filter((file) => !existsSync(join(ROOT, file))),
    [],
  );
});

test('files that run beside those of the shared cluster do not use it', () => {
  for (const file of schedules.e2e.first)
    assert.doesNotMatch(readFileSync(join(ROOT, file), 'utf8'), /\b(?:connectCluster|useNamespace)\b/);
});
