import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { HarnessError } from './failures.ts';

export interface CommandOptions {
  readonly input?: string | Uint8Array;
  /** Beside this process's own. */
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** Milliseconds after which the command is killed; two minutes by default. */
  readonly timeoutMs?: number;
}

/** How a program ended, and what it said. */
export interface Outcome {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Debian's own folders first: a shim of another containerd version in PATH would be taken for the right one. */
export const SYSTEM_PATH = '/usr/sbin:/usr/bin:/sbin:/bin:/usr/local/sbin:/usr/local/bin';

/** Runs a program to its end and returns its standard output; throws with its standard error when it fails. */
export async function run(program: string, args: readonly string[], options: CommandOptions = {}): Promise<string> {
  const argv = [program, ...args];
  return outputOf(argv.join(' '), await execute(argv, { ...options, env: { ...process.env, ...options.env } }));
}

/** Like run, but a failure is of no interest: for removing what may not be there. */
export async function attempt(program: string, args: readonly string[]): Promise<boolean> {
  return run(program, args).then(
    () => true,
    () => false,
  );
}

/** Runs a program to its end, however it ends, in this environment. */
export async function execute(
  [program = '', ...args]: readonly string[],
  { input, env, cwd, timeoutMs = 120_000 }: Omit<CommandOptions, 'env'> & { readonly env: NodeJS.ProcessEnv },
): Promise<Outcome> {
  const child = spawn(program, args, { cwd, env, stdio: 'pipe', timeout: timeoutMs, killSignal: 'SIGKILL' });
  // A program that ends without reading its input is not an error of ours.
  child.stdin.on('error', () => undefined);
  child.stdin.end(input);
  try {
    const [[code, signal], stdout, stderr] = await Promise.all([once(child, 'close'), text(child.stdout), text(child.stderr)]);
    return { code, signal, stdout, stderr };
  } catch (error) {
    throw new HarnessError('COMMAND_FAILED', `${program} did not start: ${String(error)}`, { cause: error });
  }
}

/** Output of a command. @throws HarnessError with its error output if it failed */
export function outputOf(command: string, { code, signal, stdout, stderr }: Outcome): string {
  if (code === 0) return stdout;
  const said = stderr.trim() || stdout.trim();
  throw new HarnessError('COMMAND_FAILED', `${command.slice(0, 300)}: ${signal ?? `exit code ${code}`}: ${said}`);
}
