import { basename } from 'node:path';
import { limitTable } from '../../limits/table.ts';
import { reloadArguments, removeCommand, runArguments, stopArguments, stopSeconds, type RouterContainer } from './router-container.ts';

/** Program of a unit, and user that runs it. */
export interface UnitProgram {
  /** Absolute path of the program, and its arguments before `-n`. */
  readonly command: readonly string[];
  /** Value of EARSHOT_HOME. */
  readonly home: string;
  /** Whether the unit is for the systemd instance of one user. */
  readonly user: boolean;
  /** User that a unit of the system runs as. Default: root. */
  readonly account?: string | undefined;
}

/** The systemd unit of a namespace, as text (systemd.unit(5), systemd.service(5)). */
export interface UnitOptions extends UnitProgram {
  readonly namespace: string;
  readonly drainSeconds: number;
}

export interface ConsoleUnitOptions extends UnitProgram {
  readonly namespace: string;
  readonly port: number;
  readonly publicUrls: readonly URL[];
  /** Absolute path of the file that keeps the history. */
  readonly history?: string | undefined;
}

/** User that the packages create for sites. */
export const ACCOUNT = 'earshot';

/** Directory of namespaces of a machine, which the packages' template serves. */
const SYSTEM_HOME = '/var/lib/earshot';

/** @param network network of a container engine, for the unit of its router. A namespace cannot contain `_`, so no two units share a name. */
export function unitName(namespace: string, network?: string): string {
  return `earshot-${namespace}${network === undefined ? '' : `_${network}`}.service`;
}

/** The name that Skupper gives the unit, for scripts that restart it. */
export function aliasName(namespace: string): string {
  return `skupper-${namespace}.service`;
}

/**
 * Names of the units that run a router of the namespace: the first, and copies that users made under other names for further
 * routers. The command line decides: `earshot-west-second.service` may also be the unit of a namespace `west-second`.
 * @param texts texts of units by file name
 */
export function unitsOf(namespace: string, texts: ReadonlyMap<string, string>): readonly string[] {
  const runs = (text: string): boolean =>
    text.split('\n').some((line) => line.startsWith('ExecStart=') && ` ${line} `.includes(` -n ${namespace} run `));
  return [...texts].filter(([name, text]) => name.startsWith(`earshot-${namespace}`) && runs(text)).map(([name]) => name);
}

/** Name of the namespace's instance of the packages' template. */
export function instanceName(namespace: string): string {
  return `earshot@${namespace}.service`;
}

/** Name of the unit of a namespace's console. A namespace cannot contain `@`, so it is never the name of a site's unit. */
export function consoleUnitName(namespace: string): string {
  return `earshot-console@${namespace}.service`;
}

/**
 * The template that the packages contain, for `systemctl enable --now earshot@NAMESPACE`.
 * @param command absolute path of the program, and its arguments before `-n`
 */
export function unitTemplate(command: readonly string[], drainSeconds: number): string {
  const text = unitText({ namespace: INSTANCE, command, home: SYSTEM_HOME, user: false, account: ACCOUNT, drainSeconds });
  const header = '# Runs the site of a namespace: systemctl enable --now earshot@NAMESPACE. Put changes into a drop-in (systemctl edit).';
  return text
    .replace(HEADER, header)
    .replace(/^Alias=.*\n/m, '')
    .replaceAll(INSTANCE, '%i');
}

/** Placeholder of the namespace, which is not escaped. */
const INSTANCE = 'INSTANCE';

export interface AccountFacts {
  readonly home: string;
  /** Absolute paths of the program. */
  readonly command: readonly string[];
  /** Whether the packages' user exists on this machine. */
  readonly exists: boolean;
}

/** User for a unit of the system; undefined for root, if the user cannot read the program or the home is another directory. */
export function accountFor({ home, command, exists }: AccountFacts): string | undefined {
  return exists && home === SYSTEM_HOME && command.every((path) => isOutside(path, PRIVATE_FOLDERS)) ? ACCOUNT : undefined;
}

