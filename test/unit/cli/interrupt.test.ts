/** Ctrl-C while a command waits, as a process of its own: the test runner handles SIGINT of this one. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { suite, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Namespace } from './namespace.ts';

const main = fileURLToPath(new URL('../../../src/cli/main.ts', import.meta.url));
const spec = { routingKey: 'web', host: '127.0.0.1', port: 8080, type: 'tcp', exposePodsByName: false };
const condition = { type: 'Matched', status: 'False', reason: 'NoConnector', message: 'no connector of web', lastTransitionTime: '' };
const pending = { status: 'Pending', message: 'no connector of web', conditions: [condition] };

interface Ended {
  readonly code: unknown;
  readonly out: string;
  readonly err: string;
}

/** Sends SIGINT once the command has written `sign` to standard error. */
async function interrupted(west: Namespace, words: readonly string[], sign: string): Promise<Ended> {
  const env = { ...process.env, EARSHOT_HOME: west.home };
  const command = spawn(process.execPath, [main, '-n', 'west', ...words], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  let err = '';
  command.stderr.setEncoding('utf8').on('data', (chunk: string) => {
    const was = err.includes(sign);
    err += chunk;
    if (!was && err.includes(sign)) command.kill('SIGINT');
  });
  const [[code], out] = await Promise.all([once(command, 'close'), text(command.stdout)]);
  return { code, out, err };
}

async function waiting(): Promise<Namespace> {
  const west = await Namespace.make();
  await west.run();
  await west.answer('Site', 'west', {}, { status: 'Ready' });
  return west;
}

suite('Ctrl-C', () => {
  test('ends `wait` with exit code 130, and says what it waited for and its state', async () => {
    await using west = await waiting();
    await west.answer('Listener', 'web', spec, pending);
    const { code, err } = await interrupted(west, ['wait', 'listener/web', '--timeout', '10m'], 'Waiting for');
    assert.equal(code, 130);
    assert.match(
      err,
      /^earshot: Interrupted while waiting for Listener "web" to be Ready: it is Pending: no connector of web\. Nothing was undone\. Check again with `earshot -n west status`\.$/m,
    );
  });

  for (const words of [['explain', 'listener', 'web'], ['check']])
    test(`ends \`${words.join(' ')} --wait\` with the last result`, async () => {
      await using west = await waiting();
      await west.answer('Listener', 'web', spec, pending);
      const { code, out, err } = await interrupted(west, [...words, '--wait', '10m'], 'Waiting');
      assert.deepEqual([code, err.split('\n').at(-2)], [130, 'earshot: Interrupted while waiting. The result above is the last one.']);
      assert.match(out, /no connector of web/);
    });

  test('ends `create --wait`, and says that the object stays', async () => {
    await using west = await waiting();
    const words = ['listener', 'create', 'web', '8080', '--host', '127.0.0.1', '--wait', 'ready', '--timeout', '10m'];
    const { code, out, err } = await interrupted(west, words, 'Waiting for');
    assert.deepEqual([code, out], [130, '']);
    assert.match(err, /^earshot: Interrupted while waiting for Listener "web" to be ready: .*"web" was created nevertheless\./m);
    assert.match((await west.text('Listener-web.yaml')) ?? '', /routingKey: web/);
  });
});
