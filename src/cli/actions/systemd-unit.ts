import { limitTable } from '../../limits/table.ts';
import { reloadArguments, removeCommand, runArguments, stopArguments, stopSeconds, type RouterContainer } from './router-container.ts';

/** The systemd unit of a namespace, as text (systemd.unit(5), systemd.service(5)). */
export interface UnitOptions {
  readonly namespace: string;
  /** Absolute path of the program, and its arguments before `-n`. */
  readonly command: readonly string[];
  /** Value of EARSHOT_HOME. */
  readonly home: string;
  /** Whether the unit is for the systemd instance of one user. */
  readonly user: boolean;
  readonly drainSeconds: number;
}

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

export function unitText({ namespace, command, home, user, drainSeconds }: UnitOptions): string {
  const [program = '', ...words] = [...command, '-n', namespace, 'run', '--drain-timeout', `${drainSeconds}s`];
  // systemd expands variables only in arguments, not in the program.
  const start = [quoted(program, 'setting'), ...words.map((word) => quoted(word, 'word'))].join(' ');
  return `${HEADER}
[Unit]
Description=Earshot, namespace ${namespace}
${user ? '' : 'Wants=network-online.target\nAfter=network-online.target\n'}StartLimitIntervalSec=0

[Service]
Type=exec
ExecStart=${start}
ExecReload=/bin/kill -HUP $MAINPID
Environment=${quoted(`EARSHOT_HOME=${home}`, 'setting')}
Restart=always
RestartSec=1
KillMode=mixed
TimeoutStopSec=${drainSeconds + 10}
SyslogIdentifier=earshot
UMask=0077
NoNewPrivileges=true
LimitNOFILE=${limitTable.openFiles.value}
${user ? '' : hardening(home)}
${installation(namespace, user)}`;
}

const HEADER = '# Written by `earshot system install`, which replaces it the next time: put changes into a drop-in (systemctl edit).';

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
  const line = (args: readonly string[]): string => [quoted(program, 'setting'), ...args.map((word) => quoted(word, 'word'))].join(' ');
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
 * A site writes only below its home. It needs ports below 1024, and files there that belong to other users, as after restoring a
 * backup. Netlink is needed to list the machine's addresses.
 */
function hardening(home: string): string {
  return `CapabilityBoundingSet=CAP_NET_BIND_SERVICE CAP_DAC_OVERRIDE
ProtectSystem=strict
ReadWritePaths=${quoted(home, 'setting')}
PrivateDevices=true
ProtectClock=true
ProtectHostname=true
ProtectKernelLogs=true
RestrictNamespaces=true
RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK
ProtectKernelTunables=true
ProtectKernelModules=true
ProtectControlGroups=true
RestrictSUIDSGID=true
RestrictRealtime=true
LockPersonality=true
SystemCallArchitectures=native
`;
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
