/** Statuses while no router stands behind them: what an earlier process wrote must not be taken for what is so now. */
import { readdir, rename, unlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse } from 'yaml';
import { emitYaml } from './write-yaml.ts';
import { readText } from '../../files/durable.ts';
import { statusMode } from './status-mode.ts';
import type { ConditionReason } from '../../errors/condition-reason.ts';

/** What the statuses say instead. */
export interface Standing {
  readonly status: 'Pending' | 'Error';
  readonly reason: ConditionReason;
  readonly message: string;
}

export const starting: Standing = { status: 'Pending', reason: 'Starting', message: 'the router starts' };

export const stopping: Standing = { status: 'Pending', reason: 'Stopping', message: 'the router is stopping' };

export function stopped(namespace: string): Standing {
  const message = `nothing runs the namespace ${namespace}; start it with \`earshot -n ${namespace} run\``;
  return { status: 'Pending', reason: 'NotRunning', message };
}

export function cannotStart(why: string): Standing {
  return { status: 'Error', reason: 'CannotStart', message: `the router cannot start: ${why}` };
}

/** Writes it into each status of the directory. A file that cannot be written is removed: none may go on saying Ready. */
export async function restate(directory: string, standing: Standing, now: string): Promise<void> {
  const names = await readdir(directory).catch((): string[] => []);
  for (const name of names) {
    const kind = /^([A-Z]\w*)-.*\.yaml$/.exec(name)?.[1];
    if (kind === undefined) continue;
    const path = join(directory, name);
    const draft = join(directory, `.${name}.standing.tmp`);
    try {
      const text = restated((await readText(path, { bytes: mostBytes })) ?? '', standing, now);
      if (text === undefined) continue;
      // Not synced: whoever starts writes it anew, and after a crash of the machine it is a hint that was lost.
      await writeFile(draft, text, { mode: statusMode(kind) });
      await rename(draft, path);
    } catch {
      await unlink(draft).catch(() => {});
      await unlink(path).catch(() => {});
    }
  }
}

/** @returns the file's new text; undefined where it says so already */
export function restated(text: string, standing: Standing, now: string): string | undefined {
  const resource: unknown = parse(text, { maxAliasCount: 0 });
  if (!isMap(resource)) return undefined;
  const { status } = resource;
  if (!isMap(status) || status['message'] === standing.message) return undefined;
  return emitYaml({ ...resource, status: unsettled(status, standing, now) });
}

/** The status of a resource whose router does not run: nothing of it is known, and what only a router can say is left out. */
export function unsettled(status: object, standing: Standing, now: string): Readonly<Record<string, unknown>> {
  const { conditions } = status as { readonly conditions?: unknown };
  const { reason, message } = standing;
  return {
    ...Object.fromEntries(Object.entries(status).filter(([field]) => !ofRouter.has(field))),
    status: standing.status,
    message,
    conditions: (Array.isArray(conditions) ? conditions : [])
      .filter(isMap)
      .map((condition) => ({ ...condition, status: 'Unknown', lastTransitionTime: now, reason, message })),
  };
}

/** RFC 3339, seconds. */
export function timestamp(): string {
  return `${new Date().toISOString().slice(0, 19)}Z`;
}

const mostBytes = 64 * 1024 * 1024;

/** What is so only while a router runs. */
const ofRouter: ReadonlySet<string> = new Set([
  'hasMatchingConnector',
  'hasMatchingListener',
  'hasDestination',
  'strategy',
  'network',
  'sitesInNetwork',
  'endpoints',
  'url',
]);

function isMap(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
