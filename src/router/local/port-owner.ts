import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { printableAscii } from '../../text/printable.ts';
import { readListeningTable } from './listening-table.ts';

/** Milliseconds that one search may take: it runs on the event loop, only after a port was found taken. */
const MOST_TIME = 50;
/** Where the last search was when its time was up: the next begins there, so that a few find who a busy machine hides from one. */
let resumeAt = 0;

/**
 * The process that listens on a TCP port of this network namespace, as `name (pid N)`. Only its own user may look at its descriptors, and root where
 * its capabilities are not bounded: where that leaves it unknown, `a process of the user with id N`; undefined while the search goes on. `proc` is
 * where procfs is mounted.
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
    // One at least is looked at, whatever the clock says.
    const holds = isIn(network, join(proc, `${pid}`)) && holdsAny(join(proc, `${pid}/fd`), inodes);
    if (!holds && performance.now() <= until) continue;
    resumeAt = holds ? 0 : pid + 1;
    return holds ? `${nameOf(readText(join(proc, `${pid}/comm`)))} (pid ${pid})` : undefined;
  }
  resumeAt = 0;
  return `a process of the user with id ${first.uid}`;
}

/** One in another network namespace holds none of this one's ports, or hardly ever; most processes of a machine with containers are. */
function isIn(network: string, process: string): boolean {
  return network === '' || readLink(join(process, 'ns/net')) === network;
}

function holdsAny(folder: string, inodes: ReadonlySet<string>): boolean {
  return list(folder).some((descriptor) => {
    const inode = /^socket:\[(\d+)\]$/.exec(readLink(join(folder, descriptor)))?.[1];
    return inode !== undefined && inodes.has(inode);
  });
}

/** A process chooses its own name. */
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
