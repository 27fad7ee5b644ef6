import { execFileSync } from 'node:child_process';
import { readdirSync, readlinkSync } from 'node:fs';
import { openFilesLimit } from '../../../../src/telemetry/open-files.ts';

/** Code that starts meanwhile finds this limit of open files. */
export async function withOpenFiles<T>(most: number, begin: () => Promise<T>): Promise<T> {
  const before = openFilesLimit();
  allow(most);
  try {
    return await begin();
  } finally {
    allow(before ?? Infinity);
  }
}

/** The soft limit: what a process takes away from itself so it may give itself back. */
function allow(most: number): void {
  execFileSync('prlimit', ['--pid', String(process.pid), `--nofile=${most === Infinity ? 'unlimited' : most}:`]);
}

/** Sockets that this process has open, whether anybody knows of them or not. */
export function openSockets(): number {
  return readdirSync('/proc/self/fd').filter(isSocket).length;
}

function isSocket(file: string): boolean {
  try {
    return readlinkSync(`/proc/self/fd/${file}`).startsWith('socket:');
  } catch {
    // The folder itself, which was open while it was read.
    return false;
  }
}
