import { spawn, type ChildProcess } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { readFile, readdir } from 'node:fs/promises';
import { SYSTEM_PATH } from '../../harness/command.ts';
import { componentFailed, HarnessError } from '../../harness/failures.ts';
import { eventually, type WaitOptions } from '../../harness/wait.ts';

export interface ProgramOptions {
  /** For messages and the log's name; the program's own name unless told. */
  readonly name?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
}

export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** What programs of a host see of the environment: nothing that the tests' own process was started with, but what is named. */
export function environment(env: Readonly<Record<string, string>> = {}): Record<string, string> {
  return { PATH: SYSTEM_PATH, HOME: '/root', LANG: 'C.UTF-8', ...env };
}

/** A running program that the test owns: whoever started it, or its network, ends it. */
export class Program implements AsyncDisposable {
  readonly name: string;
  readonly pid: number;
  /** Standard output and standard error. */
  readonly log: string;
  readonly exited: Promise<Exit>;
  readonly #child: ChildProcess;

  private constructor(name: string, pid: number, log: string, child: ChildProcess) {
    this.name = name;
    this.pid = pid;
    this.log = log;
    this.#child = child;
    const { promise, resolve } = Promise.withResolvers<Exit>();
    this.exited = promise;
    child.on('exit', (code, signal) => resolve({ code, signal }));
  }

  /** `argv` must replace itself by the program that is meant (`ip netns exec`, `setpriv`), so that its pid is the program's. */
  static async start(name: string, argv: readonly string[], log: string, options: ProgramOptions): Promise<Program> {
    const [file = '', ...args] = argv;
    const output = openSync(log, 'a');
    const child = spawn(file, args, { cwd: options.cwd, env: environment(options.env), stdio: ['ignore', output, output] });
    closeSync(output);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    child.once('spawn', resolve);
    child.once('error', (error) => reject(new HarnessError('COMMAND_FAILED', `${name} did not start: ${error.message}`, { cause: error })));
    await promise;
    // 'spawn' promises a pid.
    return new Program(name, child.pid ?? 0, log, child);
  }

  get running(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** What it has said so far. */
  get output(): string {
    return readFileSync(this.log, 'utf8');
  }

  /** Waits until a look succeeds; fails at once, with the end of its log, when the program has ended. */
  async ready(look: () => boolean | Promise<boolean>, options: WaitOptions = {}): Promise<void> {
    try {
      await eventually(`${this.name} to be ready`, async () => !this.running || (await look()), { everyMs: 20, ...options });
    } catch (error) {
      throw componentFailed(this.name, `is not ready: ${error instanceof Error ? error.message : String(error)}`, this.log);
    }
    if (!this.running) throw componentFailed(this.name, 'ended', this.log);
  }

  /** Sends a signal, if it still runs. */
  signal(name: NodeJS.Signals): void {
    if (this.running) this.#child.kill(name);
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

  /** Resident memory in MB of 10⁶ bytes (VmRSS), pages shared with other processes included. */
  async memory(): Promise<number> {
    const kibibytes = /^VmRSS:\s+(\d+) kB$/m.exec(await this.#proc('status'))?.[1];
    return (Number(kibibytes) * 1_024) / 1_000_000;
  }

  /** Seconds of CPU since it started, user and system, all threads. Source: proc_pid_stat(5), fields 14 and 15, in ticks of 1/100 s. */
  async cpuSeconds(): Promise<number> {
    const stat = await this.#proc('stat');
    // The command in parentheses may hold spaces: count from its end, behind which stands field 3.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return (Number(fields[11]) + Number(fields[12])) / 100;
  }

  /** How many file descriptors it holds open. */
  async descriptors(): Promise<number> {
    return (await readdir(`/proc/${this.pid}/fd`)).length;
  }

  async #proc(file: string): Promise<string> {
    try {
      return await readFile(`/proc/${this.pid}/${file}`, 'utf8');
    } catch (error) {
      throw new HarnessError('COMPONENT_FAILED', `${this.name} (pid ${this.pid}) ended while it was looked at`, { cause: error });
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
  }
}
