/** Detects a process that is about to run a namespace, long before it can announce itself. */
import { readdir, readFile, stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { baseDirectory, layoutOf, type NamespaceLayout, type Surroundings } from './layout.ts';

/** @param proc mount point of procfs */
export async function isStarting({ root }: NamespaceLayout, proc = '/proc'): Promise<boolean> {
  const pids = (await readdir(proc).catch(() => [])).filter((name) => /^\d+$/.test(name) && name !== String(process.pid));
  const found = await Promise.all(pids.map((pid) => directoryOf(join(proc, pid))));
  return found.includes(root);
}

/** Returns the directory that the process runs; undefined for another program, or another user's. */
async function directoryOf(folder: string): Promise<string | undefined> {
  try {
    const words = (await readFile(join(folder, 'cmdline'), 'utf8')).split('\0');
    if (!isRun(words)) return undefined;
    const [environment, { uid }] = await Promise.all([readFile(join(folder, 'environ'), 'utf8'), stat(folder)]);
    const env = Object.fromEntries(
      environment.split('\0').map((entry) => [entry.split('=', 1)[0] ?? '', entry.slice(entry.indexOf('=') + 1)]),
    );
    return runDirectory(words, { env, uid, home: env['HOME'] ?? homedir() });
  } catch {
    return undefined;
  }
}

/** Index of the first argument of the program; 0 if it is another program. */
const wordsBegin = (words: readonly string[]): number =>
  words.findIndex((word) => /(?:^|\/)(?:earshot|earshot\.mjs|src\/cli\/main\.ts)$/.test(word)) + 1;

function isRun(words: readonly string[]): boolean {
  const begin = wordsBegin(words);
  return begin > 0 && words.slice(begin).includes('run');
}

/** Returns the namespace directory that `earshot … run` uses with these arguments. @throws EarshotError if the command would reject them */
export function runDirectory(words: readonly string[], surroundings: Surroundings): string | undefined {
  if (!isRun(words)) return undefined;
  let namespace = surroundings.env['EARSHOT_NAMESPACE'] || 'default';
  const own = words.slice(wordsBegin(words));
  for (const [index, word] of own.entries()) {
    if (word === '-n' || word === '--namespace') namespace = own[index + 1] ?? namespace;
    else namespace = /^(?:--namespace=|-n)(.+)$/.exec(word)?.[1] ?? namespace;
  }
  return layoutOf(namespace, baseDirectory(surroundings)).root;
}
