import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const main = fileURLToPath(new URL('../../../src/cli/main.ts', import.meta.url));

test('a reader that has seen enough ends a command without a word', async (t) => {
  // It starts only after the reading end of its output was closed.
  const command = spawn('sh', ['-c', 'read begin && exec "$0" "$@"', process.execPath, main, 'version'], {
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  t.after(() => command.kill('SIGKILL'));
  command.stdout.destroy();
  await once(command.stdout, 'close');
  command.stdin.end('begin\n');
  const [[code, signal], said] = await Promise.all([once(command, 'exit'), text(command.stderr)]);
  assert.deepEqual({ code, signal, said }, { code: 141, signal: null, said: '' });
});
