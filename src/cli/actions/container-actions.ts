/** Runs Podman or Docker for the routers of a namespace. */
import { execFile } from 'node:child_process';
import { constants } from 'node:fs';
import { access } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { validateResource } from '../../api/skupper/validate.ts';
import { limitTable } from '../../limits/table.ts';
import { baseDirectory, layoutOf, type NamespaceLayout } from '../../platform/linux/layout.ts';
import type { Engine } from '../../platform/linux/machine.ts';
import type { PlatformFile } from '../../platform/linux/platform-file.ts';
import { LeaderLock } from '../../platform/linux/routers.ts';
import { makeNamespace } from '../../platform/linux/site.ts';
import { openStores } from '../../platform/linux/stores.ts';
import { writtenResources } from '../../platform/linux/written-resources.ts';
import { networkAliases, siteNetworks } from '../../site/networks.ts';
import { isRecord } from '../../text/is-record.ts';
import { printable, quoted } from '../../text/printable.ts';
import { shellWord } from '../../text/shell-word.ts';
import { DirectoryBundles } from '../../trust/disk/bundles.ts';
import { VERSION } from '../../version.ts';
import { CliError } from '../errors.ts';
import {
  containerName,
  hasAliases,
  isOwn,
  listAllArguments,
  listArguments,
  removeCommand,
  runArguments,
  stopArguments,
  stopSeconds,
  type RouterContainer,
} from './router-container.ts';

const run = promisify(execFile);

/** Milliseconds for a question to the engine, and for pulling an image. */
const ASK_WITHIN = 30_000;
const PULL_WITHIN = 600_000;
const DEFAULT_DRAIN_SECONDS = 30;

/** The image that a namespace uses if none was chosen: variables of Skupper's scripts, then what `make image` writes. */
export function defaultImage(environment: Readonly<Record<string, string | undefined>> = process.env): string {
  const image = environment['SKUPPER_ROUTER_IMAGE'] ?? '';
  if (image !== '') return image;
  const registry = environment['SKUPPER_IMAGE_REGISTRY'] ?? '';
  return `${registry === '' ? 'localhost' : registry.replace(/\/+$/, '')}/earshot:${VERSION}`;
}

/** The machine that runs the containers, if this process cannot ask it. */
export interface Machine {
  /** Value of EARSHOT_HOME there. */
  readonly home: string;
  /** The engine's program. */
  readonly program: string;
}

/** Containers of the namespace: the first router's, then one for each network of the Site. */
export async function plannedContainers(
  namespace: string,
  { platform: engine, image, drainSeconds }: PlatformFile & { readonly platform: Engine },
  supervisor: RouterContainer['supervisor'],
  machine?: Machine,
): Promise<readonly [RouterContainer, ...RouterContainer[]]> {
  const home = machine?.home ?? baseDirectory();
  // The option -v separates its parts by colons, and neither engine can quote them.
  if (home.includes(':'))
    throw new CliError('failed', `Containers cannot use ${printable(home)}: its path has a colon. Set EARSHOT_HOME to another directory.`);
  const chosen = image ?? defaultImage();
  if (chosen.startsWith('-'))
    throw new CliError('usage', `The image ${quoted(chosen)} is not a valid name: it begins with a hyphen. Give another with --image.`);
  const program = machine?.program ?? (await findProgram(engine));
  const [uid, gid] = [process.getuid?.() ?? 0, process.getgid?.() ?? 0];
  const isRootless = engine === 'podman' ? uid !== 0 : machine === undefined && (await isDockerRootless(program));
  const layout = layoutOf(namespace);
  const first: RouterContainer = {
    engine,
    program,
    namespace,
    home,
    image: chosen,
    siteId: await siteIdOf(layout),
    aliases: [],
    user: { uid, gid },
    isRootless,
    drainSeconds: drainSeconds ?? DEFAULT_DRAIN_SECONDS,
    // Without root the limit is that of the user, and so is Podman's default. Without systemd the engine's default counts.
    ...(isRootless || supervisor === 'engine' ? {} : { openFiles: limitTable.openFiles.value }),
    supervisor,
  };
  const resources = await writtenParts(layout);
  const networks = [...new Set(resources.Site.flatMap(siteNetworks))];
  return [first, ...networks.map((network) => ({ ...first, network, aliases: networkAliases(resources, network) }))];
}

type NetworkResources = Parameters<typeof networkAliases>[0];

/** Valid resources of the user that decide about networks. */
async function writtenParts(layout: NamespaceLayout): Promise<NetworkResources> {
  const valid = (await writtenResources(layout)).flatMap(({ manifest }) => {
    const { resource } = validateResource(manifest);
    return resource === undefined ? [] : [resource];
  });
  return {
    Site: valid.filter((resource) => resource.kind === 'Site'),
    Listener: valid.filter((resource) => resource.kind === 'Listener'),
    MultiKeyListener: valid.filter((resource) => resource.kind === 'MultiKeyListener'),
  };
}

