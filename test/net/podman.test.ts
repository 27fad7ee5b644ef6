/** Routers in containers of Podman: the command lines of src/cli/actions/router-container.ts, run for real. */
import assert from 'node:assert/strict';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { test, type TestContext } from 'node:test';
import { parse } from 'yaml';
import {
  reloadArguments,
  removeCommand,
  runArguments,
  stopArguments,
  type RouterContainer,
} from '../../src/cli/actions/router-container.ts';
import {
  connector,
  createNetwork,
  eventually,
  linkByToken,
  listener,
  manifest,
  networkOf,
  startEcho,
  startNginx,
  startSite,
  type Host,
  type Site,
} from './harness/index.ts';
import { Engine, noEngine, type ContainerSite } from './harness/engine.ts';

const skip = noEngine ?? false;
const PAGE = ['curl', '-sS', '--max-time', '20', 'http://127.0.0.1:8080/'];

interface Pair extends AsyncDisposable {
  readonly west: ContainerSite;
  readonly east: Site;
  readonly engine: Engine;
  /** Host of the containers, where clients are. */
  readonly client: Host;
  readonly server: Host;
}

/** East is a process and has nginx; west is a site in containers, linked to it. Nothing runs west yet. */
async function startPair(t: TestContext): Promise<Pair> {
  await using stack = new AsyncDisposableStack();
  const net = stack.use(await createNetwork({ hosts: ['west', 'east'], test: t }));
  const [client, server] = [net.host('west'), net.host('east')];
  const [engine, east] = await Promise.all([
    Engine.start(client),
    startSite(server, { access: true, resources: [connector('web', '127.0.0.1', 80), connector('echo', '127.0.0.1', 7000)] }),
    startNginx(server, { port: 80 }),
    startEcho(server, { port: 7000 }),
  ]);
  stack.use(engine);
  const west = engine.site('west');
  await west.apply(manifest('Site', 'west'), listener('web', '0.0.0.0', 8080));
  const owned = stack.move();
  return { west, east, engine, client, server, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

test('a router in a container is a site like any other, for links, files, signals and commands', { skip }, async (t) => {
  await using pair = await startPair(t);
  const { west, east, engine, client } = pair;

  await west.earshot(['system', 'install', '--platform', 'podman']);
  await linkByToken(west, east);
  await west.waitFor('Listener', 'web');
  assert.equal(await client.run(PAGE), 'hello from east\n');

  // The CLI of the machine shows it, and so does the other site.
  const status = await west.attempt(['system', 'status', '--output', 'yaml']);
  const shown = parse(status.stdout) as Record<string, unknown>;
  assert.equal(shown['platform'], 'podman', status.stdout);
  assert.match(status.stdout, /container: west-skupper-router/);
  assert.match(await readFile(`${west.root}/internal/platform.yaml`, 'utf8'), /^platform: podman$/m);
  const seen = await east.waitFor('Site', 'east', (found) => networkOf(found).some(({ platform }) => platform === 'podman'));
  assert.deepEqual(
    networkOf(seen)
      .map(({ platform }) => platform)
      .sort(),
    ['linux', 'podman'],
  );
  const labels = await engine.run([
    'ps',
    '--filter',
    'label=application=skupper-v2',
    '--filter',
    'label=skupper.io/v2-component=router',
    '--format',
    '{{.Names}}',
  ]);
  assert.equal(labels.trim(), 'west-skupper-router');
  assert.match(await west.earshot(['logs', '--tail', '500']), /"message":"running"/);

  // A file takes effect while the router runs, and HUP reads them all again.
  await west.apply(listener('echo', '127.0.0.1', 7000));
  await west.waitFor('Listener', 'echo');
  await engine.run(['kill', '--signal', 'HUP', 'west-skupper-router']);
  await eventually('the router to read its files again', async () => (await west.earshot(['logs', '--tail', '50'])).includes('reloading'));

  // Started twice: refused, by the name of the container, since its PID is another process here.
  const twice = await west.attempt(['run']);
  assert.notEqual(twice.code, 0);
  assert.match(twice.stderr, /container west-skupper-router already runs the namespace/);
  assert.match(await west.earshot(['system', 'start']), /west-skupper-router is started/);

  await t.test('a report has the state of the container', async () => {
    await west.earshot(['debug', 'dump', `${engine.dir}/west.tar.gz`]);
    const files = await client.run(['tar', '-xzOf', `${engine.dir}/west.tar.gz`, '--wildcards', '*containers.yaml', '*engine.txt']);
    assert.match(files, /name: west-skupper-router\n {2}state: running/);
    assert.match(files, /Version: +\d/);
  });

  await t.test('stopping lets open connections finish, and keeps the namespace', async () => {
    const talk = await client.spawn(['sh', '-c', '(echo first; sleep 4; echo last) | socat -t 10 - TCP:127.0.0.1:7000 > talk'], {
      cwd: client.dir,
    });
    await eventually('the connection to be open', async () => (await readFile(`${client.dir}/talk`, 'utf8')) === 'first\n');
    await west.earshot(['system', 'stop']);
    await talk.exited;
    assert.equal(await readFile(`${client.dir}/talk`, 'utf8'), 'first\nlast\n');
    assert.equal(await engine.run(['ps', '--all', '--quiet']), '');
    assert.equal((await west.attempt(['system', 'status'])).code, 6);
    assert.match(await readFile(`${west.root}/input/resources/Site-west.yaml`, 'utf8'), /west/);
  });

  await t.test('a killed container is reported with its exit code', async () => {
    await west.earshot(['system', 'start']);
    await west.waitFor('Listener', 'web');
    await engine.run(['kill', '--signal', 'KILL', 'west-skupper-router']);
    const killed = await eventually('the container to be reported', async () => {
      const found = await west.attempt(['system', 'status']);
      return found.code === 6 && found;
    });
    assert.match(killed.stdout, /Container: +west-skupper-router, exited with code 137/);
    assert.match((await west.attempt(['status'])).stdout, /no process runs the namespace west/);
  });

  await t.test('a container of that name without our labels stays, and is named', async () => {
    await west.earshot(['system', 'uninstall']);
    await engine.script('west-skupper-router', 'none', 'setInterval(() => {}, 1000)');
    const refused = await west.attempt(['system', 'install', '--platform', 'podman']);
    assert.equal(refused.code, 5);
    assert.match(refused.stderr, /The container west-skupper-router belongs to another program/);
    assert.match(await engine.run(['ps', '--format', '{{.Names}}']), /^west-skupper-router$/m);
    await engine.run(['rm', '--force', '--time', '0', 'west-skupper-router']);
  });

  await west.earshot(['system', 'uninstall', '--purge']);
  await assert.rejects(readFile(`${west.root}/internal/platform.yaml`), /ENOENT/);
});

test('two routers of a site share its directory: when the container that leads is killed, the process leads', { skip }, async (t) => {
  await using pair = await startPair(t);
  const { west, east, engine, client } = pair;
  await west.apply(manifest('Site', 'west', { ha: true }));
  await west.earshot(['system', 'install', '--platform', 'podman']);
  await linkByToken(west, east);
  await west.waitFor('Listener', 'web');
  const second = await startSite(client, {
    name: 'west',
    home: west.home,
    router: 'second',
    resources: [manifest('Site', 'west', { ha: true })],
  });
  await engine.run(['kill', '--signal', 'KILL', 'west-skupper-router']);
  // Only a leader writes statuses.
  await west.apply(listener('echo', '127.0.0.1', 7000));
  await west.waitFor('Listener', 'echo');
  assert.equal(await client.run(PAGE), 'hello from east\n');
  await second.stop();
});

test("the lines of systemd's unit start, reload and stop the container, and notify systemd", { skip }, async (t) => {
  await using net = await createNetwork({ hosts: ['west'], test: t });
  const host = net.host('west');
  await using engine = await Engine.start(host);
  const west = engine.site('west');
  await west.apply(manifest('Site', 'west'));
  const container = containerOf(engine, west, {});
  await using _journal = await receive(host, '/run/systemd/journal/socket', `${engine.dir}/journal`);
  const notify = `${engine.dir}/notify`;
  await using _notify = await receive(host, notify, `${engine.dir}/notified`);

  await run(engine, ['/bin/sh', '-c', removeCommand(container)]);
  await run(engine, ['podman', ...runArguments(container)], { NOTIFY_SOCKET: notify });
  const hears = (what: string): Promise<boolean> =>
    eventually(`the journal to have ${what}`, async () => (await readFile(`${engine.dir}/journal`, 'utf8')).includes(what));
  await hears('"message":"running"');
  const said = await eventually('the notification', async () => {
    const text = await readFile(`${engine.dir}/notified`, 'utf8');
    return text.includes('READY=1') && text;
  });
  assert.match(said, /^MAINPID=\d+$/m);
  await run(engine, ['podman', ...reloadArguments(container)]);
  await hears('reloading');
  // The next start removes leftovers of a machine crash, and only those.
  await engine.script('bystander', 'none', 'setInterval(() => {}, 1000)');
  await run(engine, ['/bin/sh', '-c', removeCommand(container)]);
  assert.equal((await engine.run(['ps', '--all', '--format', '{{.Names}}'])).trim(), 'bystander');
  await run(engine, ['podman', ...runArguments(container)], { NOTIFY_SOCKET: notify });
  await run(engine, ['podman', ...stopArguments(container)]);
  assert.equal((await engine.run(['ps', '--all', '--format', '{{.Names}}'])).trim(), 'bystander');
});

test('without root, a router has the files of its user and links to other sites', { skip }, async (t) => {
  const user = await ensureUser();
  await using net = await createNetwork({ hosts: ['west', 'east'], test: t });
  const east = await startSite(net.host('east'), { access: true, resources: [connector('web', '127.0.0.1', 80)] });
  await startNginx(net.host('east'), { port: 80 });
  await using engine = await Engine.start(net.host('west'), { user });
  const west = engine.site('west');
  await run(engine, ['mkdir', '-p', west.root]);
  await run(engine, ['podman', ...runArguments({ ...containerOf(engine, west, user), isRootless: true, supervisor: 'engine' })]);
  await eventually(
    'the router to have its namespace',
    async () => (await engine.attempt(['test', '-d', west.layout.input.resources])).code === 0,
  );
  await west.apply(manifest('Site', 'west'), listener('web', '0.0.0.0', 8080));
  const token = `${west.layout.input.resources}/token.yaml`;
  await east.earshot(['token', 'issue', token]);
  await net.host('west').run(['chmod', '644', token]);
  await west.waitFor('Listener', 'web');
  assert.equal(await net.host('west').run(PAGE), 'hello from east\n');
  assert.equal((await net.host('west').run(['stat', '--format', '%u', `${west.layout.internal.identityKey}`])).trim(), String(user.uid));
});

function containerOf(
  engine: Engine,
  west: ContainerSite,
  { uid = 0, gid = 0 }: { readonly uid?: number; readonly gid?: number },
): RouterContainer {
  return {
    engine: engine.program,
    program: engine.program,
    namespace: west.name,
    home: west.home,
    image: engine.image,
    siteId: undefined,
    aliases: [],
    user: { uid, gid },
    isRootless: false,
    drainSeconds: 5,
    supervisor: 'systemd',
  };
}

async function run(engine: Engine, argv: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<string> {
  const { code, stdout, stderr } = await engine.attempt(argv, { env });
  assert.equal(code, 0, `${argv.join(' ')}: ${stderr}`);
  return stdout;
}

/** Receives datagrams as systemd and its journal do, and appends them to a file. */
async function receive(host: Host, socket: string, file: string): Promise<AsyncDisposable> {
  await mkdir(socket.slice(0, socket.lastIndexOf('/')), { recursive: true });
  await writeFile(file, '');
  const server = await host.spawn(['socat', '-u', `UNIX-RECV:${socket},unlink-early`, `OPEN:${file},append`], { name: 'socat' });
  await server.ready(async () => (await host.attempt(['test', '-S', socket])).code === 0);
  return {
    [Symbol.asyncDispose]: async () => {
      await server.kill();
      await rm(socket, { force: true });
    },
  };
}

/** A user with subordinate IDs (subuid(5)), made once. */
async function ensureUser(): Promise<{ readonly name: string; readonly uid: number; readonly gid: number }> {
  const { execFile } = await import('node:child_process');
  const { promisify } = await import('node:util');
  const exec = promisify(execFile);
  const name = 'earshot-test';
  await exec('id', [name]).catch(() => exec('useradd', ['--no-create-home', '--shell', '/usr/sbin/nologin', name]));
  const [uid, gid] = await Promise.all(['-u', '-g'].map(async (flag) => Number((await exec('id', [flag, name])).stdout)));
  return { name, uid: uid ?? 0, gid: gid ?? 0 };
}
