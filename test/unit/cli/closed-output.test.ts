import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const main = fileURLToPath(new URL('../../../src/cli/main.ts', import.meta.url));

test('a reader that has seen enough ends a command without a word', async (t) => {
  const command = spawn(process.execPath, [main, 'version'], { stdio: ['ignore', 'pipe', 'pipe'] });
  t.after(() => command.kill('SIGKILL'));
  command.stdout.destroy();
  const [[code, signal], said] = await Promise.all([once(command, 'exit'), text(command.stderr)]);
  assert.deepEqual({ code, signal, said }, { code: 141, signal: null, said: '' });
});
