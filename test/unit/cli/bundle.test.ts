import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { gunzipSync } from 'node:zlib';
import { Namespace } from './namespace.ts';
import { untar } from './untar.ts';

const run = promisify(execFile);
const main = fileURLToPath(new URL('../../../src/cli/main.ts', import.meta.url));
const NO_EARSHOT = /the program earshot is not on PATH\. Install Earshot/;

/** Another machine: an empty EARSHOT_HOME and a PATH of its own. */
class Target implements AsyncDisposable {
  readonly home: string;
  readonly #bin: string;

  private constructor(home: string) {
    this.home = join(home, 'data');
    this.#bin = join(home, 'bin');
  }

  static async make(): Promise<Target> {
    return new Target(await mkdtemp(join(tmpdir(), 'earshot-target-')));
  }

  /** @param script text after `#!/bin/sh`; default: the program itself */
  async hasEarshot(script = `exec ${process.execPath} ${main} "$@"`): Promise<void> {
    await mkdir(this.#bin, { recursive: true });
    await writeFile(join(this.#bin, 'earshot'), `#!/bin/sh\n${script}\n`);
    await chmod(join(this.#bin, 'earshot'), 0o755);
  }

  async sh(file: string, ...words: readonly string[]): Promise<{ readonly code: unknown; readonly out: string; readonly err: string }> {
    const env = { PATH: `${this.#bin}:/usr/bin:/bin`, EARSHOT_HOME: this.home, HOME: this.home };
    try {
      const { stdout, stderr } = await run('sh', [file, ...words], { env, timeout: 60_000 });
      return { code: 0, out: stdout, err: stderr };
    } catch (error) {
      const { code, stdout, stderr } = Object(error);
      return { code, out: String(stdout), err: String(stderr) };
    }
  }

  async files(namespace: string): Promise<readonly string[]> {
    const names = await readdir(join(this.home, 'namespaces', namespace), { recursive: true, withFileTypes: true });
    return names
      .flatMap((entry) => (entry.isFile() ? [join(entry.parentPath, entry.name).split('/input/')[1] ?? entry.name] : []))
      .toSorted();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return rm(join(this.home, '..'), { recursive: true, force: true });
  }
}

/** A namespace with a Site, a Listener and a TLS bundle. */
async function created(): Promise<Namespace> {
  const west = await Namespace.make();
  await west.earshot(['site', 'create', 'west', '--enable-link-access']);
  await west.earshot(['listener', 'create', 'web', '80']);
  const bundle = join(west.layout.input.certs, 'web');
  await mkdir(bundle, { recursive: true });
  for (const name of ['tls.crt', 'tls.key']) await writeFile(join(bundle, name), `${name}\n`);
  await writeFile(join(west.layout.input.resources, '.draft.yaml'), 'x');
  return west;
}

const INPUT = ['certs/web/tls.crt', 'certs/web/tls.key', 'resources/Listener-web.yaml', 'resources/Site-west.yaml'];

describe('a bundle', () => {
  it('as a shell script installs the namespace on another machine, once', async () => {
    await using west = await created();
    const { code, out, err } = await west.earshot(['system', 'generate-bundle', 'west', '--type', 'shell-script']);
    const file = join(west.home, 'bundles', 'west.sh');
    assert.deepEqual([code, out], [0, `${file} is written: 4 files.\n`], err);
    assert.match(err, /run `sh west\.sh` there/);
    assert.equal((await stat(file)).mode & 0o777, 0o700);
    await using target = await Target.make();
    const without = await target.sh(file);
    assert.deepEqual([without.code, NO_EARSHOT.test(without.err), existsSync(target.home)], [1, true, false]);
    await target.hasEarshot();
    const installed = await target.sh(file);
    assert.equal(installed.code, 0, installed.err);
    assert.match(installed.out, /The namespace west is installed in .*\/namespaces\/west\.\n/);
    assert.deepEqual(await target.files('west'), INPUT);
    const again = await target.sh(file);
    assert.equal(again.code, 1);
    assert.match(again.err, /the namespace west exists in .*Remove it with -x, or give another name with -n\./);
  });

  it('as a tarball installs it under another name, without an identity', async () => {
    await using west = await created();
    assert.equal((await west.earshot(['system', 'generate-bundle', 'west'])).code, 0);
    await using target = await Target.make();
    await target.hasEarshot();
    const folder = join(target.home, '..', 'unpacked');
    await mkdir(folder);
    await run('tar', ['-xzf', join(west.home, 'bundles', 'west.tar.gz'), '-C', folder]);
    const { code, err } = await target.sh(join(folder, 'install.sh'), '-p', 'linux', '-n', 'other');
    assert.equal(code, 0, err);
    assert.deepEqual(await target.files('other'), INPUT);
    const site = await readFile(join(target.home, 'namespaces/other/input/resources/Site-west.yaml'), 'utf8');
    assert.match(site, /linkAccess: default/);
  });

  it('passes the platform on, removes the namespace, and copies links', async () => {
    await using west = await created();
    await west.earshot(['-p', 'podman', 'system', 'generate-bundle', 'west', '--type=shell-script']);
    const file = join(west.home, 'bundles', 'west.sh');
    await using target = await Target.make();
    const root = join(target.home, 'namespaces/east');
    const state = JSON.stringify({ directory: root }, undefined, 2);
    await target.hasEarshot(`echo "earshot $*" >&2
case "$*" in *' system status '*) echo '${state}' | cat; exit 6 ;; *'link generate') mkdir -p ${root}/runtime/links; echo key >${root}/runtime/links/link-a-b.yaml ;; esac`);
    const links = join(target.home, '..');
    await writeFile(join(links, 'elsewhere'), 'untouched\n');
    await symlink(join(links, 'elsewhere'), join(links, 'link-a-b.yaml'));
    const { code, err } = await target.sh(file, '-n', 'east', '-d', links);
    assert.equal(code, 0, err);
    assert.equal(err, 'earshot -p podman -n east system install\nearshot -p podman -n east link generate\n');
    assert.equal(await readFile(join(links, 'link-a-b.yaml'), 'utf8'), 'key\n');
    assert.equal(await readFile(join(links, 'elsewhere'), 'utf8'), 'untouched\n', 'a link in place of the file is replaced, not followed');
    assert.deepEqual((await target.files('east')).slice(0, 2), INPUT.slice(0, 2));
    assert.equal((await target.sh(file, '-x', '-p', 'docker')).err, 'earshot -p docker -n west system uninstall --purge\n');
    for (const [words, pattern] of [
      [['-p', 'lxc'], /the platform lxc is not supported/],
      [['-d', '/none'], /\/none is not a directory/],
      [['-q'], /Usage: sh FILE/],
    ] as const)
      assert.match((await target.sh(file, ...words)).err, pattern);
  });

  it('is made of resources in any directory', async () => {
    await using west = await Namespace.make();
    const folder = join(west.home, 'crs');
    await mkdir(folder);
    await writeFile(join(folder, 'all.yml'), 'apiVersion: skupper.io/v2alpha1\nkind: Site\nmetadata:\n  name: west\n');
    await writeFile(join(folder, 'README'), 'x');
    assert.equal((await west.earshot(['system', 'generate-bundle', 'west', '--input', folder])).code, 0);
    const found = untar(gunzipSync(await readFile(join(west.home, 'bundles', 'west.tar.gz'))));
    assert.deepEqual([...found.keys()], ['install.sh', 'input/resources/all.yml']);
    assert.doesNotMatch(found.get('install.sh') ?? '', /python|LINES/);
  });

  it('is refused, and nothing is written', async () => {
    await using west = await created();
    const refuse = async (words: readonly string[], code: number, pattern: RegExp): Promise<void> => {
      const result = await west.earshot(['system', 'generate-bundle', ...words]);
      assert.deepEqual([result.code, pattern.test(result.err)], [code, true], result.err);
      assert.equal(existsSync(join(west.home, 'bundles')), false);
    };
    await refuse(['../west'], 2, /it is not a plain file name/);
    await refuse(['west', '--type', 'zip'], 2, /Allowed choices are tarball, shell-script/);
    await refuse(['west', '--input', '/none'], 4, /\/none is not a directory that can be read/);
    await refuse(['west', '--input', west.layout.input.certs], 2, /No bundle is written: .* has no Site\./);
    const link = join(west.layout.input.resources, 'passwd.yaml');
    await symlink('/etc/passwd', link);
    await refuse(['west'], 2, /passwd\.yaml cannot be put into a bundle: it is not a plain file/);
    await rm(link);
    await symlink('/etc', join(west.layout.input.root, 'issuers'));
    await refuse(['west'], 2, /issuers cannot be put into a bundle/);
    await rm(join(west.layout.input.root, 'issuers'));
    await writeFile(link, 'apiVersion: skupper.io/v2alpha1\nkind: Listener\nmetadata:\n  name: x\nspec: {}\n');
    await refuse(['west'], 2, /No bundle is written:\n {2}passwd\.yaml/);
  });
});
