/** Podman and Docker for tests: storage and networks of their own, and an image of this checkout. They run on a host's network. */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { chmod, chown, mkdir, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { layoutOf, type NamespaceLayout } from '../../../src/platform/linux/layout.ts';
import { eventually } from '../../harness/wait.ts';
import { execute, outputOf, SYSTEM_PATH, type CommandOptions, type Outcome } from '../../harness/command.ts';
import { environment, Program } from '../../harness/program.ts';
import type { Host } from './host.ts';
import { Site } from './site.ts';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const IMAGE = /: (localhost\/earshot:\S+), /;

/** Why engines cannot run on this machine; undefined if they can. With systemd, units would be used instead. */
export const noEngine: string | undefined = existsSync('/run/systemd/system')
  ? 'systemd runs on this machine, and the tests must not write its units'
  : undefined;

export interface EngineOptions {
  readonly engine?: 'podman' | 'docker';
  /** User of the engine. Default: root. */
  readonly user?: { readonly name: string; readonly uid: number; readonly gid: number };
}

interface BuiltImage {
  readonly archive: string;
  readonly image: string;
}

const built = new Map<string, Promise<BuiltImage>>();

/** Builds the image of this checkout once for all tests of a process. */
function buildImage(engine: 'podman' | 'docker'): Promise<BuiltImage> {
  const image = built.get(engine) ?? writeImage(engine === 'docker' ? 'docker-archive' : 'oci-archive');
  built.set(engine, image);
  return image;
}

async function writeImage(format: string): Promise<BuiltImage> {
  const folder = mkdtempSync(join(tmpdir(), 'earshot-image-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  // Users of an engine without root read it too.
  await chmod(folder, 0o755);
  const archive = `${folder}/earshot.tar`;
  const argv = [process.execPath, `${ROOT}scripts/image.ts`, '--out', archive, '--format', format];
  const said = outputOf('image.ts', await execute(argv, { env: environment({}) }));
  return { archive, image: IMAGE.exec(said)?.[1] ?? '' };
}

/** One engine on a host. The end of the block removes all its containers and files. */
export class Engine implements AsyncDisposable {
  readonly host: Host;
  readonly dir: string;
  readonly program: 'podman' | 'docker';
  readonly image: string;
  readonly env: Readonly<Record<string, string>>;
  readonly #prefix: readonly string[];
  readonly #daemon: Program | undefined;

  private constructor(host: Host, created: Pick<Engine, 'dir' | 'program' | 'image' | 'env'>, prefix: readonly string[], daemon?: Program) {
    this.host = host;
    ({ dir: this.dir, program: this.program, image: this.image, env: this.env } = created);
    this.#prefix = prefix;
    this.#daemon = daemon;
  }

  /** Starts what the engine needs and loads an image of this checkout. */
  static async start(host: Host, { engine = 'podman', user }: EngineOptions = {}): Promise<Engine> {
    const dir = await host.folder(engine);
    if (user !== undefined) await chown(dir, user.uid, user.gid);
    // Not `ip netns exec`: it hides the control groups, which runc needs.
    const network = ['nsenter', `--net=/run/netns/${host.netns}`];
    const as = user === undefined ? [] : ['setpriv', `--reuid=${user.uid}`, `--regid=${user.gid}`, '--init-groups'];
    const env: Record<string, string> = { HOME: dir, PATH: SYSTEM_PATH, XDG_RUNTIME_DIR: `${dir}/xdg` };
    await mkdir(`${dir}/xdg`, { mode: 0o700 });
    if (user !== undefined) await chown(`${dir}/xdg`, user.uid, user.gid);
    let daemon: Program | undefined;
    if (engine === 'podman') {
      await writeFile(`${dir}/containers.conf`, containersConf(dir, user !== undefined));
      await writeFile(`${dir}/storage.conf`, storageConf(dir, user !== undefined));
      Object.assign(env, { CONTAINERS_CONF: `${dir}/containers.conf`, CONTAINERS_STORAGE_CONF: `${dir}/storage.conf` });
    } else {
      Object.assign(env, { DOCKER_HOST: `unix://${dir}/docker.sock` });
      daemon = await Program.start(`dockerd on ${host.name}`, [...network, 'dockerd', ...dockerdOptions(dir)], {
        cwd: undefined,
        env: environment(env),
        log: `${dir}/dockerd.log`,
      });
    }
    const { archive, image } = await buildImage(engine);
    const created = new Engine(host, { dir, program: engine, image, env }, [...network, ...as], daemon);
    try {
      await eventually(`${engine} to answer`, () => created.run(['version']), { timeoutMs: 30_000 });
      await created.run(['load', '-i', archive]);
    } catch (error) {
      await created[Symbol.asyncDispose]();
      throw error;
    }
    return created;
  }

  /** Runs the engine to its end. @throws HarnessError */
  async run(args: readonly string[], options: CommandOptions = {}): Promise<string> {
    return outputOf(`${this.program} ${args.join(' ').slice(0, 300)}`, await this.attempt([this.program, ...args], options));
  }

  /** Runs any program as the engine's user, on the network of the host. */
  async attempt(argv: readonly string[], options: CommandOptions = {}): Promise<Outcome> {
    return execute([...this.#prefix, ...argv], { ...options, cwd: this.dir, env: environment({ ...this.env, ...options.env }) });
  }

  /** A site whose directory containers use. Nothing runs it yet. */
  site(name: string): ContainerSite {
    return new ContainerSite(this, name);
  }

  /** Starts a container of the image that runs JavaScript. */
  async script(name: string, network: string, code: string): Promise<void> {
    await this.run([
      'run',
      '--detach',
      '--name',
      name,
      '--network',
      network,
      '--entrypoint',
      '/usr/local/bin/node',
      this.image,
      '-e',
      code,
    ]);
  }

  /** Runs JavaScript in a container and returns what it writes. */
  async evaluate(network: string, code: string): Promise<string> {
    return this.run(['run', '--rm', '--network', network, '--entrypoint', '/usr/local/bin/node', this.image, '-e', code]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const ids = (await this.attempt([this.program, 'ps', '--all', '--quiet'])).stdout
      .trim()
      .split('\n')
      .filter((id) => id !== '');
    if (ids.length > 0) await this.attempt([this.program, 'rm', '--force', '--time', '0', ...ids]);
    await this.#daemon?.stop(10_000);
    // Files of other users of a container's user namespace.
    await this.attempt(['podman', 'unshare', 'rm', '-rf', `${this.dir}/root`]).catch(() => undefined);
    // Mounts of an engine would keep the folder from being removed.
    const mounts = (await readFile('/proc/self/mounts', 'utf8')).split('\n').map((line) => line.split(' ')[1] ?? '');
    for (const mount of mounts.filter((path) => path.startsWith(`${this.dir}/`)).toReversed()) spawnSync('umount', ['--lazy', mount]);
  }
}

/** A site of a host whose routers run in containers. Its files are written and read as those of `Site`. */
export class ContainerSite extends Site {
  readonly #engine: Engine;
  readonly #folder: NamespaceLayout;

  constructor(engine: Engine, name: string) {
    super(engine.host, { name, home: `${engine.dir}/home` });
    this.#engine = engine;
    this.#folder = layoutOf(name, `${engine.dir}/home`);
  }

  override async earshot(args: readonly string[], options: CommandOptions = {}): Promise<string> {
    return outputOf(`earshot ${args.join(' ')}`, await this.attempt(args, options));
  }

  override attempt(args: readonly string[], options: CommandOptions = {}): Promise<Outcome> {
    const argv = [process.execPath, `${ROOT}src/cli/main.ts`, '-n', this.name, ...args];
    return this.#engine.attempt(argv, { timeoutMs: 120_000, ...options, env: { ...options.env, EARSHOT_HOME: this.home } });
  }

  /** Directory of the namespace. */
  get root(): string {
    return this.#folder.root;
  }
}

/** runc, since crun may be missing; limits that this machine can set; no file outside of the folder. */
function containersConf(dir: string, isRootless: boolean): string {
  const limits = isRootless ? '' : 'default_ulimits = ["nofile=20000:20000", "nproc=1000:1000"]\n';
  return `[engine]
cgroup_manager = "cgroupfs"
runtime = "runc"
events_logger = "file"
[containers]
${limits}[network]
network_config_dir = "${dir}/networks"
`;
}

function storageConf(dir: string, isRootless: boolean): string {
  return `[storage]
driver = "${isRootless ? 'vfs' : 'overlay'}"
graphroot = "${dir}/root"
runroot = "${dir}/run"
`;
}

function dockerdOptions(dir: string): readonly string[] {
  const files = ['--data-root', `${dir}/root`, '--exec-root', `${dir}/exec`, '--pidfile', `${dir}/docker.pid`];
  return ['--iptables=false', '--bridge=none', '--storage-driver=vfs', '--host', `unix://${dir}/docker.sock`, ...files];
}
