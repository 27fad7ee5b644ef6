import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { run } from '../harness/command.ts';
import { startTimeOf } from '../harness/proc.ts';
import { createNetwork, eventually, startEcho, type Host } from './harness/index.ts';

/** Seconds: without a word, socat gives the other direction half of one once this one has ended. */
const PATIENCE = '20';

/** @param connect seconds that a connection may take: few where none is to come */
async function says(from: Host, address: string, port: number, connect = PATIENCE): Promise<string> {
  const place = `TCP:${address.includes(':') ? `[${address}]` : address}:${port},connect-timeout=${connect}`;
  return from.run(['socat', '-t', PATIENCE, '-', place], { input: 'hello', timeoutMs: 60_000 });
}

test('a host sees only hosts of its own segments, and nothing outside', async (t) => {
  await using net = await createNetwork({
    hosts: ['west', 'middle', 'east'],
    segments: { left: ['west', 'middle'], right: ['middle', 'east'] },
    test: t,
  });
  const east = net.host('east');
  await startEcho(east, { port: 7000 });
  assert.equal(await says(net.host('middle'), east.v4, 7000), 'hello');
  await assert.rejects(says(net.host('west'), east.v4, 7000), /unreachable/);
});

test('a wire that is cut is seen, one that is silenced is not, and both come back', async (t) => {
  await using net = await createNetwork({ hosts: ['west', 'east'], test: t });
  const [west, east] = [net.host('west'), net.host('east')];
  await startEcho(east, { port: 7000 });
  await west.cut();
  await assert.rejects(says(west, east.v6, 7000), /unreachable/);
  await west.restore();
  assert.equal(await says(west, east.v6, 7000), 'hello');
  await east.silence();
  await assert.rejects(says(west, east.v6, 7000, '1'), /timed out/i);
  await east.restore();
  assert.equal(await says(west, east.v6, 7000), 'hello');
});

test('packets to one port of one host can be dropped until they are let through again', async (t) => {
  await using net = await createNetwork({ hosts: ['west', 'east'], test: t });
  const [west, east] = [net.host('west'), net.host('east')];
  for (const port of [7000, 7001]) await startEcho(east, { port });
  await west.drop(east.v4, 7000);
  await assert.rejects(says(west, east.v4, 7000, '1'), /timed out/i);
  assert.equal(await says(west, east.v4, 7001), 'hello');
  await west.heal();
  assert.equal(await says(west, east.v4, 7000), 'hello');
});

test('nothing is left of a network: neither programs that its programs left behind, nor namespaces', async () => {
  let pid = 0;
  let netns = '';
  {
    await using net = await createNetwork({ hosts: ['west'] });
    netns = `es-${net.name}`;
    pid = Number(await net.host('west').run(['sh', '-c', 'setsid sleep 1000 >/dev/null 2>&1 & echo $!']));
    assert.notEqual(startTimeOf(Number(pid)), undefined);
  }
  assert.equal(startTimeOf(pid), undefined);
  assert.ok(!(await run('ip', ['netns', 'list'])).includes(netns));
});

test('the next network removes what a killed owner left', async () => {
  const index = new URL('harness/index.ts', import.meta.url).href;
  const script = `
    const { createNetwork } = await import('${index}');
    const net = await createNetwork({ hosts: ['west'] });
    const program = await net.host('west').spawn(['sleep', '1000']);
    console.log(net.name, program.pid);
    setInterval(() => undefined, 1_000);`;
  const owner = spawn(process.execPath, ['--input-type=module-typescript', '-e', script], {
    cwd: fileURLToPath(new URL('.', import.meta.url)),
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = await once(owner.stdout, 'data');
  const [name = '', pid = ''] = String(line).trim().split(' ');
  owner.kill('SIGKILL');
  await once(owner, 'exit');
  assert.notEqual(startTimeOf(Number(pid)), undefined);
  await using _next = await createNetwork({ hosts: ['west'] });
  await eventually('the program to be gone', () => startTimeOf(Number(pid)) === undefined);
  assert.ok(!(await run('ip', ['netns', 'list'])).includes(name));
  // Its folder stays, to explain why the owner was killed; here that is known.
  await rm(`/tmp/earshot-net/${name}`, { recursive: true });
});