async function findProgram(engine: Engine): Promise<string> {
  const folders = (process.env['PATH'] ?? '').split(delimiter).filter((folder) => folder.startsWith('/'));
  for (const path of [...folders, '/usr/bin', '/usr/local/bin'].map((folder) => join(folder, engine))) {
    if (await access(path, constants.X_OK).then(yes, no)) return path;
  }
  throw new CliError(
    'not-found',
    `${engine} does not exist on this machine: no directory of PATH has it. Install it, or use --platform linux.`,
  );
}

async function isDockerRootless(program: string): Promise<boolean> {
  return (await ask(program, ['info', '--format', '{{json .SecurityOptions}}'])).includes('name=rootless');
}

/** ID from the site's key; undefined before the site has one. */
async function siteIdOf(layout: NamespaceLayout): Promise<string | undefined> {
  const stores = openStores(layout, new DirectoryBundles(layout.internal.certs));
  return (await stores.identity(false))?.id;
}

/** Creates the namespace and its key, so that containers can be mounted on it and labelled with the ID of the site. */
export async function prepareNamespace(layout: NamespaceLayout): Promise<void> {
  await makeNamespace(layout);
  const leader = new LeaderLock(layout);
  // Otherwise a process that runs the namespace creates the key.
  if (!leader.lead()) return;
  try {
    await openStores(layout, new DirectoryBundles(layout.internal.certs)).identity(true);
  } finally {
    leader.resign();
  }
}

/** Pulls the image if the engine does not have it. @throws CliError not-found */
export async function requireImage({ engine, program, image }: RouterContainer): Promise<void> {
  if (await succeeds(program, ['image', 'inspect', '--format', '{{.Id}}', image])) return;
  const archive = engine === 'docker' ? '`make image FORMAT=docker-archive`' : '`make image`';
  const advice = `Build it with ${archive} and load it with \`${engine} load -i dist/earshot.tar\`, or choose one with --image.`;
  if (image.startsWith('localhost/'))
    throw new CliError('not-found', `The image ${printable(image)} does not exist in ${engine}. ${advice}`);
  try {
    await run(program, ['pull', image], { timeout: PULL_WITHIN });
  } catch (error) {
    throw new CliError('not-found', `The image ${printable(image)} cannot be pulled: ${reasonOf(error)}. ${advice}`, error);
  }
}

/** @throws CliError exists if another program's container has the name of one of these */
export async function requireFreeNames(containers: readonly RouterContainer[]): Promise<void> {
  for (const container of containers) {
    const name = containerName(container.namespace, container.network);
    const found = await inspect(container.program, name);
    if (found === undefined || isOwn(found.labels, container)) continue;
    throw new CliError(
      'exists',
      `The container ${name} belongs to another program or directory: it lacks the labels of this namespace. Remove it with \`${container.engine} rm -f ${name}\` if it is not needed.`,
    );
  }
}

/**
 * Starts the containers that do not run, detached. The engine restarts them. A container without a planned name is stopped and created
 * again.
 * @throws CliError
 */
export async function startContainers(containers: readonly RouterContainer[]): Promise<void> {
  for (const container of containers) {
    const { program } = container;
    const found = await inspect(program, containerName(container.namespace, container.network));
    if (found?.isRunning === true && hasAliases(found.labels, container)) continue;
    await requireNetwork(container);
    if (found?.isRunning === true) await stopContainers([container]);
    else await removeContainer(container);
    await act(program, runArguments(container), PULL_WITHIN);
  }
}

/** Stops and removes containers, those of networks first. No-op for those that do not exist. */
export async function stopContainers(containers: readonly RouterContainer[]): Promise<void> {
  for (const container of containers.toReversed()) {
    if ((await ask(container.program, listArguments(container))) === '') continue;
    await act(container.program, stopArguments(container), stopTime(container));
    await removeContainer(container);
  }
}

/** Stops and removes containers of the namespace that are not planned, such as that of a network which the Site no longer lists. */
export async function stopObsolete(planned: readonly [RouterContainer, ...RouterContainer[]]): Promise<void> {
  const [first] = planned;
  const names = new Set(planned.map(({ namespace, network }) => containerName(namespace, network)));
  const listed = (await ask(first.program, listAllArguments(first))).split('\n');
  const obsolete = listed.filter((name) => name !== '' && !names.has(name));
  if (obsolete.length === 0) return;
  await act(first.program, ['stop', '-t', String(stopSeconds(first.drainSeconds)), ...obsolete], stopTime(first));
  await act(first.program, ['rm', '--force', ...obsolete], ASK_WITHIN);
}

/** Milliseconds. */
function stopTime({ drainSeconds }: RouterContainer): number {
  return (stopSeconds(drainSeconds) + 20) * 1000;
}

