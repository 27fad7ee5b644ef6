/** Routers of a site on one machine: which ones run, and which one leads. */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Leadership, Siblings } from '../../agent/ports.ts';
import type { SiblingConfig } from '../../router/contract.ts';
import { readText, removeFile, writeDurably } from '../../files/durable.ts';
import { routerFiles, type NamespaceLayout, type RunningRouter } from './layout.ts';
import { processText } from './running-process.ts';
import { isLocked, tryLock } from '../../files/lock.ts';
import { EarshotError } from '../../errors/earshot-error.ts';
import { pause } from '../../work/pause.ts';
import { isRecord } from '../../text/is-record.ts';
import { isNetworkName, type NetworkRouter } from '../../site/networks.ts';
import { SETTING } from '../../site/settings.ts';
import { isLabel } from '../../text/names.ts';

/** Length of sun_path in unix(7) without the terminating zero byte. */
export const LONGEST_SOCKET_PATH = 107;

/** Milliseconds before each attempt. A process that checks whether a router runs holds its lock for a moment. */
const LOOKS = [0, 20, 50];

/** @throws EarshotError `router-running` if another process runs this router */
export async function lockRouter(layout: NamespaceLayout, router: string): Promise<Disposable> {
  for (const wait of LOOKS) {
    await pause(wait);
    const lock = tryLock(lockOf(layout, router));
    if (lock !== undefined) return lock;
  }
  const running = await readRouter(routerFiles(layout, router).state);
  const who = running === undefined ? 'another process' : processText(running);
  const message = `${who} already runs the router ${router} of the namespace ${layout.namespace}; stop it first, or run another router of the site with --router NAME.`;
  throw new EarshotError('router-running', message);
}

/** @throws EarshotError `router-running` if another process runs the routers of the site */
export async function lockSupervisor(layout: NamespaceLayout): Promise<Disposable> {
  const lock = tryLock(supervisorLock(layout));
  if (lock !== undefined) return lock;
  const [running] = await leadingRouters(layout);
  const who = running === undefined ? 'another process' : processText(running);
  const message = `${who} already runs the namespace ${layout.namespace}; stop it first, or set settings.${SETTING.routers} of the Site to run more routers.`;
  throw new EarshotError('router-running', message);
}

/** Whether a supervisor runs the routers of the site. It ends after them. */
export function isSupervised(layout: NamespaceLayout): boolean {
  return isLocked(supervisorLock(layout));
}

const supervisorLock = ({ runtime }: NamespaceLayout): string => join(runtime.run, '.supervisor.lock');

/** Lock of the one process of a site that writes statuses and reconciles trust. Held until the process ends. */
export class LeaderLock implements Leadership {
  readonly #path: string;
  #lock: Disposable | undefined;

  constructor({ runtime }: NamespaceLayout) {
    this.#path = join(runtime.run, '.leader.lock');
  }

  lead(): boolean {
    this.#lock ??= tryLock(this.#path);
    return this.#lock !== undefined;
  }

  resign(): void {
    this.#lock?.[Symbol.dispose]();
    this.#lock = undefined;
  }
}

export async function announceRouter(layout: NamespaceLayout, state: RunningRouter): Promise<void> {
  await writeDurably(routerFiles(layout, state.router).state, `${JSON.stringify(state)}\n`, 0o644);
}

export async function withdrawRouter(layout: NamespaceLayout, router: string): Promise<void> {
  const { state, socket, api, revoked } = routerFiles(layout, router);
  for (const file of [state, socket, api, revoked]) await removeFile(file);
}

/** Never leads: the router of a container network, from which other sites and the machine may be unreachable. */
export const follower: Leadership = { lead: () => false, resign: () => {} };

/** Lists the running routers that may lead. Without one, nothing manages the site. */
export async function leadingRouters(layout: NamespaceLayout): Promise<readonly RunningRouter[]> {
  return (await runningRouters(layout)).filter(({ network }) => network === undefined);
}

