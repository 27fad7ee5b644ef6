import { readFileSync } from 'node:fs';
import { limitTable } from '../limits/table.ts';

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

/** What the rest is divided into, so that nobody who holds sockets open takes all of it. What is left over is for listeners and files. */
export function reserveWithin(openFiles: number | undefined): Reserve {
  const reserve = openFiles === undefined ? Infinity : reserveOf(openFiles);
  return { peers: reserve / limitTable.filesOfLinks.value, strangers: Math.ceil(reserve / limitTable.filesOfUnauthenticated.value) };
}

export interface Reserve {
  /** Connections of links. */
  readonly peers: number;
  /** Connections at one port that have yet to show who they are. */
  readonly strangers: number;
}

const reserveOf = (openFiles: number): number =>
  Math.max(limitTable.reservedFilesLeast.value, Math.ceil(openFiles / limitTable.reservedFiles.value));
