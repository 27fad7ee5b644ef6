/** Paths of a namespace on a machine without a cluster. No file is read or created. */
import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { EarshotError } from '../../errors/earshot-error.ts';
import { isLabel, isResourceName } from '../../text/names.ts';
import { quoted } from '../../text/printable.ts';

export interface NamespaceLayout {
  readonly namespace: string;
  readonly root: string;
  /** Files of the user. The CLI writes here too; the running process only reads. */
  readonly input: {
    readonly root: string;
    /** `*.yaml`, `*.yml` and `*.json`. */
    readonly resources: string;
    /** `NAME/{tls.crt,tls.key,ca.crt}`. */
    readonly certs: string;
    /** The user's certificate authorities: `NAME/{tls.crt,tls.key}`. */
    readonly issuers: string;
  };
  /** Keys and state that must not be lost, mode 0700. `root` itself contains the ledger of issued certificates and revoked sites. */
  readonly internal: {
    readonly root: string;
    readonly site: string;
    readonly identityKey: string;
    readonly ca: string;
    /** Bundles that Earshot issued or received by redeeming a token: `NAME/{tls.crt,tls.key,ca.crt}`. */
    readonly certs: string;
    /** Certificate authorities that Earshot created because a resource names them: `NAME/{tls.crt,tls.key}`. */
    readonly issuers: string;
    /** JSON list: names of the bundles in `certs` that Earshot generated because a resource names them. */
    readonly generated: string;
    readonly grants: string;
    /** Link resources from redeemed tokens. */
    readonly links: string;
  };
  readonly runtime: {
    readonly root: string;
    /** Resources with status, written by the running process: `KIND-NAME.yaml`. */
    readonly resources: string;
    /** Copies of TLS bundles in use, for scripts: `NAME/{tls.crt,tls.key,ca.crt}`. */
    readonly certs: string;
    /** Links for other sites. Each contains a key, so mode 0700. */
    readonly links: string;
    /** Problems with files in `input`, for the CLI. */
    readonly problems: string;
    /** Files of running processes: PID files, Unix sockets, ports. */
    readonly run: string;
    /** Socket of the console service, which issues links: see `serveConsoleLinks`. No router has a file of this name. */
    readonly console: string;
  };
}

/** Files of one running router. `router` is its name; the first router of a site is `DEFAULT_ROUTER`. */
export interface RouterFiles {
  /** JSON: `RunningRouter`. Exists while the router runs, or after it was killed: its lock shows the difference. */
  readonly state: string;
  readonly socket: string;
  /** Socket of the router API: see `serveSocketApi`. */
  readonly api: string;
  /** Revocations that the router has applied: see `ConfirmedRevocations`. */
  readonly revoked: string;
}

export interface RunningRouter {
  /** PID in `pidNamespace`: see `pidHere`. */
  readonly pid: number;
  /** PID namespace (pid_namespaces(7)); undefined if unknown. */
  readonly pidNamespace?: string;
  /** Name of the container that it runs in. */
  readonly container?: string;
  readonly router: string;
  /** Loopback port of `/metrics`, `/healthz`, `/readyz`. */
  readonly httpPort: number;
  /** RFC 3339. */
  readonly startedAt: string;
  readonly version: string;
  /** Commit of a released program; undefined if it runs from a checkout. */
  readonly commit?: string;
  /** Container network; undefined for routers on the machine's own network, which manage the site. */
  readonly network?: string;
  /** Names of the router in that network, if they are known. */
  readonly aliases?: readonly string[];
}

export const DEFAULT_ROUTER = 'router';

/** Environment that decides where namespaces are: that of the process by default. */
export interface Surroundings {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** User ID; undefined if the system has none. */
  readonly uid: number | undefined;
  readonly home: string;
}

export function surroundings(): Surroundings {
  return { env: process.env, uid: process.getuid?.(), home: homedir() };
}

/**
 * `EARSHOT_HOME` if set; the directory that a playbook of Skupper mounts; for root `/var/lib/earshot`; otherwise `$XDG_DATA_HOME/earshot`, by default `~/.local/share/earshot`.
 * @throws EarshotError `no-home`
 */