/** Lists the running routers. A state file outlives a killed process, and its PID may be reused. The lock does not outlive the process. */
export async function runningRouters(layout: NamespaceLayout): Promise<readonly RunningRouter[]> {
  return (await announced(layout)).filter(({ router }) => isLocked(lockOf(layout, router)));
}

/** Names of the routers that processes run, also of those that are starting or draining. */
export async function lockedRouters(layout: NamespaceLayout): Promise<ReadonlySet<string>> {
  const files = await readdir(layout.runtime.run).catch((): string[] => []);
  const names = files.flatMap((file) => /^\.router-(.+)\.lock$/.exec(file)?.[1] ?? []);
  return new Set(names.filter((name) => isLocked(lockOf(layout, name))));
}

export class SiblingRouters implements Siblings {
  readonly #layout: NamespaceLayout;
  readonly #router: string;
  readonly #network: string | undefined;
  #networkRouters: readonly NetworkRouter[] = [];

  /** @param network container network of the router */
  constructor(layout: NamespaceLayout, router: string, network?: string) {
    this.#layout = layout;
    this.#router = router;
    this.#network = network;
  }

  /**
   * A router with replicas opens its ports with SO_REUSEPORT, so any process of this user can share them, such as another site's. A single
   * router therefore has no config, unless two are expected: then it need not close its ports when the second one starts. Undefined too if
   * the socket path is longer than the system allows. Routers of other networks share no ports.
   */
  async config(expected: boolean): Promise<SiblingConfig | undefined> {
    const { socket } = routerFiles(this.#layout, this.#router);
    if (Buffer.byteLength(socket) > LONGEST_SOCKET_PATH) return undefined;
    const others = await this.#others();
    this.#networkRouters = others.flatMap(({ network, router, aliases }) => {
      return network === undefined ? [] : [{ network, router, ...(aliases === undefined ? {} : { aliases }) }];
    });
    if (others.length === 0 && !expected && this.#network === undefined) return undefined;
    const sockets = others.map(({ router }) => routerFiles(this.#layout, router).socket).sort();
    const sharesPorts = this.#network === undefined && (expected || others.some(({ network }) => network === undefined));
    return { kind: 'unix', socket, others: sockets, sharesPorts };
  }

  async run(): Promise<boolean> {
    return (await this.#others()).some(({ network }) => network === undefined);
  }

  /** Replicas share their ports, so a client that finds a port closed at one router reaches an open one at another. */
  serving(): readonly string[] {
    return [];
  }

  networkRouters(): readonly NetworkRouter[] {
    return this.#networkRouters;
  }

  async #others(): Promise<readonly RunningRouter[]> {
    return (await runningRouters(this.#layout)).filter(({ router }) => router !== this.#router);
  }
}

async function announced(layout: NamespaceLayout): Promise<readonly RunningRouter[]> {
  const names = await readdir(layout.runtime.run).catch((): string[] => []);
  const states = await Promise.all(
    names.filter((name) => name.endsWith('.json')).map((name) => readRouter(join(layout.runtime.run, name))),
  );
  return states.filter((state) => state !== undefined);
}

/** File that the router's process keeps open and locked. */
export function lockOf({ runtime }: NamespaceLayout, router: string): string {
  return join(runtime.run, `.router-${router}.lock`);
}

async function readRouter(path: string): Promise<RunningRouter | undefined> {
  try {
    const text = await readText(path, { bytes: 16_384 });
    const value: unknown = JSON.parse(text ?? 'null');
    return isRunningRouter(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function isRunningRouter(value: unknown): value is RunningRouter {
  return (
    isRecord(value) &&
    Number.isSafeInteger(value.pid) &&
    Number(value.pid) > 0 &&
    typeof value.router === 'string' &&
    isLabel(value.router) &&
    (value.network === undefined || (typeof value.network === 'string' && isNetworkName(value.network))) &&
    (value.aliases === undefined || (Array.isArray(value.aliases) && value.aliases.every((alias) => typeof alias === 'string'))) &&
    (value.pidNamespace === undefined || typeof value.pidNamespace === 'string') &&
    (value.container === undefined || typeof value.container === 'string')
  );
}
