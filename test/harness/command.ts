import { spawn } from 'node:child_process';
import { HarnessError } from './failures.ts';

export interface CommandOptions {
  readonly input?: string | Uint8Array;
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** Milliseconds after which the command is killed; two minutes unless told. */
  readonly timeoutMs?: number;
}

/** Debian's own folders first: a shim of another containerd version in PATH would be taken for the right one. */
export const SYSTEM_PATH = '/usr/sbin:/usr/bin:/sbin:/bin:/usr/local/sbin:/usr/local/bin';

/** Runs a program to its end and returns its standard output; throws with its standard error when it fails. */
export function run(program: string, args: readonly string[], options: CommandOptions = {}): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const child = spawn(program, args, {
    cwd: options.cwd,
    env: { ...process.env, ...options.env },
    stdio: ['pipe', 'pipe', 'pipe'],
    timeout: options.timeoutMs ?? 120_000,
    killSignal: 'SIGKILL',
  });
  const out: Buffer[] = [];
  const err: Buffer[] = [];
  child.stdout.on('data', (chunk: Buffer) => out.push(chunk));
  child.stderr.on('data', (chunk: Buffer) => err.push(chunk));
  child.on('error', (error) => reject(new HarnessError('COMMAND_FAILED', `${program} did not start: ${error.message}`, { cause: error })));
  child.on('close', (code, signal) => {
    if (code === 0) return resolve(Buffer.concat(out).toString());
    const said = Buffer.concat(err).toString().trim() || Buffer.concat(out).toString().trim();
    reject(new HarnessError('COMMAND_FAILED', `${[program, ...args].join(' ').slice(0, 300)}: ${signal ?? `exit code ${code}`}: ${said}`));
  });
  // A program that ends without reading its input is not an error of ours.
  child.stdin.on('error', () => undefined);
  child.stdin.end(options.input);
  return promise;
}

/** Like run, but a failure is of no interest: for removing what may not be there. */
export async function attempt(program: string, args: readonly string[]): Promise<boolean> {
  return run(program, args).then(
    () => true,
    () => false,
  );
}