export function baseDirectory({ env, uid, home }: Surroundings = surroundings()): string {
  const set = env['EARSHOT_HOME'];
  if (set !== undefined && set !== '') {
    if (set.includes('\0')) throw new EarshotError('no-home', 'EARSHOT_HOME contains a zero byte; set it to a directory.');
    return resolve(set);
  }
  const mounted = mountedDirectory(env);
  if (mounted !== undefined) return mounted;
  if (uid === 0) return '/var/lib/earshot';
  const dataHome = env['XDG_DATA_HOME'];
  // A relative path is ignored (XDG Base Directory Specification).
  if (dataHome?.startsWith('/') === true) return join(dataHome, 'earshot');
  if (!home.startsWith('/')) {
    throw new EarshotError('no-home', 'Namespaces cannot be stored: the user has no home directory. Set EARSHOT_HOME to a directory.');
  }
  return join(home, '.local', 'share', 'earshot');
}

/**
 * Returns the data directory in the container of a playbook. SKUPPER_OUTPUT_PATH is its path on the machine, and outside of such a
 * container it is the data directory itself.
 */
function mountedDirectory(env: Surroundings['env']): string | undefined {
  const there = env['SKUPPER_OUTPUT_PATH'];
  if (there?.startsWith('/') !== true) return undefined;
  return playbookHome(env) === undefined ? resolve(there) : MOUNT;
}

const MOUNT = '/output';

/** @returns path of the data directory on the machine, if this process runs in the container of a playbook */
export function playbookHome(env: Surroundings['env'], isMounted: boolean = existsSync(MOUNT)): string | undefined {
  const there = env['SKUPPER_OUTPUT_PATH'];
  return isMounted && (env['EARSHOT_HOME'] ?? '') === '' && there?.startsWith('/') === true ? there : undefined;
}

/** @returns the directory with one subdirectory for each namespace */
export function namespacesDirectory(base: string = baseDirectory()): string {
  return join(base, 'namespaces');
}

/** @throws EarshotError `bad-name` if the name is not an RFC 1123 label */
export function layoutOf(namespace: string, base: string = baseDirectory()): NamespaceLayout {
  requireLabel(namespace, 'namespace');
  const root = join(namespacesDirectory(base), namespace);
  const input = join(root, 'input');
  const internal = join(root, 'internal');
  const runtime = join(root, 'runtime');
  const site = join(internal, 'site');
  return {
    namespace,
    root,
    input: { root: input, resources: join(input, 'resources'), certs: join(input, 'certs'), issuers: join(input, 'issuers') },
    internal: {
      root: internal,
      site,
      identityKey: join(site, 'identity.key'),
      ca: join(site, 'ca'),
      certs: join(internal, 'certs'),
      issuers: join(internal, 'issuers'),
      generated: join(internal, 'generated.json'),
      grants: join(internal, 'grants'),
      links: join(internal, 'links'),
    },
    runtime: {
      root: runtime,
      resources: join(runtime, 'resources'),
      certs: join(runtime, 'certs'),
      links: join(runtime, 'links'),
      problems: join(runtime, 'problems.yaml'),
      run: join(runtime, 'run'),
      console: join(runtime, 'run', 'console.links'),
    },
  };
}

/** @throws EarshotError `bad-name` if the router's name is not an RFC 1123 label */
export function routerFiles(layout: NamespaceLayout, router: string): RouterFiles {
  requireLabel(router, 'router');
  return {
    state: join(layout.runtime.run, `${router}.json`),
    socket: join(layout.runtime.run, `${router}.sock`),
    api: join(layout.runtime.run, `${router}.api`),
    revoked: join(layout.runtime.run, `${router}.revoked`),
  };
}

/**
 * Returns the file name of a resource in `input/resources` and `runtime/resources`: `Listener-backend.yaml`.
 * @throws EarshotError `bad-name` if the kind or the name cannot be part of a file name
 */
export function resourceFileName(kind: string, name: string): string {
  if (!/^[A-Z][A-Za-z]{0,62}$/.test(kind)) throw new EarshotError('bad-name', `${quoted(kind)} is not the name of a kind.`);
  requireResourceName(name, kind);
  return `${kind}-${name}.yaml`;
}

/** @throws EarshotError `bad-name` that quotes the name and describes valid ones */
export function requireLabel(name: string, what: string): void {
  if (isLabel(name)) return;
  const message = `${quoted(name)} cannot be the name of a ${what}; use at most 63 lower-case letters, digits and hyphens, with a letter or digit at both ends.`;
  throw new EarshotError('bad-name', message);
}

/** @throws EarshotError `bad-name` that quotes the name and describes valid ones */
export function requireResourceName(name: string, what: string): void {
  if (isResourceName(name)) return;
  const message = `${quoted(name)} cannot be the name of a ${what}; use lower-case letters, digits, hyphens and dots, with a letter or digit at both ends of each part.`;
  throw new EarshotError('bad-name', message);
}
