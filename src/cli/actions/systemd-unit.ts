import { limitTable } from '../../limits/table.ts';

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

export function unitName(namespace: string): string {
  return `earshot-${namespace}.service`;
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
  return `# Written by \`earshot system install\`, and written anew by the next one: put changes into a drop-in (systemctl edit).
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
[Install]
WantedBy=${user ? 'default.target' : 'multi-user.target'}
`;
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

/** In arguments `$` begins a variable; in arguments and settings `%` begins a specifier. */
function quoted(word: string, where: 'word' | 'setting'): string {
  const escaped = word.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n').replaceAll('%', '%%');
  const text = where === 'word' ? escaped.replaceAll('$', '$$$$') : escaped;
  return /^[\w./=:@,+-]+$/.test(text) ? text : `"${text}"`;
}
