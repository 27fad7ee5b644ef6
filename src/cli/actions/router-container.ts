/** The container of a router: its name, and the command lines of Podman and Docker that run it. Pure. */
import { createHash } from 'node:crypto';
import type { Engine } from '../../platform/linux/machine.ts';
import { shellWord } from '../../text/shell-word.ts';

export interface RouterContainer {
  readonly engine: Engine;
  /** Absolute path of the engine's program. */
  readonly program: string;
  readonly namespace: string;
  /** Value of EARSHOT_HOME on the machine. */
  readonly home: string;
  readonly image: string;
  /** Undefined before the site has its key. */
  readonly siteId: string | undefined;
  /** Network of the engine that the router serves. Undefined for the first router, which has the machine's network. */
  readonly network?: string | undefined;
  /** Names of the router in `network`. */
  readonly aliases: readonly string[];
  /** User in the container. For Podman without root it is also the user outside of it. */
  readonly user: { readonly uid: number; readonly gid: number };
  /** Whether the engine itself runs without root. */
  readonly isRootless: boolean;
  readonly drainSeconds: number;
  /** Maximum number of open files. Undefined for that of the process which starts the engine. */
  readonly openFiles?: number | undefined;
  /** The program that restarts the container: systemd, or the engine on a machine without systemd. */
  readonly supervisor: 'systemd' | 'engine';
}

/** EARSHOT_HOME in the container. */
const INNER_HOME = '/var/lib/earshot';

/** Seconds beyond the drain after which the engine kills the container. */
const STOP_GRACE = 10;

/** Skupper's name for the container of the first router. */
export function containerName(namespace: string, network?: string): string {
  return `${namespace}-skupper-router${network === undefined ? '' : `-${network}`}`;
}

/** Labels by which a container is known to be ours. Users of one engine may have namespaces of the same name, so the directory counts. */
export function ownLabels({ namespace, home, network }: Pick<RouterContainer, 'namespace' | 'home' | 'network'>): readonly string[] {
  return [...siteLabels({ namespace, home }), `earshot.network=${network ?? 'host'}`];
}

function siteLabels({ namespace, home }: Pick<RouterContainer, 'namespace' | 'home'>): readonly string[] {
  return [`earshot.namespace=${namespace}`, `earshot.directory=${home}/namespaces/${namespace}`];
}

/** Label by which a container is known to have all its names in the network. Engines give names at creation only. */
function aliasLabel({ aliases }: Pick<RouterContainer, 'aliases'>): string {
  return `earshot.aliases=${aliases.join(',')}`;
}

/** Whether a container with these labels has the planned names. */
export function hasAliases(labels: Readonly<Record<string, unknown>>, { aliases }: Pick<RouterContainer, 'aliases'>): boolean {
  return (labels['earshot.aliases'] ?? '') === aliases.join(',');
}

/** Whether a container with these labels is the router's own. */
export function isOwn(
  labels: Readonly<Record<string, unknown>>,
  container: Pick<RouterContainer, 'namespace' | 'home' | 'network'>,
): boolean {
  return ownLabels(container).every((label) => {
    const at = label.indexOf('=');
    return labels[label.slice(0, at)] === label.slice(at + 1);
  });
}

/** Arguments of the engine that run the container. */
export function runArguments(container: RouterContainer): readonly string[] {
  const { engine, namespace, home, image, siteId, network, aliases, drainSeconds, openFiles } = container;
  const name = containerName(namespace, network);
  const labels = [
    'application=skupper-v2',
    'skupper.io/v2-component=router',
    ...(siteId === undefined ? [] : [`skupper.io/site-id=${siteId}`]),
    ...ownLabels(container),
    ...(aliases.length === 0 ? [] : [aliasLabel(container)]),
  ];
  const environment = [`EARSHOT_HOME=${INNER_HOME}`, `EARSHOT_PLATFORM=${engine}`, `EARSHOT_CONTAINER=${name}`, ...announced(aliases)];
  return [
    'run',
    ...supervision(container),
    '--name',
    name,
    '--network',
    network ?? 'host',
    ...aliases.flatMap((alias) => ['--network-alias', alias]),
    ...identity(container),
    '--read-only',
    '--tmpfs',
    '/tmp',
    '--stop-timeout',
    String(stopSeconds(drainSeconds)),
    '--security-opt',
    'no-new-privileges',
    '--security-opt',
    `label=level:${selinuxLevel(namespace, home)}`,
    ...labels.flatMap((label) => ['--label', label]),
    ...environment.flatMap((entry) => ['--env', entry]),
    ...(openFiles === undefined ? [] : ['--ulimit', `nofile=${openFiles}:${openFiles}`]),
    '--volume',
    `${home}/namespaces/${namespace}:${INNER_HOME}/namespaces/${namespace}:z`,
    // The flags of the image's entry point save memory in controllers; `earshot run` sets those of a router, as on Linux.
    '--entrypoint',
    '/usr/local/bin/node',
    image,
    '/app/earshot.mjs',
    '-n',
    namespace,
    'run',
    ...(network === undefined ? [] : ['--network', network]),
    '--drain-timeout',
    `${drainSeconds}s`,
  ];
}