const PRIVATE_FOLDERS = ['/home', '/root', '/run/user'];
const TEMPORARY_FOLDERS = ['/tmp', '/var/tmp'];

const isOutside = (path: string, folders: readonly string[]): boolean => !folders.some((folder) => `${path}/`.startsWith(`${folder}/`));

export function unitText({ namespace, command, home, user, account, drainSeconds }: UnitOptions): string {
  const start = commandLine([...command, '-n', namespace, 'run', '--drain-timeout', `${drainSeconds}s`]);
  return `${HEADER}
[Unit]
Description=Earshot, namespace ${namespace}
${user ? '' : 'Wants=network-online.target\nAfter=network-online.target\n'}StartLimitIntervalSec=0

[Service]
Type=exec
${account === undefined ? '' : runAs(account)}ExecStart=${start}
ExecReload=/bin/sh -c "kill -HUP \${MAINPID}"
Environment=${quoted(`EARSHOT_HOME=${home}`, 'setting')}
Restart=always
RestartSec=1
KillMode=mixed
TimeoutStopSec=${drainSeconds + 10}
SyslogIdentifier=earshot
UMask=0077
NoNewPrivileges=true
LimitNOFILE=${limitTable.openFiles.value}
${user ? '' : hardening({ home, command, account })}
${installation(namespace, user)}`;
}

const headerOf = (command: string): string =>
  `# Written by \`earshot system ${command}\`, which replaces it the next time: put changes into a drop-in (systemctl edit).`;
const HEADER = headerOf('install');

/** The unit of a namespace's console. It starts, stops and crashes with the site, but survives a restart: its history is in memory. */
export function consoleUnitText({ namespace, port, publicUrls, history, ...program }: ConsoleUnitOptions): string {
  const { command, home, user, account } = program;
  const urls = publicUrls.flatMap(({ href }) => ['--public-url', href]);
  const words = ['--service', '--port', String(port), ...urls, ...(history === undefined ? [] : ['--history', history])];
  const sites = [unitName(namespace), ...(user ? [] : [instanceName(namespace)])].join(' ');
  return `${headerOf('network-observer')}
[Unit]
Description=Earshot console, namespace ${namespace}
After=${sites}
StopPropagatedFrom=${sites}
StartLimitIntervalSec=0

[Service]
Type=exec
${account === undefined ? '' : runAs(account)}ExecStart=${commandLine([...command, '-n', namespace, 'console', ...words])}
Environment=${quoted(`EARSHOT_HOME=${home}`, 'setting')}
Restart=always
RestartSec=1
SyslogIdentifier=earshot-console
UMask=0077
NoNewPrivileges=true
${user ? '' : hardening(program)}
[Install]
WantedBy=${sites}
`;
}

function installation(namespace: string, user: boolean, network?: string): string {
  const alias = network === undefined ? `Alias=${aliasName(namespace)}\n` : '';
  return `[Install]\nWantedBy=${user ? 'default.target' : 'multi-user.target'}\n${alias}`;
}

/**
 * The unit of a router in a container. The unit of a network's router stops and restarts with that of the first router.
 * @param user whether the unit is for the systemd instance of one user
 */
