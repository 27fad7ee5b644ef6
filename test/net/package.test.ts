/** The .deb and the tarball of `make dist`, as a user has them: a Debian with systemd and apt, and the README's commands. */
import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { cp, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { bundle } from '../../scripts/bundle.ts';
import { writeLinuxPackages } from '../../scripts/dist/linux-packages.ts';
import { programTree } from '../../scripts/dist/program-files.ts';
import { tarOf } from '../../scripts/image/tar.ts';
import { run } from '../harness/command.ts';
import { debianRoot } from '../harness/debian.ts';
import { toolFolder } from '../harness/tools.ts';
import { createNetwork, eventually, startHeldDownload, startNginx } from './harness/index.ts';
import { SystemdMachine } from './harness/systemd-machine.ts';

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
  base = await debianRoot(['libstdc++6', 'libatomic1', 'systemd-sysv']);
  for (const { version, commit } of [OLD, NEW]) {
    const tree = await programTree(await bundle(undefined, { commit, date: DATE.toISOString() }), ARCHITECTURE, DATE);
    await writeLinuxPackages({ version, architecture: ARCHITECTURE, tree, date: DATE, out: folder });
    const inFolder = tree.map((entry) => ({ ...entry, path: `earshot-${version}/${entry.path}` }));
    await writeFile(path.join(folder, `${version}.tar.gz`), gzipSync(tarOf(inFolder), { level: 1 }));
  }
});

after(() => rm(folder, { recursive: true, force: true }));

/** Command lines of the README's section, one list for each indented block. */
async function readmeCommands(heading: string): Promise<readonly (readonly string[])[]> {
  const text = await readFile(path.join(import.meta.dirname, '../../README.md'), 'utf8');
  const section = text.split(/^## /m).find((each) => each.startsWith(`${heading}\n`)) ?? '';
  return [...section.matchAll(/(?:^ {4}.+\n)+/gm)].map(([block]) =>
    block
      .trim()
      .split('\n')
      .map((line) => line.trim()),
  );
}

/** Puts a package onto the machine, in the folder where commands run. */
async function bring({ root }: SystemdMachine, { version }: { readonly version: string }, name = 'earshot.deb'): Promise<void> {
  await cp(path.join(folder, `earshot-${version}-linux-${ARCHITECTURE}.deb`), `${root}/root/${name}`);
}

/** The figures of a unit, as systemd shows them. */
async function unitOf(machine: SystemdMachine, unit: string): Promise<ReadonlyMap<string, string>> {
  const shown = await machine.sh(`systemctl show ${unit} --property=ActiveState,MainPID,User,NRestarts`);
  return new Map(
    shown
      .trim()
      .split('\n')
      .map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]),
  );
}

async function untilState(machine: SystemdMachine, unit: string, state: string): Promise<ReadonlyMap<string, string>> {
  return eventually(`${unit} to be ${state}`, async () => {
    const found = await unitOf(machine, unit);
    if (found.get('ActiveState') !== state) throw new Error([...found].join(' '));
    return found;
  });
}

test('three commands of the README on each machine connect them, and an upgrade cuts no download', async (t) => {
  await using net = await createNetwork({ hosts: ['west', 'east'], test: t });
  await startNginx(net.host('east'), { port: 8000, files: { '/large': DOWNLOAD } });
  await using west = await SystemdMachine.start(net.host('west'), base);
  await using east = await SystemdMachine.start(net.host('east'), base);
  const [onWest = [], onEast = []] = await readmeCommands('Connect two sites');
  assert.deepEqual([onWest.length, onEast.length], [3, 3]);
  const [, name = ''] = /\.\/(\S+\.deb)/.exec(onWest[0] ?? '') ?? [];
  for (const machine of [west, east]) await bring(machine, OLD, name);

  const begin = performance.now();
  for (const line of onWest) await west.sh(line);
  await cp(`${west.root}/root/token.yaml`, `${east.root}/root/token.yaml`);
  for (const line of onEast) await east.sh(line);
  const curl = (): Promise<string> => west.host.run(['curl', '-sS', '--fail', 'http://127.0.0.1:8080/']);
  assert.equal(await eventually('the first answer', curl), 'hello from east\n');
  const seconds = (performance.now() - begin) / 1000;
  t.diagnostic(`${seconds.toFixed(1)} s from the first command to the first answer`);
  assert.ok(seconds <= 60, `${seconds} s`);

  assert.match(await west.sh('earshot version'), new RegExp(`commit: +${OLD.commit}`));
  const download = await startHeldDownload(west.host, 'http://127.0.0.1:8080/large');
  for (const machine of [west, east]) {
    await bring(machine, NEW);
    const said = await machine.sh('apt-get install -y ./earshot.deb');
    assert.match(said, /earshot-default\.service still runs the version before/);
  }
  assert.match(await west.sh('earshot version'), new RegExp(`commit: +${NEW.commit}`));
  assert.match(await west.sh('earshot status'), /another build than this command/);
  assert.equal((await download.readOn()).sha256, createHash('sha256').update(DOWNLOAD).digest('hex'));

  await west.sh('systemctl restart earshot-default && earshot wait --all');
  assert.doesNotMatch(await west.sh('earshot status'), /another build than this command/);
  assert.equal(await eventually('an answer after the restart', curl), 'hello from east\n');
});

