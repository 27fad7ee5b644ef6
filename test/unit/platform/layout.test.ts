import assert from 'node:assert/strict';
import { renameSync, writeFileSync } from 'node:fs';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { baseDirectory, layoutOf, resourceFileName } from '../../../src/platform/linux/layout.ts';
import { machineHosts } from '../../../src/platform/linux/machine.ts';
import {
  announceRouter,
  lockRouter,
  runningRouters,
  SiblingRouters,
  follower,
  leadingRouters,
} from '../../../src/platform/linux/routers.ts';
import { DirectoryWatch } from '../../../src/platform/linux/watch.ts';
import { aDirectory, aNamespace, until } from './support.ts';

for (const [name, surroundings, expected] of [
  ['EARSHOT_HOME', { env: { EARSHOT_HOME: '/srv/e', XDG_DATA_HOME: '/x' }, uid: 0, home: '/root' }, '/srv/e'],
  ['root', { env: { XDG_DATA_HOME: '/x' }, uid: 0, home: '/root' }, '/var/lib/earshot'],
  ['XDG_DATA_HOME', { env: { XDG_DATA_HOME: '/x' }, uid: 1000, home: '/home/u' }, '/x/earshot'],
  ['a relative XDG_DATA_HOME', { env: { XDG_DATA_HOME: 'x' }, uid: 1000, home: '/home/u' }, '/home/u/.local/share/earshot'],
  ['nothing', { env: { EARSHOT_HOME: '' }, uid: 1000, home: '/home/u' }, '/home/u/.local/share/earshot'],
] as const) {
  test(`with ${name} namespaces are below ${expected}`, () => assert.equal(baseDirectory(surroundings), expected));
}

test('no name leads out of its directory', () => {
  for (const name of ['..', '.', '', 'a/b', '/a', 'a\0', 'A', '-a', 'a-', 'a'.repeat(64), 'a_b', 'ä']) {
    assert.throws(() => layoutOf(name, '/base'), { code: 'bad-name' });
  }
  for (const name of ['..', 'a..b', '.a', 'a.', 'a/b', '', 'a'.repeat(254)]) {
    assert.throws(() => resourceFileName('Listener', name), { code: 'bad-name' });
  }
  assert.throws(() => resourceFileName('../Listener', 'a'), { code: 'bad-name' });
  assert.equal(resourceFileName('Listener', 'a.b'), 'Listener-a.b.yaml');
});

test('a router runs once, and its name says which process has it', async (t) => {
  const layout = await aNamespace(t);
  using _lock = await lockRouter(layout, 'router');
  await announceRouter(layout, { pid: process.pid, router: 'router', httpPort: 1, startedAt: '', version: '1' });
  await assert.rejects(lockRouter(layout, 'router'), {
    code: 'router-running',
    message: new RegExp(`process ${process.pid} already runs`),
  });
  using _other = await lockRouter(layout, 'b');
});

test('a router has siblings only while others run, and none of those that were killed', async (t) => {
  const layout = await aNamespace(t);
  const announce = (router: string): Promise<void> =>
    announceRouter(layout, { pid: process.pid, router, httpPort: 1, startedAt: '', version: '1' });
  using _own = await lockRouter(layout, 'router');
  await announce('router');
  // Killed, and its pid is that of another program by now: this one.
  (await lockRouter(layout, 'dead'))[Symbol.dispose]();
  await announce('dead');
  await announce('older');
  await writeFile(join(layout.runtime.run, 'garbage.json'), '{"pid":');
  const siblings = new SiblingRouters(layout, 'router');
  assert.equal(await siblings.run(), false);
  assert.equal(await siblings.config(false), undefined);
  assert.deepEqual(await siblings.config(true), {
    kind: 'unix',
    socket: join(layout.runtime.run, 'router.sock'),
    others: [],
    sharesPorts: true,
  });
  using _other = await lockRouter(layout, 'b');
  await announce('b');
  assert.deepEqual((await runningRouters(layout)).map(({ router }) => router).sort(), ['b', 'router']);
  assert.equal(await siblings.run(), true);
  assert.deepEqual(await siblings.config(false), {
    kind: 'unix',
    socket: join(layout.runtime.run, 'router.sock'),
    others: [join(layout.runtime.run, 'b.sock')],
    sharesPorts: true,
  });
});

