/** Marks the statuses in a directory as stale, once no router runs. */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { markedStale, type StaleStatus } from '../../agent/stale-status.ts';
import { writeYaml } from '../../text/write-yaml.ts';
import { readText, removeFile, replaceFile } from '../../files/durable.ts';
import { commandIn } from '../../text/command-in.ts';
import { modeOf } from './report.ts';
import { isRecord } from '../../text/is-record.ts';
import { parseWritten } from '../../text/yaml.ts';

export function stopped(namespace: string): StaleStatus {
  const message = `no process runs the namespace ${namespace}; start it with ${commandIn(namespace, 'run')}`;
  return { status: 'Pending', reason: 'NotRunning', message };
}

/** Updates the status in each file of the directory. An unwritable file is removed, so that none still reports Ready. */
export async function markStale(directory: string, stale: StaleStatus, now: string): Promise<void> {
  const names = await readdir(directory).catch((): string[] => []);
  for (const name of names) {
    const kind = /^([A-Z]\w*)-.*\.yaml$/.exec(name)?.[1];
    if (kind === undefined) continue;
    const path = join(directory, name);
    try {
      // The new file belongs to the directory's owner, who may not be allowed to read what a link leads to.
      const text = markedText((await readText(path, { bytes: MOST_BYTES, within: directory })) ?? '', stale, now);
      if (text === undefined) continue;
      // Not synced: the next process rewrites the file, and losing the mark in a machine crash is acceptable.
      await replaceFile(path, text, modeOf(kind));
    } catch {
      await removeFile(path).catch(() => {});
    }
  }
}

/** @returns the new text; undefined if the file is already marked */
export function markedText(text: string, stale: StaleStatus, now: string): string | undefined {
  const resource: unknown = parseWritten(text);
  if (!isRecord(resource)) return undefined;
  const { kind, status } = resource;
  if (!isRecord(status) || status['message'] === stale.message) return undefined;
  return writeYaml({ ...resource, status: markedStale(String(kind), status, stale, now) });
}

const MOST_BYTES = 64 * 1024 * 1024;
