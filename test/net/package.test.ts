/** The .deb and the tarball of `make dist`, as a user has them: a Debian without anything else, apt, and the README's commands. */
import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { chmod, cp, mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { writeFile } from 'node:fs/promises';
import { bundle } from '../../scripts/bundle.ts';
import { writeLinuxPackages } from '../../scripts/dist/linux-packages.ts';
import { programTree } from '../../scripts/dist/program-files.ts';
import { tarOf } from '../../scripts/image/tar.ts';
import { run } from '../harness/command.ts';
import { debianRoot } from '../harness/debian.ts';
import { toolFolder } from '../harness/tools.ts';
import { createNetwork, eventually, startHeldDownload, startNginx, type Host } from './harness/index.ts';

/** Releases that differ in version and commit only. */
const [OLD, NEW] = [
  { version: '0.0.9', commit: 'a'.repeat(40) },
  { version: '0.0.10', commit: 'b'.repeat(40) },
];
const DATE = new Date('2026-01-02T03:04:05Z');
const ARCHITECTURE = process.arch === 'arm64' ? 'arm64' : 'x64';
const DOWNLOAD = randomBytes(64 * 2 ** 20);

let folder = '';
let base = '';

before(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'earshot-package-'));
  await toolFolder('nfpm');
  base = await debianRoot(['libstdc++6', 'libatomic1']);
  for (const { version, commit } of [OLD, NEW]) {
    const tree = await programTree(await bundle(undefined, { commit, date: DATE.toISOString() }), ARCHITECTURE, DATE);
    await writeLinuxPackages({ version, architecture: ARCHITECTURE, tree, date: DATE, out: folder });
    const inFolder = tree.map((entry) => ({ ...entry, path: `earshot-${version}/${entry.path}` }));
    await writeFile(path.join(folder, `${version}.tar.gz`), gzipSync(tarOf(inFolder), { level: 1 }));
  }
});

after(() => rm(folder, { recursive: true, force: true }));

/** A machine with a Debian of its own. */
class Machine implements AsyncDisposable {
  readonly host: Host;
  readonly root: string;

  private constructor(host: Host) {
    this.host = host;
    this.root = `${host.dir}/root`;
  }

  static async start(host: Host): Promise<Machine> {
    const machine = new Machine(host);
    await cp(base, machine.root, { recursive: true, verbatimSymlinks: true, filter: (file) => !file.startsWith(path.join(base, 'dev/')) });
    // The user of the package must be able to enter it.
    await chmod(machine.root, 0o755);
    await run('mount', ['-t', 'proc', 'proc', `${machine.root}/proc`]);
    await run('mount', ['--bind', '/dev', `${machine.root}/dev`]);
    return machine;
  }

  /** Runs a command line in it. */
  sh(line: string): Promise<string> {
    return this.host.run(['chroot', this.root, 'sh', '-c', line], { timeoutMs: 120_000 });
  }

  async install({ version }: { readonly version: string }): Promise<void> {
    await cp(path.join(folder, `earshot-${version}-linux-${ARCHITECTURE}.deb`), `${this.root}/tmp/earshot.deb`);
    await this.sh('apt-get install -qq -y /tmp/earshot.deb');
  }

  /** Starts `earshot run` as root. @returns ends it as a service manager does */
  start(): Promise<() => Promise<void>> {
    return this.#start([]);
  }

  /** Starts `earshot run` as the packages' unit does: as its user, with one capability. */
  startService(): Promise<() => Promise<void>> {
    const capabilities = ['inh-caps', 'ambient-caps', 'bounding-set'].map((set) => `--${set}=-all,+net_bind_service`);
    const asUser = ['setpriv', '--reuid=earshot', '--regid=earshot', '--clear-groups', '--no-new-privs', ...capabilities];
    return this.#start([...asUser, 'env', 'EARSHOT_HOME=/var/lib/earshot']);
  }

  async #start(words: readonly string[]): Promise<() => Promise<void>> {
    const program = await this.host.spawn(['chroot', this.root, ...words, 'earshot', 'run'], { name: 'earshot' });
    await eventually('the site to run', () => this.sh('earshot system status'));
    return async () => void (await program.stop(60_000));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const mount of ['dev', 'proc']) await run('umount', ['--lazy', `${this.root}/${mount}`]);
  }
}

