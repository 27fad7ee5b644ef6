import { existsSync } from 'node:fs';
import { lstat, readdir, realpath, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { makeDirectory, readText, writeDurably } from '../../files/durable.ts';
import { isRoot, realPath, removeTree, securePath } from '../../files/secure-path.ts';
import { baseDirectory, layoutOf, namespacesDirectory, type NamespaceLayout } from '../../platform/linux/layout.ts';
import { directoryResources } from '../../platform/linux/resources.ts';
import { notifyRouter } from '../../platform/linux/router-api.ts';
import type { Engine } from '../../platform/linux/machine.ts';
import { readPlatformFile, removePlatformFile, writePlatformFile, type PlatformFile } from '../../platform/linux/platform-file.ts';
import { isSupervised, runningRouters } from '../../platform/linux/routers.ts';
import { processText } from '../../platform/linux/running-process.ts';
import { messageOf } from '../../telemetry/log.ts';
import { CliError } from '../errors.ts';
import { namespacesHere } from '../own-namespace.ts';
import { fieldLines, structured, type OutputFormat } from '../output/output.ts';
import type { Terminal } from '../output/terminal.ts';
import type { MachinePlatform } from '../place.ts';
import {
  containerStates,
  defaultImage,
  plannedContainers,
  prepareNamespace,
  requireFreeNames,
  requireImage,
  requireNetwork,
  startContainers,
  stopContainers,
  stopObsolete,
  type ContainerState,
} from './container-actions.ts';
import { containerName, type RouterContainer } from './router-container.ts';
import {
  ACCOUNT,
  accountFor,
  consoleUnitName,
  containerUnitText,
  instanceName,
  unitName,
  unitsOf,
  unitText,
  type UnitProgram,
} from './systemd-unit.ts';
import { answerOf, hasUser, isSystemdThere, logOf, removeUnit, requireSystemd, systemctl, unitFolder } from './systemd.ts';
import { waitUntil } from './waiting.ts';

const START_TIMEOUT = 30_000;

export interface InstallOptions {
  readonly start: boolean;
  readonly print?: boolean;
  /** Milliseconds. */
  readonly drainTimeout: number;
  /** Default: that of the last installation, otherwise `linux`. */
  readonly platform?: MachinePlatform | undefined;
  /** Image of containers. */
  readonly image?: string;
}

export async function install(namespace: string, options: InstallOptions, terminal: Terminal): Promise<void> {
  const layout = layoutOf(namespace);
  const before = await readPlatformFile(layout);
  const platform = options.platform ?? before?.platform ?? 'linux';
  const drainSeconds = Math.ceil(options.drainTimeout / 1000);
  if (platform === 'linux' && options.image !== undefined)
    throw new CliError('usage', '--image is for routers in containers: add --platform podman or docker.');
  if (platform === 'linux') return installProcess(namespace, { ...options, drainSeconds, before }, terminal);
  const image = options.image ?? (before?.platform === platform ? before.image : undefined) ?? defaultImage();
  return installContainers(namespace, { ...options, file: { platform, image, drainSeconds }, before }, terminal);
}

async function installProcess(
  namespace: string,
  options: InstallOptions & { readonly drainSeconds: number; readonly before: PlatformFile | undefined },
  terminal: Terminal,
): Promise<void> {
  const { drainSeconds, before } = options;
  const text = unitText({ namespace, ...(await unitProgram()), drainSeconds });
  if (options.print === true) {
    terminal.out(text);
    return;
  }
  requireSystemd(`earshot -n ${namespace} run`);
  // The unit may write below this directory only, so it must exist.
  await makeDirectory(baseDirectory(), 0o755);
  await requireNoInstance(namespace);
  await endOther(namespace, before, 'linux', terminal);
  await writePlatformFile(layoutOf(namespace), { platform: 'linux' });
  await writeUnits(namespace, new Map([[unitName(namespace), text]]), terminal);
  if (options.start) await startUnits(namespace, [unitName(namespace)], terminal);
}

/** Program and user of the units of this machine. */
export async function unitProgram(): Promise<UnitProgram> {
  const script = process.argv[1];
  if (script === undefined) throw new CliError('failed', 'The program does not know its own file, so there is nothing to put into a unit.');
  const command = [process.execPath, await realpath(script)];
  const home = baseDirectory();
  const account = isRoot ? accountFor({ home, command, exists: await hasUser(ACCOUNT) }) : undefined;
  return { command, home, user: !isRoot, account };
}

async function installContainers(
  namespace: string,
  { start: isStart, print, file, before }: InstallOptions & { readonly file: ContainerFile; readonly before: PlatformFile | undefined },
  terminal: Terminal,
): Promise<void> {
  const layout = layoutOf(namespace);
  const hasSystemd = isSystemdThere();
  if (print === true) {
    const planned = await plannedContainers(namespace, file, 'systemd');
    terminal.out(planned.map((container) => containerUnitText(container, !isRoot)).join('\n'));
    return;
  }
  if (hasSystemd) await requireNoInstance(namespace);
  await prepareNamespace(layout);
  const containers = await plannedContainers(namespace, file, hasSystemd ? 'systemd' : 'engine');
  await requireImage(containers[0]);
  await requireFreeNames(containers);
  for (const container of containers) await requireNetwork(container);
  await endOther(namespace, before, file.platform, terminal);
  await writePlatformFile(layout, file);
  if (hasSystemd) {
    const units = containerUnits(containers);
    await writeUnits(namespace, units, terminal);
    if (isStart) await startUnits(namespace, [...units.keys()], terminal);
    return;
  }
  terminal.note(`systemd does not run on this machine: ${file.platform} restarts the routers, and nothing starts them at boot.\n`);
  if (isStart) await startDetached(namespace, containers, terminal);
}

/** Ends what runs the namespace on another platform, before its unit is replaced: the new unit would stop it in the wrong way. */
async function endOther(namespace: string, before: PlatformFile | undefined, platform: string, terminal: Terminal): Promise<void> {
  if (before === undefined || before.platform === platform) return;
  if ((await runningRouters(layoutOf(namespace))).length > 0) await stop(namespace, terminal);
}

function containerUnits(containers: readonly RouterContainer[]): ReadonlyMap<string, string> {
  return new Map(
    containers.map((container) => [unitName(container.namespace, container.network), containerUnitText(container, !isRoot)] as const),
  );
}

/** Starts the units of containers. Those that changed since they were written, as by a name in a network, are written and restarted. */
async function startContainerUnits(namespace: string, containers: readonly RouterContainer[], terminal: Terminal): Promise<void> {
  const [units, before] = [containerUnits(containers), await unitTexts()];
  const changed = [...units.keys()].filter((unit) => units.get(unit) !== before.get(unit));
  if (changed.length > 0) {
    for (const container of containers) await requireNetwork(container);
    await writeUnits(namespace, units, terminal);
    await systemctl('enable', ...changed);
    await systemctl('restart', ...changed);
  }
  await systemctl('start', ...units.keys());
}

/** Writes the units of the namespace's routers, and removes those of networks that the Site no longer lists. */
async function writeUnits(namespace: string, units: ReadonlyMap<string, string>, terminal: Terminal): Promise<void> {
  await makeDirectory(unitFolder(), 0o755);
  const prefix = unitName(namespace, '').replace(/\.service$/, '');
  const obsolete = unitsOf(namespace, await unitTexts()).filter((unit) => unit.startsWith(prefix) && !units.has(unit));
  for (const unit of obsolete) await removeUnit(unit);
  for (const [name, text] of units) {
    const path = join(unitFolder(), name);
    await writeDurably(path, text, 0o644);
    terminal.out(`${path} is written.\n`);
  }
  await systemctl('daemon-reload');
}

async function startUnits(namespace: string, units: readonly string[], terminal: Terminal): Promise<void> {
  await systemctl('enable', ...units);
  await systemctl('restart', ...units);
  await untilRunning(layoutOf(namespace), START_TIMEOUT, logOf(unitName(namespace)), terminal);
  for (const unit of units) terminal.out(`${unit} is started, now and at each boot.\n`);
}

async function startDetached(
  namespace: string,
  containers: readonly [RouterContainer, ...RouterContainer[]],
  terminal: Terminal,
): Promise<void> {
  await requireImage(containers[0]);
  await requireFreeNames(containers);
  await stopObsolete(containers);
  await startContainers(containers);
  const names = containers.map(({ network }) => containerName(namespace, network));
  await untilRunning(layoutOf(namespace), START_TIMEOUT, `${containers[0].engine} logs ${names[0] ?? ''}`, terminal);
  for (const name of names) terminal.out(`The container ${name} is started.\n`);
}

type ContainerFile = PlatformFile & { readonly platform: Engine };

/** The namespace's installation in containers; undefined if it runs as a process. */
export async function containerFileOf(namespace: string): Promise<ContainerFile | undefined> {
  const file = await readPlatformFile(layoutOf(namespace));
  return file === undefined || file.platform === 'linux' ? undefined : { ...file, platform: file.platform };
}

/** The namespace's containers; undefined if it runs as a process. */
export async function containersOf(namespace: string): Promise<readonly [RouterContainer, ...RouterContainer[]] | undefined> {
  const file = await containerFileOf(namespace);
  return file === undefined ? undefined : plannedContainers(namespace, file, isSystemdThere() ? 'systemd' : 'engine');
}

export async function uninstall(namespace: string, { purge = false }: { readonly purge?: boolean }, terminal: Terminal): Promise<void> {
  const layout = layoutOf(namespace);
  const containers = (await hasUnit(namespace)) ? undefined : await containersOf(namespace);
  if (containers !== undefined) {
    await stopObsolete(containers);
    await stopContainers(containers);
    for (const { network } of containers) terminal.out(`The container ${containerName(namespace, network)} is ended and removed.\n`);
  } else if (!purge || (await hasUnit(namespace))) await uninstallUnits(namespace, terminal);
  await removePlatformFile(layout);
  if (purge) await removeNamespace(namespace, terminal);
  else terminal.out(`The namespace's files stay, in ${layout.root}.\n`);
}

async function uninstallUnits(namespace: string, terminal: Terminal): Promise<void> {
  if (!isSystemdThere()) {
    const advice = `Stop the site with \`earshot -n ${namespace} system stop\`, or delete it with \`earshot -n ${namespace} system uninstall --purge\`.`;
    throw new CliError('failed', `The namespace ${namespace} has no unit to remove: systemd does not run on this machine. ${advice}`);
  }
  const first = await requireUnit(namespace);
  const consoleUnits = [consoleUnitName(namespace)].filter((unit) => existsSync(join(unitFolder(), unit)));
  const units = new Set([...consoleUnits, first, ...unitsOf(namespace, await unitTexts())]);
  for (const unit of units) await removeUnit(unit);
  await systemctl('daemon-reload');
  for (const unit of units) terminal.out(`${unit} is ended and removed.\n`);
}

async function removeNamespace(namespace: string, terminal: Terminal): Promise<void> {
  const layout = layoutOf(namespace);
  if ((await runningRouters(layout)).length > 0) await stop(namespace, terminal);
  await removeLinked(layout, terminal);
  await removeTree(layout.root);
  terminal.out(`The namespace ${namespace} is deleted: ${layout.root}.\n`);
}

/** If the namespace is a link to a directory elsewhere, removes the site from there. Foreign files in that directory stay. */
async function removeLinked({ root, input, internal, runtime }: NamespaceLayout, terminal: Terminal): Promise<void> {
  const isLink = (await lstat(root).catch(() => undefined))?.isSymbolicLink() === true;
  const target = isLink ? realPath(root) : undefined;
  if (target === undefined) return;
  for (const part of [input.root, internal.root, runtime.root]) await removeTree(part);
  using place = securePath(target);
  await rmdir(place.path).catch(() => terminal.note(`${target} stays, as it has other files.\n`));
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
  const names = await namespacesHere();
  for (const namespace of names) {
    if ((await hasUnit(namespace)) || (await containerFileOf(namespace)) !== undefined)
      await uninstall(namespace, { purge: true }, terminal);
    else await removeNamespace(namespace, terminal);
  }
  if (names.length === 0) terminal.out(`There is no site below ${namespacesDirectory()}.\n`);
}

/**
 * Starts the unit, or the containers on a machine without systemd.
 * @param platform installed first if it runs routers in containers and the namespace has no installation, as scripts of Skupper expect
 */
export async function start(namespace: string, platform: MachinePlatform | undefined, terminal: Terminal): Promise<void> {
  const containers = (await hasUnit(namespace)) ? undefined : await containersOf(namespace);
  if (containers === undefined && platform !== undefined && platform !== 'linux' && !(await hasUnit(namespace)))
    return install(namespace, { start: true, drainTimeout: 30_000, platform }, terminal);
  if (containers !== undefined && !isSystemdThere()) return startDetached(namespace, containers, terminal);
  requireSystemd(`earshot -n ${namespace} run`);
  const first = await requireUnit(namespace);
  const installed = await containersOf(namespace);
  if (installed !== undefined) await startContainerUnits(namespace, installed, terminal);
  const units = [...new Set([first, ...unitsOf(namespace, await unitTexts())])];
  if (installed === undefined) await systemctl('start', ...units);
  await untilRunning(layoutOf(namespace), START_TIMEOUT, logOf(first), terminal);
  for (const unit of units) terminal.out(`${unit} is started.\n`);
}

/** Stops the systemd unit, or the containers, or the processes directly if there is neither. The namespace stays. */
export async function stop(namespace: string, terminal: Terminal): Promise<void> {
  const layout = layoutOf(namespace);
  const unit = await findUnit(namespace);
  if (unit !== undefined) await systemctl('stop', unit);
  else if (!(await stopOwnContainers(namespace))) await notifyRouters(layout, 'stop');
  await waitUntil({ resources: directoryResources(layout), terminal }, `the namespace ${namespace} to stop`, 120_000, async () => {
    const left = await runningRouters(layout);
    return left.length === 0 && !isSupervised(layout) ? { done: undefined } : { waitingFor: 'open connections may finish' };
  });
  terminal.out(`The namespace ${namespace} is stopped.\n`);
}

/** @returns whether containers ran */
async function stopOwnContainers(namespace: string): Promise<boolean> {
  const containers = await containersOf(namespace);
  if (containers === undefined) return false;
  const ran = (await containerStates(containers)).some(({ state }) => state === 'running');
  await stopObsolete(containers);
  await stopContainers(containers);
  return ran;
}

export async function reload(namespace: string, terminal: Terminal): Promise<void> {
  await notifyRouters(layoutOf(namespace), 'reload');
  terminal.out(`All files of the namespace ${namespace} are read again.\n`);
}

export async function showSystem(namespace: string, output: OutputFormat | undefined, terminal: Terminal): Promise<void> {
  const layout = layoutOf(namespace);
  await directoryResources(layout).notRunning();
  const [routers, unit, containers] = await Promise.all([runningRouters(layout), unitState(namespace), shownContainers(namespace)]);
  const platform = (await readPlatformFile(layout))?.platform ?? 'linux';
  const state = { namespace, directory: layout.root, platform, unit, ...(containers === undefined ? {} : { containers }), routers };
  if (output !== undefined) terminal.out(structured(state, output));
  else {
    terminal.out(
      fieldLines([
        ['Namespace', namespace],
        ['Directory', layout.root],
        ['Platform', platform],
        ['Unit', unit.systemd ? `${unit.name}, ${unit.state}` : 'systemd does not run on this machine'],
        ...(containers ?? []).map(({ name, state: is, exitCode, error }) => {
          const ended = is === 'exited' ? ` with code ${exitCode ?? 'unknown'}` : '';
          return ['Container', `${name}, ${is}${ended}${error === undefined ? '' : `: ${error}`}`] as const;
        }),
        [
          'Running',
          routers.map((running) => `${running.router} (${processText(running)}, since ${running.startedAt})`).join(', ') || 'nothing',
        ],
      ]),
    );
  }
  if (routers.length === 0) throw new CliError('not-running', `No process runs the namespace ${namespace}.`);
}

async function shownContainers(namespace: string): Promise<readonly ContainerState[] | undefined> {
  try {
    const containers = await containersOf(namespace);
    return containers === undefined ? undefined : await containerStates(containers);
  } catch (error) {
    // The engine may be removed or broken; the rest of the status is known without it.
    return [{ name: containerName(namespace), state: 'unknown', error: messageOf(error) }];
  }
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

async function notifyRouters(layout: NamespaceLayout, what: 'reload' | 'stop'): Promise<void> {
  await directoryResources(layout).notRunning();
  const routers = await runningRouters(layout);
  if (routers.length === 0) throw new CliError('not-running', `No process runs the namespace ${layout.namespace}.`);
  for (const running of routers) {
    try {
      await notifyRouter(layout, running, what);
    } catch (error) {
      throw new CliError(
        'failed',
        `The router ${running.router} (${processText(running)}) cannot be reached: ${messageOf(error)}. If it belongs to another user, try again as that user.`,
        error,
      );
    }
  }
}

interface UnitState {
  readonly systemd: boolean;
  readonly name: string;
  readonly state: string;
}

async function unitState(namespace: string): Promise<UnitState> {
  const found = await findUnit(namespace);
  const name = found ?? unitName(namespace);
  if (!isSystemdThere()) return { systemd: false, name, state: 'unknown' };
  if (found === undefined) return { systemd: true, name, state: 'not installed' };
  return { systemd: true, name, state: (await answerOf('is-active', name)) || 'unknown' };
}

/** Name of the namespace's unit: that of `system install`, or an instance of the packages' template that is enabled or runs. */
async function findUnit(namespace: string): Promise<string | undefined> {
  if (!isSystemdThere()) return undefined;
  if (existsSync(join(unitFolder(), unitName(namespace)))) return unitName(namespace);
  return (await hasInstance(namespace)) ? instanceName(namespace) : undefined;
}

async function hasInstance(namespace: string): Promise<boolean> {
  if (!isRoot) return false;
  const [enabled, active] = await Promise.all(
    ['is-enabled', 'is-active'].map(async (question) => answerOf(question, instanceName(namespace))),
  );
  return enabled === 'enabled' || active === 'active' || active === 'activating';
}

/** @throws CliError: two units of a namespace would fight for its lock */
async function requireNoInstance(namespace: string): Promise<void> {
  if (!(await hasInstance(namespace))) return;
  const name = instanceName(namespace);
  throw new CliError('exists', `The unit ${name} already runs the namespace. First disable it: systemctl disable --now ${name}`);
}

async function hasUnit(namespace: string): Promise<boolean> {
  return (await findUnit(namespace)) !== undefined;
}

/** The systemd unit of the namespace, or undefined if it does not exist. */
export async function unitOf(namespace: string): Promise<{ readonly unit: string; readonly isUser: boolean } | undefined> {
  const unit = await findUnit(namespace);
  return unit === undefined ? undefined : { unit, isUser: !isRoot };
}

export async function requireUnit(namespace: string): Promise<string> {
  layoutOf(namespace);
  const unit = await findUnit(namespace);
  if (unit !== undefined) return unit;
  throw new CliError(
    'not-found',
    `The namespace ${namespace} does not have a unit. Write one with \`earshot -n ${namespace} system install\`.`,
  );
}
