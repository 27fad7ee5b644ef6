/** The routers of a site on one machine: who runs, and which of them looks after the site. */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { SiblingConfig } from '../../router/contract.ts';
import { readText, removeFile, writeDurably } from '../../files/durable.ts';
import { isLabel, routerFiles, type NamespaceLayout, type RunningRouter } from './layout.ts';
import { tryLock, type Lock } from '../../files/lock.ts';
import { EarshotError } from '../../errors/earshot-error.ts';

/** sun_path of unix(7), without the closing zero byte. */
const longestSocketPath = 107;

/** @throws EarshotError `router-running` where another process runs this router */
export async function lockRouter(layout: NamespaceLayout, router: string): Promise<Lock> {
  const lock = tryLock(join(layout.runtime.run, `.router-${router}.lock`));
  if (lock !== undefined) return lock;
  const running = await readRouter(routerFiles(layout, router).state);
  const who = running === undefined ? 'another process' : `process ${running.pid}`;
  const message = `${who} already runs the router ${router} of the namespace ${layout.namespace}; end it first, or run another router of the site with --router NAME.`;
  throw new EarshotError('router-running', message);
}

/** Held by the one process of a site that writes statuses and looks after trust. */
export function tryLead(layout: NamespaceLayout): Lock | undefined {
  return tryLock(join(layout.runtime.run, '.leader.lock'));
}

export async function announceRouter(layout: NamespaceLayout, state: RunningRouter): Promise<void> {
  await writeDurably(routerFiles(layout, state.router).state, `${JSON.stringify(state)}\n`, 0o644);
}

export async function withdrawRouter(layout: NamespaceLayout, router: string): Promise<void> {
  const { state, socket } = routerFiles(layout, router);
  await removeFile(state);
  await removeFile(socket);
}

/** The routers that run now, by their files and the processes that these name. */
export async function runningRouters(layout: NamespaceLayout): Promise<readonly RunningRouter[]> {
  const names = await readdir(layout.runtime.run).catch((): string[] => []);
  const states = await Promise.all(
    names.filter((name) => name.endsWith('.json')).map((name) => readRouter(join(layout.runtime.run, name))),
  );
  return states.filter((state) => state !== undefined).filter(({ pid }) => isAlive(pid));
}

/**
 * A router that has siblings opens its ports so that they can be shared (SO_REUSEPORT), and then any other process of this user can
 * share them too, such as another site's. So a router on its own has none, unless the site is to have two: then the first is ready for
 * the second from the start, and need not close its ports for a moment when that comes.
 * @param expected whether others are to come
 * @returns undefined where no other router of the site runs, or a socket's path would be longer than the system allows
 */
export async function siblingsOf(layout: NamespaceLayout, router: string, expected = false): Promise<SiblingConfig | undefined> {
  const { socket } = routerFiles(layout, router);
  if (Buffer.byteLength(socket) > longestSocketPath) return undefined;
  const others = (await runningRouters(layout)).map(({ router: name }) => name).filter((name) => name !== router);
  if (others.length === 0 && !expected) return undefined;
  return { socket, others: others.sort().map((name) => routerFiles(layout, name).socket) };
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
    typeof value === 'object' &&
    value !== null &&
    'pid' in value &&
    Number.isSafeInteger(value.pid) &&
    Number(value.pid) > 0 &&
    'router' in value &&
    typeof value.router === 'string' &&
    isLabel(value.router)
  );
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // EPERM: it is there, and another user's.
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}