function announced(aliases: readonly string[]): readonly string[] {
  return aliases.length === 0 ? [] : [`EARSHOT_ALIASES=${aliases.join(',')}`];
}

/**
 * With Podman, conmon runs in the control group of the unit and reports its PID, so systemd watches the container itself. Docker's container
 * belongs to its daemon, so systemd watches the attached client.
 */
function supervision({ engine, supervisor }: RouterContainer): readonly string[] {
  if (supervisor === 'engine') return ['--detach', '--restart', 'always', ...boundedLog[engine]];
  return engine === 'podman'
    ? ['--detach', '--rm', '--sdnotify=conmon', '--cgroups=no-conmon', '--log-driver', 'journald']
    : ['--rm', '--log-driver', 'local'];
}

/** Log that does not grow without limit. */
const boundedLog: Readonly<Record<Engine, readonly string[]>> = {
  podman: ['--log-driver', 'k8s-file', '--log-opt', 'max-size=50mb'],
  docker: ['--log-driver', 'local'],
};

/** User and rights. Root has those of the service on Linux: ports below 1024, and files of other users in the namespace. */
function identity({ engine, user: { uid, gid }, isRootless }: RouterContainer): readonly string[] {
  const keep = engine === 'podman' && isRootless ? ['--userns', 'keep-id'] : [];
  // Root in a container of a Docker without root is the user itself.
  const user = engine === 'docker' && isRootless ? '0:0' : `${uid}:${gid}`;
  const rights = user === '0:0' ? ['--cap-add', 'NET_BIND_SERVICE', '--cap-add', 'DAC_OVERRIDE'] : [];
  return [...keep, '--user', user, '--cap-drop', 'all', ...rights];
}

/**
 * SELinux level of all containers of a site. Each container has its own categories by default, and then it cannot connect to the Unix
 * sockets of its replicas. Two different categories of 1,024, from the directory.
 */
function selinuxLevel(namespace: string, home: string): string {
  const hash = createHash('sha256').update(`${home}\0${namespace}`).digest();
  const first = hash.readUInt16BE(0) % 1024;
  const second = (first + 1 + (hash.readUInt16BE(2) % 1023)) % 1024;
  return `s0:c${Math.min(first, second)},c${Math.max(first, second)}`;
}

/** Arguments of the engine that list the site's container of this router, running or not, by ID. */
export function listArguments(container: Pick<RouterContainer, 'namespace' | 'home' | 'network'>): readonly string[] {
  return ['ps', '--all', '--quiet', ...filters(ownLabels(container))];
}

/** The same for the containers of all routers of the namespace, by name. */
export function listAllArguments(container: Pick<RouterContainer, 'namespace' | 'home'>): readonly string[] {
  return ['ps', '--all', '--format', '{{.Names}}', ...filters(siteLabels(container))];
}

function filters(labels: readonly string[]): readonly string[] {
  return labels.flatMap((label) => ['--filter', `label=${label}`]);
}

/** Shell command that removes what an earlier start left. It never removes a container of that name without our labels. */
export function removeCommand(container: Pick<RouterContainer, 'program' | 'namespace' | 'home' | 'network'>): string {
  const program = shellWord(container.program);
  return `${[program, ...listArguments(container).map(shellWord)].join(' ')} | xargs -r ${program} rm --force`;
}

export function stopArguments({
  namespace,
  network,
  drainSeconds,
}: Pick<RouterContainer, 'namespace' | 'network' | 'drainSeconds'>): readonly string[] {
  return ['stop', '-t', String(stopSeconds(drainSeconds)), containerName(namespace, network)];
}

/** Seconds that a container has to end, including its drain. */
export function stopSeconds(drainSeconds: number): number {
  return drainSeconds + STOP_GRACE;
}

export function reloadArguments({ namespace, network }: Pick<RouterContainer, 'namespace' | 'network'>): readonly string[] {
  return ['kill', '--signal', 'HUP', containerName(namespace, network)];
}
