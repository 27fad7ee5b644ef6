import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';
import type { SiteRecord } from '../../../src/api/skupper/index.ts';
import {
  DEFAULT_ROUTER,
  layoutOf,
  resourceFileName,
  routerFiles,
  type NamespaceLayout,
  type RunningRouter,
} from '../../../src/platform/linux/layout.ts';
import type { Outcome } from '../../harness/command.ts';
import { eventually, type WaitOptions } from '../../harness/wait.ts';
import type { CertificateFiles } from './certificates.ts';
import type { Host } from './host.ts';
import { manifest, type Manifest } from './manifests.ts';
import type { Program } from '../../harness/program.ts';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
/** The pinned Node.js itself, not the script in node_modules/.bin that may lie before it. */
const NODE = process.execPath;
/** Node.js keeps what it compiled of the sources between starts, which halves what a start costs. The unit tests use the same folder. */
const COMPILED = { NODE_COMPILE_CACHE: `${ROOT}node_modules/.cache/node` };

export interface SiteOptions {
  /** The namespace's name, and the site's; the host's name by default. */
  readonly name?: string;
  /** Resources at the start. Without a Site, one without options is added. */
  readonly resources?: readonly Manifest[];
  /** Links of other sites are let in: `linkAccess: default`. */
  readonly access?: boolean;
  readonly env?: Readonly<Record<string, string>>;
  /** Further options of `earshot run`. */
  readonly args?: readonly string[];
  /** Command that runs `earshot run`, and replaces itself by it: `prlimit --nofile=300`. */
  readonly under?: readonly string[];
  /** The program: a bundle's file, or the checkout's sources. */
  readonly program?: string;
  /** Directory of all namespaces (EARSHOT_HOME); one of the host by default. */
  readonly home?: string;
  /** Router's name, for a second router of a site. */
  readonly router?: string;
  /** Runs as many routers as the Site asks for. Otherwise one, however many cores the machine has. */
  readonly supervised?: true;
}

/** A resource as the system writes it back. */
export interface Written {
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly spec?: Readonly<Record<string, unknown>>;
  readonly status?: Status;
}

export interface Status {
  readonly status?: string;
  readonly message?: string;
  readonly conditions?: readonly { readonly type: string; readonly status: string; readonly reason?: string; readonly message?: string }[];
  readonly [field: string]: unknown;
}

/** The sites that the status of a Site lists. */
export function networkOf({ network }: Status): readonly SiteRecord[] {
  // As its schema has it; Status leaves the fields of one kind open.
  return (network ?? []) as readonly SiteRecord[];
}

/** A site as a person has it: a namespace's directory, the command line, and one running `earshot run`. */
export class Site implements AsyncDisposable {
  readonly name: string;
  readonly host: Host;
  readonly home: string;
  readonly layout: NamespaceLayout;
  readonly #options: SiteOptions;
  #process: Program | undefined;

  constructor(host: Host, options: SiteOptions) {
    this.name = options.name ?? host.name;
    this.host = host;
    this.home = options.home ?? `${host.dir}/home`;
    this.layout = layoutOf(this.name, this.home);
    this.#options = options;
  }

