import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { SYSTEM_PATH } from './command.ts';
import { componentFailed, HarnessError } from './failures.ts';
import { cpuSeconds, residentMegabytes } from './proc.ts';
import { eventually, type WaitOptions } from './wait.ts';

export interface LaunchOptions {
  /** The whole environment. */
  readonly env: NodeJS.ProcessEnv;
  readonly cwd?: string | undefined;
  /** Destination of standard output and standard error; without it both can be read here. */
  readonly log?: string;
  /** In a process group of its own, which is signalled as a whole and which Ctrl-C does not reach. */
  readonly detached?: boolean;
}

export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** Environment of programs: only named variables, nothing of this process. */
export function environment(env: Readonly<Record<string, string>> = {}): Record<string, string> {
  return { PATH: SYSTEM_PATH, HOME: '/root', LANG: 'C.UTF-8', ...env };
}

/** A running program that its starter has to end. */
export class Program implements AsyncDisposable {
  readonly name: string;
  readonly pid: number;
  /** Once its outputs are closed too. */
  readonly exited: Promise<Exit>;
  readonly #child: Launched;
  readonly #options: LaunchOptions;

  private constructor(name: string, child: Launched, options: LaunchOptions) {
    this.name = name;
    this.pid = child.pid;
    this.#child = child;
    this.#options = options;
    const { promise, resolve } = Promise.withResolvers<Exit>();
    this.exited = promise;
    child.on('close', (code, signal) => resolve({ code, signal }));
  }

  /** `argv` must replace itself by the program that is meant (`ip netns exec`, `setpriv`), so that its pid is the program's. */
  static async start(name: string, argv: readonly string[], options: LaunchOptions): Promise<Program> {
    return new Program(name, await launch(name, argv, options), options);
  }

  get running(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** Its output, if that goes to no log. */
  get stdout(): Readable {
    if (this.#child.stdout === null) throw new TypeError(`${this.name} writes to ${this.#options.log}`);
    return this.#child.stdout;
  }

  /** Its log so far. */
  get output(): string {
    return readFileSync(this.#log, 'utf8');
  }

  /** Waits until a look succeeds; fails at once, with the end of its log, when the program has ended. */
  async ready(look: () => boolean | Promise<boolean>, options: WaitOptions = {}): Promise<void> {
    await untilReady({ name: this.name, log: this.#log, isRunning: () => this.running }, look, { everyMs: 20, ...options });
  }

  /** Sends a signal, if it still runs. */
  signal(name: NodeJS.Signals): void {
    if (!this.running) return;
    if (this.#options.detached === true) process.kill(-this.pid, name);
    else this.#child.kill(name);
  }

  /** Ends it with SIGKILL, and returns once it is gone. */
  async kill(): Promise<void> {
    this.signal('SIGKILL');
    await this.exited;
  }

  /** Asks it to end, and kills it after `graceMs`. @returns how it ended */
  async stop(graceMs = 5_000): Promise<Exit> {
    // One that is paused would not hear the first signal.
    this.signal('SIGCONT');
    this.signal('SIGTERM');
    const late = setTimeout(() => this.signal('SIGKILL'), graceMs);
    const exit = await this.exited;
    clearTimeout(late);
    return exit;
  }

  memory(): number {
    return residentMegabytes(this.pid);
  }

  cpuSeconds(): number {
    return cpuSeconds(this.pid);
  }

  /** How many file descriptors it holds open. */
  async descriptors(): Promise<number> {
    return (await readdir(`/proc/${this.pid}/fd`)).length;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
  }

  get #log(): string {
    return this.#options.log ?? '';
  }
}

export type Launched = ChildProcess & { readonly pid: number };

/** Starts a program. @throws HarnessError if it does not exist */
export async function launch(name: string, [file = '', ...args]: readonly string[], options: LaunchOptions): Promise<Launched> {
  const { log, ...others } = options;
  const output = log === undefined ? 'pipe' : openSync(log, 'a');
  const child = spawn(file, args, { ...others, stdio: ['ignore', output, output] });
  if (typeof output === 'number') closeSync(output);
  try {
    await once(child, 'spawn');
  } catch (error) {
    throw new HarnessError('COMMAND_FAILED', `${name} did not start: ${String(error)}`, { cause: error });
  }
  // 'spawn' promises a pid.
  return child as Launched;
}

/** Waits until a look succeeds; fails at once, with the end of the log, when what it is at has ended. */
export async function untilReady(
  { name, log, isRunning }: { readonly name: string; readonly log: string; readonly isRunning: () => boolean },
  look: () => boolean | Promise<boolean>,
  options: WaitOptions = {},
): Promise<void> {
  try {
    await eventually(`${name} to be ready`, async () => !isRunning() || (await look()), options);
  } catch (error) {
    throw componentFailed(name, `is not ready: ${error instanceof Error ? error.message : String(error)}`, log);
  }
  if (!isRunning()) throw componentFailed(name, 'ended', log);
}
