/** Finds and removes what networks of a killed owner left. */
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { attempt, run } from '../../harness/command.ts';
import { startTimeOf } from '../../harness/proc.ts';
import { isRunning } from '../../harness/processes.ts';
import { killAllIn } from './host.ts';

interface Belongings {
  readonly name: string;
  readonly namespaces: readonly string[];
}

interface Owned extends Belongings {
  /** A process of that number that started at another time is another one. */
  readonly pid: number;
  readonly startTime: string;
}

const RECORDS = '/run/earshot-net';

/** Writes down what this process is about to make. */
export async function record(belongings: Belongings): Promise<void> {
  const owned: Owned = { ...belongings, pid: process.pid, startTime: startTimeOf(process.pid) ?? '' };
  await mkdir(RECORDS, { recursive: true });
  await writeFile(fileOf(belongings.name), JSON.stringify(owned));
}

export async function forget(name: string): Promise<void> {
  await rm(fileOf(name), { force: true });
}

/**
 * Removes what networks of processes that are gone have left: their programs, namespaces and records. Folders stay, as evidence.
 * @returns how many networks stay, since their processes still run
 */
export async function removeLeftovers(): Promise<number> {
  let left = 0;
  for (const file of await readdir(RECORDS).catch(() => [])) {
    const owned = await readRecord(`${RECORDS}/${file}`);
    if (owned === undefined) continue;
    if (isRunning(owned)) {
      left += 1;
      continue;
    }
    await removeNamespaces(owned.namespaces);
    await forget(owned.name);
  }
  return left;
}

/** Ends every process in these namespaces, and removes them with their names. Nothing of it need be there. */
export async function removeNamespaces(names: readonly string[]): Promise<void> {
  const there = new Set((await run('ip', ['netns', 'list'])).split('\n').map((line) => line.split(' ')[0]));
  for (const name of names) {
    if (there.has(name)) {
      await killAllIn(name);
      await attempt('ip', ['netns', 'del', name]);
    }
    await rm(`/etc/netns/${name}`, { recursive: true, force: true });
  }
}

async function readRecord(file: string): Promise<Owned | undefined> {
  try {
    // Only `record` writes here; a file that is being written does not parse.
    return JSON.parse(await readFile(file, 'utf8')) as Owned;
  } catch {
    return undefined;
  }
}

function fileOf(name: string): string {
  return `${RECORDS}/${name}.json`;
}