/** @throws CliError not-found */
export async function requireNetwork({ engine, program, network }: RouterContainer): Promise<void> {
  if (network === undefined || (await succeeds(program, ['network', 'inspect', network]))) return;
  throw new CliError(
    'not-found',
    `The network ${network} does not exist in ${engine}. Create it with \`${engine} network create ${network}\`.`,
  );
}

async function removeContainer(container: RouterContainer): Promise<void> {
  await act('/bin/sh', ['-c', removeCommand(container)], ASK_WITHIN);
}

/** A container, for status and reports. */
export interface ContainerState {
  readonly name: string;
  /** State as the engine names it, such as `running` or `exited`. `absent` if the container does not exist. */
  readonly state: string;
  readonly exitCode?: number;
  readonly error?: string;
  readonly startedAt?: string;
  readonly finishedAt?: string;
  readonly restarts?: number;
  readonly image?: string;
  readonly networks?: readonly string[];
}

export async function containerStates(containers: readonly RouterContainer[]): Promise<readonly ContainerState[]> {
  return Promise.all(
    containers.map(async ({ program, namespace, network }) => {
      const name = containerName(namespace, network);
      return (await inspect(program, name))?.state ?? { name, state: 'absent' };
    }),
  );
}

/** Version of the engine, or why it does not answer. */
export async function engineVersion({ program }: RouterContainer): Promise<string> {
  return ask(program, ['version']).catch((error: unknown) => reasonOf(error));
}

interface Inspected {
  readonly isRunning: boolean;
  readonly labels: Readonly<Record<string, unknown>>;
  readonly state: ContainerState;
}

/** @returns undefined if the container does not exist */
async function inspect(program: string, name: string): Promise<Inspected | undefined> {
  const exists = (await ask(program, ['ps', '--all', '--format', '{{.Names}}'])).split('\n').includes(name);
  if (!exists) return undefined;
  const text = await ask(program, ['container', 'inspect', name]).catch(() => 'null');
  const parsed: unknown = JSON.parse(text);
  const value: unknown = Array.isArray(parsed) ? parsed[0] : undefined;
  if (!isRecord(value)) return undefined;
  const [state, config, settings] = [value['State'], value['Config'], value['NetworkSettings']].map((part) => (isRecord(part) ? part : {}));
  const labels = config?.['Labels'];
  const networks = settings?.['Networks'];
  const word = (part: unknown): string | undefined => (typeof part === 'string' && part !== '' ? part : undefined);
  // The zero time of Go means never.
  const moment = (part: unknown): string | undefined => (word(part)?.startsWith('0001-') === true ? undefined : word(part));
  const number = (part: unknown): number | undefined => (typeof part === 'number' ? part : undefined);
  return {
    isRunning: state?.['Running'] === true,
    labels: isRecord(labels) ? labels : {},
    state: withoutUndefined({
      name,
      state: word(state?.['Status']) ?? 'unknown',
      exitCode: number(state?.['ExitCode']),
      error: word(state?.['Error']),
      startedAt: moment(state?.['StartedAt']),
      finishedAt: moment(state?.['FinishedAt']),
      restarts: number(value['RestartCount']),
      image: word(config?.['Image']),
      networks: isRecord(networks) ? Object.keys(networks) : undefined,
    }),
  };
}

function withoutUndefined(state: { readonly [K in keyof ContainerState]: ContainerState[K] | undefined }): ContainerState {
  // Only entries without a value are removed.
  return Object.fromEntries(Object.entries(state).filter(([, value]) => value !== undefined)) as unknown as ContainerState;
}

async function ask(program: string, args: readonly string[]): Promise<string> {
  return (await act(program, args, ASK_WITHIN)).trim();
}

async function succeeds(program: string, args: readonly string[]): Promise<boolean> {
  return run(program, args, { timeout: ASK_WITHIN }).then(yes, no);
}

/** @throws CliError failed with what the engine wrote */
async function act(program: string, args: readonly string[], milliseconds: number): Promise<string> {
  try {
    return (await run(program, args, { timeout: milliseconds, maxBuffer: 16 * 1024 * 1024 })).stdout;
  } catch (error) {
    const command = [program, ...args].map(shellWord).join(' ');
    // Without the error as its cause, whose message repeats the command and all that the engine wrote.
    throw new CliError('failed', `${program} ${args[0] ?? ''} failed: ${reasonOf(error)}. To try it by hand: ${command}`);
  }
}

/** The last lines that the program wrote. */
function reasonOf(error: unknown): string {
  const written = error instanceof Error && 'stderr' in error ? String(error.stderr).trim() : '';
  const text = written === '' ? (error instanceof Error ? error.message : String(error)) : written;
  return printable(text.split('\n').slice(-3).join('; ').slice(-600).replace(/\.+$/, ''));
}

const yes = (): true => true;
const no = (): false => false;
