/** `make demo-connection` on a machine of its own: what it claims, and how it ends. */
import assert from 'node:assert/strict';
import { chmod, readdir, readFile, readlink, writeFile } from 'node:fs/promises';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { SYSTEM_PATH } from '../harness/command.ts';
import { createNetwork } from './harness/index.ts';

const DEMO = [process.execPath, fileURLToPath(new URL('../../scripts/demo-connection.ts', import.meta.url))];
const TIME = { timeoutMs: 120_000 };

/** Every claim, in the order in which they are made. */
const CLAIMS = [
  /no way from west to the server yet: the client is refused/,
  /the link is ready/,
  /a client of west reads what the server behind east says/,
  /site, link and listener are Ready/,
  /east and west see each other, and who has what of the key "web"/,
  /with east gone, clients of west are refused at once and do not hang/,
  /the listener of west says why/,
  /link and listener came back by themselves, \d+\.\d s after east was started/,
  /the link has another certificate, with a new key/,
  /the connection that was open went on: 64 MB came, with the SHA-256 of what was sent/,
  /the link has ended, and clients of west are refused/,
  /the status of the link says that west is revoked/,
];

test('the demo of connections shows each step, even if its ports are taken, and leaves nothing behind', async (t) => {
  await using net = await createNetwork({ hosts: ['here'], test: t });
  const here = net.host('here');
  // An even port may be any connection's own: the system gives those first. So the port for links is to be the odd one after these.
  for (const port of [8081, 55_671, 55_672]) {
    const other = await here.spawn(['socat', `TCP-LISTEN:${port},fork`, 'PIPE'], { name: `other-${port}` });
    await other.ready(() => here.listens(port));
  }
  const tmp = await here.folder('tmp');
  const { code, stdout, stderr } = await here.attempt(DEMO, { ...TIME, env: { TMPDIR: tmp } });
  assert.equal(code, 0, stdout + stderr);
  assert.equal(stderr, '');
  const claims = [...stdout.matchAll(/^ {2}ok: (.*)$/gm)].map(([, claim = '']) => claim);
  assert.equal(claims.length, CLAIMS.length, claims.join('\n'));
  for (const [index, claim] of CLAIMS.entries()) assert.match(claims[index] ?? '', claim);
  assert.match(stdout, /^ {2}\$ curl -sS -m 5 http:\/\/127\.0\.0\.1:8082\/\n {4}hello from behind east$/m);
  assert.match(stdout, /first answer through the link/);
  assert.deepEqual([await readdir(tmp), await programsIn(tmp)], [[], []]);
});

test('the demo of connections fails where a client sees something else, and says where the logs are', async (t) => {
  await using net = await createNetwork({ hosts: ['here'], test: t });
  const here = net.host('here');
  const [tmp, bin] = [await here.folder('tmp'), await here.folder('bin')];
  await writeFile(`${bin}/curl`, '#!/bin/sh\necho hello from somewhere else\n');
  await chmod(`${bin}/curl`, 0o755);
  const { code, stdout, stderr } = await here.attempt(DEMO, { ...TIME, env: { TMPDIR: tmp, PATH: `${bin}:${SYSTEM_PATH}` } });
  assert.equal(code, 1, stdout + stderr);
  assert.match(stderr, /The demo failed in step 2\. .*\nexpected: .*the client is refused\nbut saw: .*hello from somewhere else/);
  const [, folder = ''] = /^Logs and files are in (.*)$/m.exec(stderr) ?? [];
  assert.match(await readFile(`${folder}/east.log`, 'utf8'), /"message":"running"/);
  assert.deepEqual(await programsIn(tmp), []);
});

test('the demo of connections names a program that is missing', async (t) => {
  await using net = await createNetwork({ hosts: ['here'], test: t });
  const here = net.host('here');
  const [tmp, bin] = [await here.folder('tmp'), await here.folder('bin')];
  await here.run(['ln', '-s', '/bin/sh', `${bin}/sh`]);
  const { code, stderr } = await here.attempt(['env', `PATH=${bin}`, ...DEMO], { ...TIME, env: { TMPDIR: tmp } });
  assert.equal(code, 1);
  assert.match(stderr, /curl is missing \(Debian: apt-get install curl busybox-static; `make demo-connection` does that\)/);
});

test('the demo of connections that is interrupted ends everything it has started', async (t) => {
  await using net = await createNetwork({ hosts: ['here'], test: t });
  const here = net.host('here');
  const tmp = await here.folder('tmp');
  const demo = await here.spawn(DEMO, { name: 'demo', env: { TMPDIR: tmp } });
  await demo.ready(() => demo.output.includes('$ earshot -n east token issue'), { timeoutMs: 60_000 });
  assert.ok((await programsIn(tmp)).length >= 3, 'two sites and a web server run');
  demo.signal('SIGINT');
  assert.deepEqual(await demo.exited, { code: 130, signal: null }, demo.output);
  assert.match(demo.output, /The demo was stopped; nothing of it is left\./);
  assert.deepEqual([await readdir(tmp), await programsIn(tmp)], [[], []]);
});

test('the demo of connections ends everything when its reader is gone', async (t) => {
  await using net = await createNetwork({ hosts: ['here'], test: t });
  const here = net.host('here');
  const tmp = await here.folder('tmp');
  const said = await here.run(['sh', '-c', `${DEMO.join(' ')} | grep -m 1 'token issue'`], { ...TIME, env: { TMPDIR: tmp } });
  assert.match(said, /\$ earshot -n east token issue/);
  assert.deepEqual([await readdir(tmp), await programsIn(tmp)], [[], []]);
});

/** Process ids of the programs whose working directory is in a folder, or was before it was removed. */
async function programsIn(folder: string): Promise<readonly string[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  // A process may end meanwhile.
  const places = await Promise.all(pids.map(async (pid) => ({ pid, cwd: await readlink(`/proc/${pid}/cwd`).catch(() => '') })));
  return places.filter(({ cwd }) => cwd.startsWith(`${folder}/`)).map(({ pid }) => pid);
}
