import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { printableAscii } from '../../text/printable.ts';
import { readListeningTable } from './listening-table.ts';

/** Maximum time of one search in milliseconds. It blocks the event loop, but only runs after a port was found in use. */
const MOST_TIME = 50;
/** Process id at which the last search ran out of time. The next one resumes there, so that several searches cover a busy machine. */
let resumeAt = 0;

/**
 * Returns the process that listens on a TCP port of this network namespace, as `name (pid N)`. Only the same user, or an unrestricted
 * root, may read a process's descriptors: for others it returns `a process of the user with id N`. Undefined while the search is
 * incomplete.
 * @param proc mount point of procfs
 * @param mostTime milliseconds
 */
export function portOwner(port: number, proc = '/proc', mostTime = MOST_TIME): string | undefined {
  const sockets = readListeningTable(proc).filter((row) => row.port === port);
  const inodes = new Set(sockets.map(({ inode }) => inode));
  const [first] = sockets;
  if (first === undefined) return undefined;
  const until = performance.now() + mostTime;
  const network = readLink(join(proc, 'self/ns/net'));
  const pids = list(proc)
    .filter((name) => /^\d+$/.test(name))
    .map(Number);
  for (const pid of [...pids.filter((each) => each >= resumeAt), ...pids.filter((each) => each < resumeAt)]) {
    // At least one process is checked, whatever the clock says.
    const holds = isIn(network, join(proc, `${pid}`)) && holdsAny(join(proc, `${pid}/fd`), inodes);
    if (!holds && performance.now() <= until) continue;
    resumeAt = holds ? 0 : pid + 1;
    return holds ? `${nameOf(readText(join(proc, `${pid}/comm`)))} (pid ${pid})` : undefined;
  }
  resumeAt = 0;
  return `a process of the user with ID ${first.uid}`;
}

/**
 * A process in another network namespace almost never holds a port of this one. With containers, most processes are in other namespaces.
 */
function isIn(network: string, process: string): boolean {
  return network === '' || readLink(join(process, 'ns/net')) === network;
}

function holdsAny(folder: string, inodes: ReadonlySet<string>): boolean {
  return list(folder).some((descriptor) => {
    const inode = /^socket:\[(\d+)\]$/.exec(readLink(join(folder, descriptor)))?.[1];
    return inode !== undefined && inodes.has(inode);
  });
}

/** A process chooses its own name, so the name is untrusted. */
const nameOf = (comm: string): string => printableAscii(comm.trim(), 32) || 'a process';

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
