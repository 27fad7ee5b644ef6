import { execFile } from 'node:child_process';
import { access, readdir, realpath, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { makeDirectory, readText, removeFile, writeDurably } from '../../files/durable.ts';
import { baseDirectory, layoutOf, namespacesDirectory, type NamespaceLayout } from '../../platform/linux/layout.ts';
import { directoryResources } from '../../platform/linux/resources.ts';
import { tellRouter } from '../../platform/linux/router-api.ts';
import { runningRouters } from '../../platform/linux/routers.ts';
import { messageOf } from '../../telemetry/log.ts';
import { isLabel } from '../../text/names.ts';
import { CliError } from '../errors.ts';
import { fieldLines, structured, type OutputFormat } from '../output/output.ts';
import type { Terminal } from '../output/terminal.ts';
import { unitName, unitsOf, unitText } from './systemd-unit.ts';
import { waitUntil } from './waiting.ts';

const run = promisify(execFile);
const isRoot = process.getuid?.() === 0;
const START_TIMEOUT = 30_000;

export async function install(
  namespace: string,
  options: { readonly start: boolean; readonly print?: boolean; readonly drainTimeout: number },
  terminal: Terminal,
): Promise<void> {
  layoutOf(namespace);
  const script = process.argv[1];
  if (script === undefined) throw new CliError('failed', 'The program does not know its own file, so there is nothing to put into a unit.');
  const command = [process.execPath, await realpath(script)];
  const text = unitText({ namespace, command, home: baseDirectory(), user: !isRoot, drainSeconds: Math.ceil(options.drainTimeout / 1000) });
  if (options.print === true) {
    terminal.out(text);
    return;
  }
  await requireSystemd(namespace);
  // The unit may write below this directory only, so it must exist.
  await makeDirectory(baseDirectory(), 0o755);
  await makeDirectory(unitFolder(), 0o755);
  const path = join(unitFolder(), unitName(namespace));
  await writeDurably(path, text, 0o644);
  await systemctl('daemon-reload');
  terminal.out(`${path} is written.\n`);
  if (!options.start) return;
  await systemctl('enable', unitName(namespace));
  await systemctl('restart', unitName(namespace));
  await untilRunning(layoutOf(namespace), START_TIMEOUT, logOf(namespace), terminal);
  terminal.out(`${unitName(namespace)} is started, now and at each boot.\n`);
}

export async function uninstall(namespace: string, terminal: Terminal): Promise<void> {
  layoutOf(namespace);
  await requireSystemd(namespace);
  await requireUnit(namespace);
  const units = new Set([unitName(namespace), ...unitsOf(namespace, await unitTexts())]);
  for (const unit of units) {
    await systemctl('disable', '--now', unit);
    await removeFile(join(unitFolder(), unit));
  }
  await systemctl('daemon-reload');
  for (const unit of units) terminal.out(`${unit} is ended and removed.\n`);
  terminal.out(`The namespace's files stay, in ${layoutOf(namespace).root}.\n`);
}

/** Texts of all units that match our naming scheme, by file name. */
async function unitTexts(): Promise<ReadonlyMap<string, string>> {
  const names = (await readdir(unitFolder())).filter((name) => /^earshot-[\w.-]+\.service$/.test(name)).toSorted();
  const read = async (name: string): Promise<readonly [string, string]> => [
    name,
    (await readText(join(unitFolder(), name), { bytes: MOST_UNIT_BYTES })) ?? '',
  ];
  return new Map(await Promise.all(names.map(read)));
}

const MOST_UNIT_BYTES = 65_536;

/** Stops services and processes of every namespace of this user, and deletes their directories. */
export async function uninstallAll(terminal: Terminal): Promise<void> {
  const names = (await readdir(namespacesDirectory()).catch(() => [])).filter(isLabel).toSorted();
  for (const namespace of names) {
    const layout = layoutOf(namespace);
    if (await hasUnit(namespace)) await uninstall(namespace, terminal);
    if ((await runningRouters(layout)).length > 0) await stop(namespace, terminal);
    await rm(layout.root, { recursive: true, force: true });
    terminal.out(`The namespace ${namespace} is deleted: ${layout.root}.\n`);
  }
  if (names.length === 0) terminal.out(`There is no site below ${namespacesDirectory()}.\n`);
}

export async function start(namespace: string, terminal: Terminal): Promise<void> {
  await requireSystemd(namespace);
  await requireUnit(namespace);
  await systemctl('start', unitName(namespace));
  await untilRunning(layoutOf(namespace), START_TIMEOUT, logOf(namespace), terminal);
  terminal.out(`${unitName(namespace)} is started.\n`);
}

/** Stops the systemd unit, or the processes directly if there is no unit. */
export async function stop(namespace: string, terminal: Terminal): Promise<void> {
  const layout = layoutOf(namespace);
  if (await hasUnit(namespace)) await systemctl('stop', unitName(namespace));
  else await tellRouters(layout, 'stop');
  await waitUntil({ resources: directoryResources(layout), terminal }, `the namespace ${namespace} to be ended`, 120_000, async () => {
    const left = await runningRouters(layout);
    return left.length === 0 ? { done: undefined } : { waitingFor: 'open connections have their time' };
  });
  terminal.out(`Nothing runs the namespace ${namespace} any more.\n`);
}

export async function reload(namespace: string, terminal: Terminal): Promise<void> {
  await tellRouters(layoutOf(namespace), 'reload');
  terminal.out(`All files of the namespace ${namespace} are read again.\n`);
}

export async function showSystem(namespace: string, output: OutputFormat | undefined, terminal: Terminal): Promise<void> {
  const layout = layoutOf(namespace);
  await directoryResources(layout).notRunning();
  const [routers, unit] = await Promise.all([runningRouters(layout), unitState(namespace)]);
  const state = { namespace, directory: layout.root, unit, routers };
  if (output !== undefined) terminal.out(structured(state, output));
  else {
    terminal.out(
      fieldLines([
        ['Namespace', namespace],
        ['Directory', layout.root],
        ['Unit', unit.systemd ? `${unitName(namespace)}, ${unit.state}` : 'systemd does not run on this machine'],
        ['Running', routers.map(({ router, pid, startedAt }) => `${router} (process ${pid}, since ${startedAt})`).join(', ') || 'nothing'],
      ]),
    );
  }
  if (routers.length === 0) throw new CliError('not-running', `Nothing runs the namespace ${namespace}.`);
}

/**
 * Waits until a process reports that it runs the namespace. Returning once the process has started would be too early: a command
 * that follows at once would not find it.
 * @param log command that shows its log
 */
export async function untilRunning(layout: NamespaceLayout, timeout: number, log: string, terminal: Terminal): Promise<void> {
  const resources = directoryResources(layout);
  await waitUntil({ resources, terminal }, `the namespace ${layout.namespace} to be run`, timeout, async () => {
    if ((await resources.notRunning()) === undefined) return { done: undefined };
    return { waitingFor: `its process is starting; if it does not, \`${log}\` says why` };
  });
}

async function tellRouters(layout: NamespaceLayout, what: 'reload' | 'stop'): Promise<void> {
  await directoryResources(layout).notRunning();
  const routers = await runningRouters(layout);
  if (routers.length === 0) throw new CliError('not-running', `Nothing runs the namespace ${layout.namespace}.`);
  for (const running of routers) {
    try {
      await tellRouter(layout, running, what);
    } catch (error) {
      throw new CliError(
        'failed',
        `Process ${running.pid}, which runs the router ${running.router}, cannot be told: ${messageOf(error)}. Where it is another user's, try again as that user.`,
        error,
      );
    }
  }
}

interface UnitState {
  readonly systemd: boolean;
  readonly state: string;
}

async function unitState(namespace: string): Promise<UnitState> {
  if (!(await isSystemdThere())) return { systemd: false, state: 'unknown' };
  if (!(await exists(join(unitFolder(), unitName(namespace))))) return { systemd: true, state: 'not installed' };
  // systemctl exits with a nonzero code for `inactive`.
  const { stdout } = await run('systemctl', [...scope(), 'is-active', unitName(namespace)]).catch((error: unknown) => ({
    stdout: stdoutOf(error),
  }));
  return { systemd: true, state: stdout.trim() || 'unknown' };
}

async function hasUnit(namespace: string): Promise<boolean> {
  return (await isSystemdThere()) && exists(join(unitFolder(), unitName(namespace)));
}

/** The systemd unit of the namespace, or undefined if it does not exist. */
export async function unitOf(namespace: string): Promise<{ readonly unit: string; readonly isUser: boolean } | undefined> {
  return (await hasUnit(namespace)) ? { unit: unitName(namespace), isUser: !isRoot } : undefined;
}

async function requireUnit(namespace: string): Promise<void> {
  layoutOf(namespace);
  if (!(await hasUnit(namespace)))
    throw new CliError(
      'not-found',
      `There is no unit of the namespace ${namespace}: write one with \`earshot -n ${namespace} system install\`.`,
    );
}

/** Whether systemd is running, see sd_booted(3). */
function isSystemdThere(): Promise<boolean> {
  return exists('/run/systemd/system');
}

async function requireSystemd(namespace: string): Promise<void> {
  if (await isSystemdThere()) return;
  const advice = `Let whatever looks after processes here run \`earshot -n ${namespace} run\`; it ends in order on SIGTERM.`;
  throw new CliError('failed', `systemd does not run on this machine. ${advice}`);
}

function unitFolder(): string {
  if (isRoot) return '/etc/systemd/system';
  const config = process.env['XDG_CONFIG_HOME'];
  return join(config?.startsWith('/') === true ? config : join(homedir(), '.config'), 'systemd', 'user');
}

function logOf(namespace: string): string {
  return `journalctl ${[...scope(), '-u', unitName(namespace)].join(' ')}`;
}

function scope(): readonly string[] {
  return isRoot ? [] : ['--user'];
}

async function systemctl(...args: readonly string[]): Promise<void> {
  try {
    await run('systemctl', [...scope(), ...args]);
  } catch (error) {
    const said = error instanceof Error && 'stderr' in error ? String(error.stderr).trim() : String(error);
    throw new CliError('failed', `systemctl ${[...scope(), ...args].join(' ')} failed: ${said}`);
  }
}

function stdoutOf(error: unknown): string {
  return error instanceof Error && 'stdout' in error ? String(error.stdout) : '';
}

function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
