import { readFileSync } from 'node:fs';

/**
 * How many files and sockets this process may have open (RLIMIT_NOFILE); undefined where it cannot be known. Node.js raises the soft
 * limit to the hard one when it starts, so this is what the administrator allows.
 */
export function openFilesLimit(file = '/proc/self/limits'): number | undefined {
  try {
    // proc_pid_limits(5): name, soft limit, hard limit, unit.
    const soft = /^Max open files\s+(\S+)/m.exec(readFileSync(file, 'utf8'))?.[1];
    const limit = soft === 'unlimited' ? Infinity : Number(soft);
    return limit > 0 ? limit : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Of those, how many connections may have. The rest is for listeners, links, files, and a server whose addresses are tried at once. At the
 * very limit connections could not be refused any more: the system lets them in only to close them without a word, those of links too.
 */
export function socketsWithin(openFiles: number | undefined): number {
  if (openFiles === undefined) return Infinity;
  return Math.max(16, openFiles - reserveOf(openFiles));
}

/** Of the rest, how many connections of links may have. */
export function peersWithin(openFiles: number | undefined): number {
  return openFiles === undefined ? Infinity : reserveOf(openFiles) / 2;
}

const reserveOf = (openFiles: number): number => Math.max(128, Math.ceil(openFiles / 20));
