import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';

/** Milliseconds that the search may take: it runs on the event loop, only after a port was found taken. */
const MOST_TIME = 50;
/** RFC 793's LISTEN as the kernel numbers it (include/net/tcp_states.h). */
const LISTEN = '0A';

/**
 * The process that listens on a TCP port of this network namespace, as `name (pid N)`; undefined where it cannot be known:
 * only a process's own user and root may look at its descriptors. `proc` is where procfs is mounted.
 */
export function portOwner(port: number, proc = '/proc'): string | undefined {
  const inodes = new Set(['net/tcp', 'net/tcp6'].flatMap((table) => listeningInodes(readText(join(proc, table)), port)));
  if (inodes.size === 0) return undefined;
  const until = performance.now() + MOST_TIME;
  for (const pid of list(proc)) {
    if (!/^\d+$/.test(pid)) continue;
    if (performance.now() > until) return undefined;
    if (holdsAny(join(proc, pid, 'fd'), inodes)) return `${printable(readText(join(proc, pid, 'comm')))} (pid ${pid})`;
  }
  return undefined;
}

/** Rows of /proc/net/tcp: `sl local_address rem_address st … inode`, address and port in hex (Documentation/networking/proc_net_tcp). */
export function listeningInodes(table: string, port: number): readonly string[] {
  return table.split('\n').slice(1).flatMap((row) => {
    const fields = row.trim().split(/\s+/);
    const [local, state, inode] = [fields[1], fields[3], fields[9]];
    if (local === undefined || state !== LISTEN || inode === undefined) return [];
    return Number.parseInt(local.slice(local.indexOf(':') + 1), 16) === port ? [inode] : [];
  });
}

function holdsAny(folder: string, inodes: ReadonlySet<string>): boolean {
  return list(folder).some((descriptor) => {
    const inode = /^socket:\[(\d+)\]$/.exec(readLink(join(folder, descriptor)))?.[1];
    return inode !== undefined && inodes.has(inode);
  });
}

/** A process chooses its own name. */
const printable = (name: string): string => name.replace(/[^\x20-\x7e]/g, '').slice(0, 32) || 'a process';

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

function readLink(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return '';
  }
}

function list(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