test('two machines with the package connect, and an upgrade cuts no download', async (t) => {
  await using net = await createNetwork({ hosts: ['west', 'east'], test: t });
  await startNginx(net.host('east'), { port: 8000, files: { '/large': DOWNLOAD } });
  await using west = await Machine.start(net.host('west'));
  await using east = await Machine.start(net.host('east'));
  const begin = performance.now();
  await Promise.all([west.install(OLD), east.install(OLD)]);
  assert.match(await west.sh('earshot version'), new RegExp(`commit: +${OLD.commit}`));

  await west.sh('earshot site create west --enable-link-access');
  const stopWest = await west.startService();
  await west.sh('earshot token issue /tmp/token.yaml && earshot listener create web 80 --host 127.0.0.1');
  await east.sh('earshot site create east');
  const stopEast = await east.startService();
  await cp(`${west.root}/tmp/token.yaml`, `${east.root}/tmp/token.yaml`);
  await east.sh('earshot token redeem /tmp/token.yaml && earshot connector create web 8000 --host 127.0.0.1');
  await west.sh('earshot wait listener/web');
  assert.equal(await west.host.run(['curl', '-sS', 'http://127.0.0.1/']), 'hello from east\n');
  t.diagnostic(`${((performance.now() - begin) / 1000).toFixed(1)} s from the first package to the first answer`);

  const download = await startHeldDownload(west.host, 'http://127.0.0.1/large');
  await Promise.all([west.install(NEW), east.install(NEW)]);
  assert.match(await west.sh('earshot version'), new RegExp(`commit: +${NEW.commit}`));
  assert.match(await west.sh('earshot status'), /another build than this command/);
  assert.equal((await download.readOn()).sha256, createHash('sha256').update(DOWNLOAD).digest('hex'));

  await stopWest();
  await west.startService();
  assert.doesNotMatch(await west.sh('earshot status'), /another build than this command/);
  await west.sh('earshot wait listener/web');
  assert.equal(await west.host.run(['curl', '-sS', 'http://127.0.0.1/']), 'hello from east\n');

  await stopEast();
  await east.sh('apt-get remove -qq -y earshot');
  assert.equal(await east.sh('ls /usr/lib/earshot 2>/dev/null || ls /var/lib/earshot/namespaces'), 'default\n', 'the site stays');
  await east.sh('apt-get purge -qq -y earshot');
  assert.equal(await east.sh("find / -xdev -name '*earshot*' -not -path '/proc/*' -not -path '/tmp/*'"), '');
});

test('the tarball runs from /opt by a link', async (t) => {
  await using net = await createNetwork({ hosts: ['west'], test: t });
  await using west = await Machine.start(net.host('west'));
  await cp(path.join(folder, `${NEW.version}.tar.gz`), `${west.root}/tmp/earshot.tar.gz`);
  await west.sh(`tar -xzf /tmp/earshot.tar.gz -C /opt && ln -s /opt/earshot-${NEW.version}/bin/earshot /usr/local/bin/earshot`);
  assert.match(await west.sh('cd / && earshot version'), new RegExp(`commit: +${NEW.commit}`));
  await west.sh('earshot site create west');
  const stop = await west.start();
  assert.match(await west.sh('earshot status'), /Site: +west/);
  await stop();
});

test('a package has at most 70 MB', async (t) => {
  const { size } = await stat(path.join(folder, `earshot-${NEW.version}-linux-${ARCHITECTURE}.deb`));
  t.diagnostic(`${(size / 1e6).toFixed(1)} MB`);
  assert.ok(size <= 70e6);
});

test('two builds of a commit give the same packages', async () => {
  const again = await mkdtemp(path.join(tmpdir(), 'earshot-package-'));
  try {
    const tree = await programTree(await bundle(undefined, { commit: OLD.commit, date: DATE.toISOString() }), ARCHITECTURE, DATE);
    const names = await writeLinuxPackages({ version: OLD.version, architecture: ARCHITECTURE, tree, date: DATE, out: again });
    const sums = (at: string): Promise<string> => run('sh', ['-c', `cd ${at} && sha256sum ${names.join(' ')}`]);
    assert.equal(await sums(again), await sums(folder));
    assert.deepEqual((await readdir(again)).toSorted(), [...names].toSorted());
  } finally {
    await rm(again, { recursive: true, force: true });
  }
});
