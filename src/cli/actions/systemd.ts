/** systemd of this machine: that of the system for root, otherwise that of the user. */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { removeFile } from '../../files/durable.ts';
import { isRoot } from '../../files/secure-path.ts';
import { CliError } from '../errors.ts';

const run = promisify(execFile);

/** Whether systemd is running, see sd_booted(3). */
export function isSystemdThere(): boolean {
  return existsSync('/run/systemd/system');
}

/** @param command what a unit would run */
export function requireSystemd(command: string): void {
  if (isSystemdThere()) return;
  const advice = `Run \`${command}\` in a terminal, or have your process supervisor run it.`;
  throw new CliError('failed', `systemd does not run on this machine. ${advice}`);
}

export function unitFolder(): string {
  if (isRoot) return '/etc/systemd/system';
  const config = process.env['XDG_CONFIG_HOME'];
  return join(config?.startsWith('/') === true ? config : join(homedir(), '.config'), 'systemd', 'user');
}

/** Command that shows the log of a unit. */
export function logOf(unit: string): string {
  return `journalctl ${[...scope(), '-u', unit].join(' ')}`;
}

export async function removeUnit(unit: string): Promise<void> {
  await systemctl('disable', '--now', unit);
  await removeFile(join(unitFolder(), unit));
}

export async function systemctl(...args: readonly string[]): Promise<void> {
  try {
    await run('systemctl', [...scope(), ...args]);
  } catch (error) {
    const said = error instanceof Error && 'stderr' in error ? String(error.stderr).trim() : String(error);
    throw new CliError('failed', `systemctl ${[...scope(), ...args].join(' ')} failed: ${said}`);
  }
}

/** First line of what systemctl prints. Its exit code is nonzero for an answer such as `inactive`. */
export async function answerOf(...args: readonly string[]): Promise<string> {
  const { stdout } = await run('systemctl', [...scope(), ...args]).catch((error: unknown) => ({ stdout: stdoutOf(error) }));
  return stdout.trim().split('\n', 1)[0] ?? '';
}

export async function hasUser(name: string): Promise<boolean> {
  return run('getent', ['passwd', name]).then(
    () => true,
    () => false,
  );
}

function scope(): readonly string[] {
  return isRoot ? [] : ['--user'];
}

function stdoutOf(error: unknown): string {
  return error instanceof Error && 'stdout' in error ? String(error.stdout) : '';
}
