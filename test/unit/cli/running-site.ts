/** `earshot run` as a process of its own, with a listener and a server behind it. */
import { execFileSync, spawn, type ChildProcess, type StdioOptions } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { stringify } from 'yaml';
import { layoutOf, type NamespaceLayout } from '../../../src/platform/linux/layout.ts';
import { eventually } from '../../harness/wait.ts';
import { ask, echoServer } from '../router/support/site.ts';
import { freePort } from '../support/free-port.ts';
import type { Trouble } from './trouble.ts';

const path = (file: string): string => fileURLToPath(new URL(file, import.meta.url));

/** Milliseconds. A process that starts takes a second of a core, and much longer on a busy machine. */
const PATIENCE = 100_000;

export interface Connection extends Disposable {
  /** @returns what comes back */
  says(text: string): Promise<string>;
  end(): void;
}

export class RunningSite implements AsyncDisposable {
  readonly layout: NamespaceLayout;
  readonly home: string;
  readonly #port: number;
  readonly #stack: AsyncDisposableStack;
  #child: ChildProcess | undefined;

  private constructor(home: string, port: number, stack: AsyncDisposableStack) {
    this.home = home;
    this.layout = layoutOf('west', home);
    this.#port = port;
    this.#stack = stack;
  }

  static async make(): Promise<RunningSite> {
    const stack = new AsyncDisposableStack();
    const home = await mkdtemp(join(tmpdir(), 'earshot-site-'));
    stack.defer(() => rm(home, { recursive: true, force: true }));
    const echo = stack.use(await echoServer());
    const site = new RunningSite(home, await freePort(), stack);
    stack.defer(() => void site.#child?.kill('SIGKILL'));
    await mkdir(site.layout.input.resources, { recursive: true });
    const resources = [
      { kind: 'Site', metadata: { name: 'west' }, spec: {} },
      { kind: 'Listener', metadata: { name: 'key' }, spec: { routingKey: 'key', host: '127.0.0.1', port: site.#port } },
      { kind: 'Connector', metadata: { name: 'key' }, spec: { routingKey: 'key', host: '127.0.0.1', port: echo.port } },
    ];
    const text = resources.map((resource) => stringify({ apiVersion: 'skupper.io/v2alpha1', ...resource })).join('---\n');
    await writeFile(join(site.layout.input.resources, 'all.yaml'), text);
    return site;
  }

  /** Resolves once it serves. */
  async start(stdout: 'ignore' | 'pipe' | number = 'ignore'): Promise<ChildProcess> {
    const child = this.spawn(stdout);
    await this.until('it serves', async () => (await this.serves()) && (await this.#get('readyz')) === 'ok\n');
    return child;
  }

  /** Returns at once. */
  spawn(stdout: 'ignore' | 'pipe' | number = 'ignore'): ChildProcess {
    const stdio: StdioOptions = ['ignore', stdout, 'ignore', 'ipc'];
    const env = { ...process.env, EARSHOT_HOME: this.home, EARSHOT_TUNED: '1' };
    const args = [
      '--import',
      path('./trouble.ts'),
      path('../../../src/cli/main.ts'),
      '-n',
      'west',
      'run',
      '--router',
      'router',
      '--drain-timeout',
      '1s',
    ];
    const child = spawn(process.execPath, args, { stdio, env });
    this.#child = child;
    return child;
  }

  async serves(): Promise<boolean> {
    return (await ask(this.#port, 'hello').catch(() => '')) === 'hello';
  }

  /** A connection that stays. */
  async connects(): Promise<Connection> {
    const socket = connect(this.#port, '127.0.0.1').on('error', () => {});
    await once(socket, 'connect');
    return {
      async says(text) {
        socket.write(text);
        const [answer] = (await once(socket, 'data')) as readonly Buffer[];
        return answer?.toString() ?? '';
      },
      end: () => void socket.end(),
      [Symbol.dispose]: () => void socket.destroy(),
    };
  }

  /** Of the kernel's table of its open files. */
  roomForFiles(): number {
    return Number(/^FDSize:\s*(\d+)/m.exec(readFileSync(`/proc/${this.#process.pid}/status`, 'utf8'))?.[1]);
  }

  /** It may open no more files than it has. @returns how to take that back */
  takeOpenFiles(): () => void {
    const { pid } = this.#process;
    const open = new Set(readdirSync(`/proc/${pid}/fd`).map(Number));
    let free = 0;
    while (open.has(free)) free += 1;
    const limit = (most: string): void => void execFileSync('prlimit', ['--pid', String(pid), `--nofile=${most}:`]);
    limit(String(free));
    return () => limit('1024');
  }

  signal(signal: NodeJS.Signals): void {
    this.#process.kill(signal);
  }

  async brings(trouble: Trouble): Promise<void> {
    const done = once(this.#process, 'message');
    this.#process.send(trouble);
    await done;
  }

  /** One more listener: a change that asks for other statuses. */
  async adds(name: string): Promise<void> {
    const listener = {
      apiVersion: 'skupper.io/v2alpha1',
      kind: 'Listener',
      metadata: { name },
      spec: { routingKey: 'none', port: 1, host: '::' },
    };
    await writeFile(join(this.layout.input.resources, `${name}.yaml`), stringify(listener));
  }

  metrics(): Promise<string> {
    return this.#get('metrics');
  }

  /** @returns the exit code, or the signal that ended it */
  async ends(signal?: NodeJS.Signals): Promise<number | string> {
    const child = this.#process;
    if (signal !== undefined) child.kill(signal);
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit', { signal: AbortSignal.timeout(PATIENCE) });
    return child.exitCode ?? child.signalCode ?? '';
  }

  async status(file: string): Promise<string> {
    return readFile(join(this.layout.runtime.resources, file), 'utf8');
  }

  async until(what: string, holds: () => Promise<boolean>): Promise<void> {
    await eventually(what, holds, { timeoutMs: PATIENCE, everyMs: 20 });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#stack.disposeAsync();
  }

  get #process(): ChildProcess {
    if (this.#child === undefined) throw new Error('nothing was started');
    return this.#child;
  }

  async #get(what: string): Promise<string> {
    const { pid, httpPort } = JSON.parse(await readFile(join(this.layout.runtime.run, 'router.json'), 'utf8')) as Record<string, number>;
    if (pid !== this.#process.pid) return '';
    return (await fetch(`http://127.0.0.1:${httpPort}/${what}`, { signal: AbortSignal.timeout(PATIENCE) })).text();
  }
}
