import { readFileSync } from 'node:fs';
import { limitTable } from '../limits/table.ts';

/**
 * Maximum number of open files and sockets of this process (RLIMIT_NOFILE), or undefined if unknown. Node.js raises the soft
 * limit to the hard one at start, so this is what the administrator allows.
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
 * Number of open files that connections may use. The rest is for listeners, links, files, and a server whose addresses are tried
 * in parallel. At the limit itself connections could not be refused properly: the kernel would accept and close them, including
 * links.
 */
export function socketsWithin(openFiles: number | undefined): number {
  if (openFiles === undefined) return Infinity;
  return Math.max(16, openFiles - reserveOf(openFiles));
}

/** Divides the rest, so that clients with many open sockets cannot take all of it. The remainder is for listeners and files. */
export function reserveWithin(openFiles: number | undefined): Reserve {
  const reserve = openFiles === undefined ? Infinity : reserveOf(openFiles);
  return { peers: reserve / limitTable.filesOfLinks.value, unauthenticated: Math.ceil(reserve / limitTable.filesOfUnauthenticated.value) };
}

export interface Reserve {
  /** Number of connections for links. */
  readonly peers: number;
  /** Number of unauthenticated connections at one port. */
  readonly unauthenticated: number;
}

const reserveOf = (openFiles: number): number =>
  Math.max(limitTable.reservedFilesLeast.value, Math.ceil(openFiles / limitTable.reservedFiles.value));
