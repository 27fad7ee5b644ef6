import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

const ROOT = join(import.meta.dirname, '../../..');
/** Scripts that a person may start by hand. They would do most harm by misreading an argument. */
const SCRIPTS = [
  'scripts/bundle.ts',
  'scripts/generate.ts',
  'scripts/image.ts',
  'test/fuzz/run.ts',
  'test/simulate/run.ts',
  'test/harness/bin/cluster-stop.ts',
  'test/harness/bin/load-image.ts',
  'bench/routing/fuzz.ts',
];

for (const script of SCRIPTS) {
  test(`${script} does nothing with an option that it does not know, and says which`, async () => {
    const child = execFile(process.execPath, [join(ROOT, script), '--nonsense'], { cwd: ROOT, timeout: 60_000 });
    let said = '';
    child.stderr?.on('data', (text: string) => void (said += text));
    const { promise, resolve } = Promise.withResolvers<number | null>();
    child.on('close', resolve);
    assert.equal(await promise, 2);
    assert.match(said, /--nonsense.*\nusage: node /);
    assert.ok(!existsSync(join(ROOT, '--nonsense')));
  });
}