  /** The running process. */
  get process(): Program {
    if (this.#process === undefined) throw new Error(`the site ${this.name} was never started`);
    return this.#process;
  }

  /** Starts `earshot run` and waits until it is known where it can be asked how it is. */
  async start(): Promise<void> {
    const { router = DEFAULT_ROUTER, args = [], under = [], supervised = false } = this.#options;
    const { state } = routerFiles(this.layout, router);
    const which = supervised ? [] : ['--router', router];
    const process = await this.host.spawn([...under, ...this.#command(), 'run', ...which, '--http-port', '0', ...args], {
      name: `site-${this.name}-${router}`,
      env: this.#environment(),
    });
    this.#process = process;
    // A file that a killed process left behind names another pid.
    await process.ready(async () => {
      const pid = (await readRunning(state))?.pid;
      return pid === process.pid || (supervised && pid !== undefined && (await this.host.attempt(['kill', '-0', String(pid)])).code === 0);
    });
  }

  /** PID of a running router of a supervised site. */
  async pidOf(router: string): Promise<number> {
    const running = await readRunning(routerFiles(this.layout, router).state);
    if (running === undefined) throw new Error(`the router ${router} of the site ${this.name} does not run`);
    return running.pid;
  }

  /** `earshot -n NAME ARGS`. @returns its standard output @throws HarnessError with what it says when it fails */
  async earshot(args: readonly string[], options: { readonly input?: string; readonly timeoutMs?: number } = {}): Promise<string> {
    return this.host.run([...this.#command(), ...args], { timeoutMs: 120_000, ...options, env: this.#environment() });
  }

  /** The same, however it ends. */
  async attempt(args: readonly string[], options: { readonly input?: string; readonly timeoutMs?: number } = {}): Promise<Outcome> {
    return this.host.attempt([...this.#command(), ...args], { timeoutMs: 120_000, ...options, env: this.#environment() });
  }

  /** Writes resources into the namespace as an editor would: a new file, then renamed. Returns at once. */
  async apply(...resources: readonly Manifest[]): Promise<void> {
    await mkdir(this.layout.input.resources, { recursive: true });
    for (const resource of resources) {
      await this.write(resourceFileName(resource.kind, resource.metadata.name), JSON.stringify(resource, undefined, 2));
    }
  }

  /** Writes any text into `input/resources`. */
  async write(file: string, text: string): Promise<void> {
    const path = join(this.layout.input.resources, file);
    await writeFile(`${path}.new`, text);
    await rename(`${path}.new`, path);
  }

  async remove(kind: string, name: string): Promise<void> {
    await rm(join(this.layout.input.resources, resourceFileName(kind, name)));
  }

  /** Puts a TLS bundle of the user's own into `input/certs`. */
  async bundle(name: string, { cert, key, ca }: Partial<CertificateFiles>): Promise<void> {
    const dir = join(this.layout.input.certs, name);
    await mkdir(dir, { recursive: true });
    for (const [file, source] of [
      ['tls.crt', cert],
      ['tls.key', key],
      ['ca.crt', ca],
    ] as const) {
      if (source !== undefined) await writeFile(join(dir, file), await readFile(source), { mode: 0o600 });
    }
  }

  /** A resource with its status as the system wrote it; undefined before that. */
  async read(kind: string, name: string): Promise<Written | undefined> {
    const text = await textOf(join(this.layout.runtime.resources, resourceFileName(kind, name)));
    // The running process wrote it; the tests look at single fields.
    return text === undefined ? undefined : (parse(text) as Written);
  }

  async status(kind: string, name: string): Promise<Status | undefined> {
    return (await this.read(kind, name))?.status;
  }

  /** Waits until a status is as asked for: `Ready`, another `status`, or whatever a function says of it. @returns the status */
  async waitFor(
    kind: string,
    name: string,
    wanted: string | ((status: Status) => boolean) = 'Ready',
    options: WaitOptions = {},
  ): Promise<Status> {
    const isSo = typeof wanted === 'string' ? (status: Status): boolean => status.status === wanted : wanted;
    return eventually(
      `${kind} ${name} of ${this.name} to be ${typeof wanted === 'string' ? wanted : 'as expected'}`,
      async () => {
        const status = await this.status(kind, name);
        if (status !== undefined && isSo(status)) return status;
        throw new Error(status === undefined ? 'it has no status' : JSON.stringify(status));
      },
      { everyMs: 50, ...options },
    );
  }

  /** The text of `/metrics`. */
  async metrics(): Promise<string> {
    return this.#http('/metrics');
  }

  /** The sum of a metric's samples whose labels include these; 0 without any. */
  async metric(name: string, labels: Readonly<Record<string, string>> = {}): Promise<number> {
    const wanted = Object.entries(labels).map(([label, value]) => `${label}="${value}"`);
    return (await this.metrics()).split('\n').reduce((sum, line) => {
      const [, of, labelled = '', value] = /^([^{ ]+)(\{.*\})? (\S+)/.exec(line) ?? [];
      return of === name && wanted.every((label) => labelled.includes(label)) ? sum + Number(value) : sum;
    }, 0);
  }

  /** Ends it as a crash would. */
  async kill9(): Promise<void> {
    await this.process.kill();
  }

  /** Asks it to end (SIGTERM), which drains. */
  async stop(graceMs = 60_000): Promise<void> {
    await this.process.stop(graceMs);
  }

  /** Starts it again; one that runs is asked to end before. */
  async restart(): Promise<void> {
    if (this.process.running) await this.stop();
    await this.start();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#process?.kill();
  }

  async #http(path: string): Promise<string> {
    const running = await readRunning(routerFiles(this.layout, this.#options.router ?? DEFAULT_ROUTER).state);
    return this.host.run(['curl', '-sS', '--fail', `http://127.0.0.1:${running?.httpPort}${path}`]);
  }

  #environment(): Record<string, string> {
    return { ...(this.#bundle === undefined ? COMPILED : {}), ...this.#options.env, EARSHOT_HOME: this.home };
  }

  /** The program where it is not the checkout's sources. */
  get #bundle(): string | undefined {
    return this.#options.program ?? process.env['EARSHOT_PROGRAM'];
  }

  #command(): readonly string[] {
    return [NODE, this.#bundle ?? `${ROOT}src/cli/main.ts`, '-n', this.name];
  }
}

/** Makes a namespace on a host and runs its site. The network ends it, or `await using`. */
export async function startSite(host: Host, options: SiteOptions = {}): Promise<Site> {
  const site = new Site(host, options);
  const { resources = [], access = false } = options;
  const others = resources.some(({ kind }) => kind === 'Site')
    ? []
    : [manifest('Site', site.name, access ? { linkAccess: 'default' } : {})];
  await site.apply(...others, ...resources);
  await site.start();
  return site;
}

/** Links one site to another with a token, as two people would: `to` lets links in. Returns once the link carries. */
export async function linkByToken(from: Site, to: Site, options: { readonly cost?: number } = {}): Promise<void> {
  const file = `${await to.host.folder('token')}/token.yaml`;
  const cost = options.cost === undefined ? [] : ['--cost', String(options.cost)];
  await to.earshot(['token', 'issue', file, ...cost]);
  await from.earshot(['token', 'redeem', file]);
}

async function readRunning(file: string): Promise<RunningRouter | undefined> {
  const text = await textOf(file);
  // Earshot wrote it, whole, by a rename.
  return text === undefined ? undefined : (JSON.parse(text) as RunningRouter);
}

async function textOf(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
}