export function containerUnitText(container: RouterContainer, user: boolean): string {
  const { engine, program, namespace, network, drainSeconds } = container;
  const line = (args: readonly string[]): string => commandLine([program, ...args]);
  const first = unitName(namespace);
  // The systemd instance of a user does not know the units of the system.
  const after = [
    ...(user ? [] : ['network-online.target']),
    ...(engine === 'docker' && !user ? ['docker.service'] : []),
    ...(network === undefined ? [] : [first]),
  ];
  const wants = after.filter((unit) => unit !== first);
  return `${HEADER}
[Unit]
Description=Earshot, namespace ${namespace}${network === undefined ? '' : `, network ${network}`}
${wants.length === 0 ? '' : `Wants=${wants.join(' ')}\n`}${after.length === 0 ? '' : `After=${after.join(' ')}\n`}${
    network === undefined ? '' : `PartOf=${first}\n`
  }${engine === 'podman' ? 'RequiresMountsFor=%t/containers\n' : ''}StartLimitIntervalSec=0

[Service]
${engine === 'podman' ? 'Type=notify\nNotifyAccess=all' : 'Type=exec'}
ExecStartPre=-/bin/sh -c ${quoted(removeCommand(container), 'word')}
ExecStart=${line(runArguments(container))}
ExecReload=${line(reloadArguments(container))}
ExecStop=-${line(stopArguments(container))}
Restart=always
RestartSec=1
KillMode=mixed
# The engine may have to pull the image.
TimeoutStartSec=300
TimeoutStopSec=${stopSeconds(drainSeconds) + 20}
SyslogIdentifier=earshot
LimitNOFILE=${limitTable.openFiles.value}

${installation(namespace, user, network)}`;
}

/**
 * systemd gives the home to the user if its owner differs (systemd.exec(5)). Root must not change owners there by path: the user owns the
 * directories, and could put a link in place of one.
 */
function runAs(account: string): string {
  return `User=${account}
Group=${account}
StateDirectory=${basename(SYSTEM_HOME)}
StateDirectoryMode=0755
`;
}

/**
 * A site writes only below its home. It needs ports below 1024. Root needs files there that belong to other users, as after restoring a
 * backup. Netlink is needed to list the machine's addresses. V8 compiles code, so memory is both writable and executable.
 */
function hardening({ home, command, account }: Pick<UnitOptions, 'home' | 'command' | 'account'>): string {
  const paths = [home, ...command.filter((word) => word.startsWith('/'))];
  const isFree = (folders: readonly string[]): boolean => paths.every((path) => isOutside(path, folders));
  return `CapabilityBoundingSet=CAP_NET_BIND_SERVICE${account === undefined ? ' CAP_DAC_OVERRIDE' : ''}
${account === undefined ? '' : 'AmbientCapabilities=CAP_NET_BIND_SERVICE\n'}ProtectSystem=strict
ReadWritePaths=${quoted(home, 'setting')}
ProtectHome=${isFree(PRIVATE_FOLDERS) ? 'true' : 'read-only'}
${isFree(TEMPORARY_FOLDERS) ? 'PrivateTmp=true\n' : ''}PrivateDevices=true
DevicePolicy=closed
ProtectClock=true
ProtectHostname=true
ProtectKernelLogs=true
ProtectProc=invisible
RestrictNamespaces=true
RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK
ProtectKernelTunables=true
ProtectKernelModules=true
ProtectControlGroups=true
RestrictSUIDSGID=true
RestrictRealtime=true
LockPersonality=true
RemoveIPC=true
SystemCallArchitectures=native
SystemCallFilter=@system-service
SystemCallFilter=~@privileged @resources
SystemCallErrorNumber=EPERM
`;
}

/** systemd expands variables only in arguments, not in the program. */
function commandLine([program = '', ...words]: readonly string[]): string {
  return [quoted(program, 'setting'), ...words.map((word) => quoted(word, 'word'))].join(' ');
}

/** In arguments `$` begins a variable; in arguments and settings `%` begins a specifier. A carriage return ends a line too. */
function quoted(word: string, where: 'word' | 'setting'): string {
  const escaped = word
    .replaceAll('\\', '\\\\')
    .replaceAll('"', '\\"')
    .replaceAll('\n', '\\n')
    .replaceAll('\r', '\\r')
    .replaceAll('%', '%%');
  const text = where === 'word' ? escaped.replaceAll('$', '$$$$') : escaped;
  return /^[\w./=:@,+-]+$/.test(text) ? text : `"${text}"`;
}
