/** SSH through a link: sessions, commands, and files by both of its ways to copy. */
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { startLinkedPair, startSshd, type LinkedPair } from './harness/index.ts';

const PORT = 2222;
const BYTES = 50_000_000;

interface Shell extends AsyncDisposable {
  readonly pair: LinkedPair;
  /** Options of `ssh` and `scp`. */
  readonly options: readonly string[];
}

async function shell(t: TestContext): Promise<Shell> {
  const pair = await startLinkedPair(t, { ssh: PORT });
  const {
    client: [, ...options],
  } = await startSshd(pair.server, { port: PORT });
  await pair.ready();
  return { pair, options, [Symbol.asyncDispose]: () => pair[Symbol.asyncDispose]() };
}

const FAR = 'root@127.0.0.1';

test('a session on a terminal takes its commands one by one and ends with the exit code of the last', async (t) => {
  await using far = await shell(t);
  const { client } = far.pair;
  const session = await client.attempt(['ssh', ...far.options, '-tt', '-p', String(PORT), FAR, 'sh'], {
    input: 'stty -echo; PS1=\nx=6\ntest -t 0 && echo "terminal $((x * 7))"\nexit 3\n',
  });
  assert.equal(session.code, 3, session.stderr);
  assert.match(session.stdout, /terminal 42\r\n/);
});

test('a command reads its input to the end and answers after that', async (t) => {
  await using far = await shell(t);
  const { client } = far.pair;
  const input = Buffer.alloc(5_000_000, 'input that is long enough for several windows\n');
  assert.equal(await client.run(['ssh', ...far.options, '-p', String(PORT), FAR, 'wc -c'], { input }), '5000000\n');
});

for (const [name, protocol] of [
  ['SFTP', []],
  ['the old protocol of scp', ['-O']],
] as const) {
  test(`files are copied unchanged there and back, by ${name}`, async (t) => {
    await using far = await shell(t);
    const { client, server } = far.pair;
    await client.run(['sh', '-c', `head -c ${BYTES} /dev/urandom > '${client.dir}/sent'`], { timeoutMs: 120_000 });
    const scp = (from: string, to: string): Promise<string> =>
      client.run(['scp', '-q', ...protocol, ...far.options, '-P', String(PORT), from, to], { timeoutMs: 120_000 });
    await scp(`${client.dir}/sent`, `${FAR}:${server.dir}/kept`);
    await scp(`${FAR}:${server.dir}/kept`, `${client.dir}/back`);
    await client.run(['cmp', `${client.dir}/sent`, `${server.dir}/kept`]);
    await client.run(['cmp', `${client.dir}/sent`, `${client.dir}/back`]);
  });
}