test('systemd runs a site of the template, and its console, from enable to purge', async (t) => {
  await using net = await createNetwork({ hosts: ['west'], test: t });
  await using west = await SystemdMachine.start(net.host('west'), base);
  await bring(west, OLD);
  await west.sh('apt-get install -y ./earshot.deb && earshot -n west site create west && systemctl enable --now earshot@west');
  const first = await untilState(west, 'earshot@west', 'active');
  assert.equal(first.get('User'), 'earshot');
  await west.sh('earshot -n west wait site/west && earshot -n west system status');
  await west.sh('systemctl reload earshot@west');
  assert.equal((await unitOf(west, 'earshot@west')).get('MainPID'), first.get('MainPID'));

  await west.sh('earshot -n west system network-observer');
  const console = await untilState(west, 'earshot-console@west', 'active');
  assert.equal(console.get('User'), 'earshot');
  const link = new URL((await west.sh('earshot -n west console link')).trim());
  const body = JSON.stringify({ token: link.hash.slice('#t='.length) });
  const session = await west.host.run(['curl', '-sS', '--fail', '-d', body, `${link.origin}/api/v1/session`]);
  assert.match(session, /"bearer"/);
  assert.doesNotMatch(await west.sh('journalctl --no-pager -o cat'), /#t=/);
  await west.sh('systemctl restart earshot@west');
  await untilState(west, 'earshot@west', 'active');
  assert.equal(
    (await unitOf(west, 'earshot-console@west')).get('MainPID'),
    console.get('MainPID'),
    'a restart of the site keeps the console',
  );
  await west.sh('kill -9 $(systemctl show earshot@west --property=MainPID --value)');
  await eventually('systemd to restart the site', async () => (await unitOf(west, 'earshot@west')).get('NRestarts') === '1');
  await untilState(west, 'earshot-console@west', 'active');
  await west.sh('systemctl stop earshot@west');
  await untilState(west, 'earshot-console@west', 'inactive');
  await west.sh('systemctl start earshot@west');
  await untilState(west, 'earshot-console@west', 'active');

  await bring(west, NEW);
  assert.match(await west.sh('apt-get install -y ./earshot.deb'), /earshot-console@west\.service still runs the version before/);
  await west.sh('apt-get remove -y earshot');
  await untilState(west, 'earshot@west', 'inactive');
  await untilState(west, 'earshot-console@west', 'inactive');
  assert.equal(await west.sh('ls /usr/lib/earshot 2>/dev/null || ls /var/lib/earshot/namespaces'), 'west\n', 'the site stays');
  await west.sh('apt-get purge -y earshot');
  assert.equal(await west.sh("find / -xdev -name '*earshot*' -not -path '/proc/*' -not -path '/root/*'"), '');
});

test('the tarball runs from /opt by a link, and with its unit', async (t) => {
  await using net = await createNetwork({ hosts: ['west'], test: t });
  await using west = await SystemdMachine.start(net.host('west'), base);
  await cp(path.join(folder, `${NEW.version}.tar.gz`), `${west.root}/root/earshot.tar.gz`);
  const at = `/opt/earshot-${NEW.version}`;
  await west.sh(`tar -xzf earshot.tar.gz -C /opt && ln -s ${at}/bin/earshot /usr/local/bin/earshot`);
  assert.match(await west.sh('cd / && earshot version'), new RegExp(`commit: +${NEW.commit}`));
  const lines = (await installCommands()).map((line) => line.replaceAll('/opt/earshot-0.1.0-linux-x64', at));
  for (const line of lines) await west.sh(line);
  await west.sh('earshot -n west site create west && systemctl enable --now earshot@west && earshot -n west wait site/west');
  assert.match(await west.sh('earshot -n west status'), /Site: +west/);
  assert.equal((await unitOf(west, 'earshot@west')).get('User'), 'earshot');
});

/** The commands for the unit of the tarball in docs/install.md. */
async function installCommands(): Promise<readonly string[]> {
  const text = await readFile(path.join(import.meta.dirname, '../../docs/install.md'), 'utf8');
  const lines = text.split('\n').filter((line) => /^ {4}(?:useradd|sed) /.test(line));
  assert.equal(lines.length, 2);
  return lines.map((line) => line.trim());
}

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