test('routers of container networks share no ports with the machine, do not lead, and do not count as running the site', async (t) => {
  const layout = await aNamespace(t);
  const announce = async (router: string, network?: string): Promise<Disposable> => {
    const more = network === undefined ? {} : { network, aliases: ['earshot'] };
    await announceRouter(layout, { pid: process.pid, router, httpPort: 1, startedAt: '', version: '1', ...more });
    return lockRouter(layout, router);
  };
  using _net = await announce('net-apps', 'apps');
  assert.deepEqual([(await runningRouters(layout)).length, await leadingRouters(layout)], [1, []]);
  using _own = await announce('router');
  const [host, net] = [new SiblingRouters(layout, 'router'), new SiblingRouters(layout, 'net-apps', 'apps')];
  const socket = (router: string): string => join(layout.runtime.run, `${router}.sock`);
  assert.deepEqual(await host.config(false), { kind: 'unix', socket: socket('router'), others: [socket('net-apps')], sharesPorts: false });
  assert.deepEqual(await net.config(true), { kind: 'unix', socket: socket('net-apps'), others: [socket('router')], sharesPorts: false });
  assert.deepEqual([await host.run(), await net.run()], [false, true]);
  assert.deepEqual(host.networkRouters(), [{ network: 'apps', router: 'net-apps', aliases: ['earshot'] }]);
  assert.equal(follower.lead(), false);
});

test('hosts of a machine are IPv4, then IPv6, then its name, without local ones', () => {
  const address = (family: 'IPv4' | 'IPv6', text: string, internal = false) =>
    ({ family, address: text, internal, netmask: '', mac: '', cidr: null, ...(family === 'IPv6' ? { scopeid: 0 } : {}) }) as never;
  const interfaces = {
    lo: [address('IPv4', '127.0.0.1', true), address('IPv6', '::1', true)],
    eth0: [address('IPv6', 'fe80::1'), address('IPv6', '2001:db8::7'), address('IPv4', '192.0.2.7'), address('IPv4', '169.254.1.1')],
  };
  assert.deepEqual(machineHosts(interfaces, 'Box'), ['192.0.2.7', '2001:db8::7', 'box']);
  assert.deepEqual(machineHosts({ lo: interfaces.lo }, 'localhost'), ['127.0.0.1']);
});

test('a change is reported soon, and several close together once', async (t) => {
  const directory = await aDirectory(t);
  let calls = 0;
  using watcher = new DirectoryWatch({ onChange: () => (calls += 1), quiet: 30, poll: 3_600_000 });
  watcher.follow([directory]);
  // Within one turn: however slow the disk, they are close together.
  for (let file = 0; file < 20; file++) writeFileSync(join(directory, `${file}.yaml`), 'x');
  await until(() => calls > 0, 'the change is reported');
  assert.equal(calls, 1);
  writeFileSync(join(directory, 'draft'), 'x');
  await until(() => calls > 1, 'a new file is reported');
  renameSync(join(directory, 'draft'), join(directory, '0.yaml'));
  await until(() => calls > 2, 'a rename over a file is reported');
});

test('a directory that comes later, or again, is found by the poll', async (t) => {
  const directory = join(await aDirectory(t), 'later');
  let calls = 0;
  using watcher = new DirectoryWatch({ onChange: () => (calls += 1), quiet: 5, poll: 30 });
  watcher.follow([directory]);
  await mkdir(directory);
  await until(() => calls > 2, 'the poll has passed');
  await rm(directory, { recursive: true });
  await mkdir(directory);
  const before = calls;
  await until(() => calls > before, 'it is looked at again');
});

test('changes of a directory are reported even if they never stop', async (t) => {
  const directory = await aDirectory(t);
  let told = false;
  using watcher = new DirectoryWatch({ onChange: () => (told = true), quiet: 200, longest: 300, poll: 3_600_000 });
  watcher.follow([directory]);
  await until(async () => {
    await writeFile(join(directory, 'busy'), String(Math.random()));
    return told;
  }, 'the change is reported while writing continues');
});
