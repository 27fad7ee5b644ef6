import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { NODE_FLAGS } from '../../../scripts/image/node-flags.ts';

test('a router that the image starts with the flags of controllers gets its own young generation', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'earshot-flags-'));
  try {
    const file = path.join(folder, 'main.mjs');
    const source = path.join(import.meta.dirname, '../../../src/cli/processes/v8-flags.ts');
    writeFileSync(file, `import { applyV8Flags } from ${JSON.stringify(source)}; applyV8Flags(); console.log(process.execArgv.join(' '));`);
    const flags = execFileSync(process.execPath, [...NODE_FLAGS, file], { encoding: 'utf8', env: {} });
    assert.ok(flags.lastIndexOf('--max-semi-space-size=4') > flags.indexOf('--max-semi-space-size=1'), flags);
    assert.ok(flags.indexOf('--no-optimize-for-size') > flags.indexOf('--optimize-for-size'), flags);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
