/** Names the process of a running router for users of this machine, which may see it under another PID than the process itself. */
import { readdirSync, readlinkSync, statSync } from 'node:fs';
import { printable } from '../../text/printable.ts';
import type { RunningRouter } from './layout.ts';

/** PID namespace of this process (pid_namespaces(7)); undefined if it cannot be read. */
export function ownPidNamespace(): string | undefined {
  try {
    return readlinkSync('/proc/self/ns/pid');
  } catch {
    return undefined;
  }
}

/** This process, as its router announces it. Units set `EARSHOT_CONTAINER` to the name of its container. */
export function ownProcess(): Pick<RunningRouter, 'pid' | 'pidNamespace' | 'container'> {
  const pidNamespace = ownPidNamespace();
  const container = process.env['EARSHOT_CONTAINER'] ?? '';
  return { pid: process.pid, ...(pidNamespace === undefined ? {} : { pidNamespace }), ...(container === '' ? {} : { container }) };
}

/** PID of the router's process here; undefined if it runs in another PID namespace, where its PID means another process. */
export function pidHere({ pid, pidNamespace }: RunningRouter, own: string | undefined = ownPidNamespace()): number | undefined {
  return pidNamespace === undefined || own === undefined || pidNamespace === own ? pid : undefined;
}

/** Whether a process of this machine has a file open (proc_pid_fd(5)). */
export function hasOpen(pid: number, file: string): boolean {
  try {
    const { dev, ino } = statSync(file);
    return readdirSync(`/proc/${pid}/fd`).some((fd) => {
      const open = statSync(`/proc/${pid}/fd/${fd}`, { throwIfNoEntry: false });
      return open?.dev === dev && open.ino === ino;
    });
  } catch {
    return false;
  }
}

/** `process 4711`, or `container west-skupper-router`. */
export function processText(running: RunningRouter, own: string | undefined = ownPidNamespace()): string {
  if (running.container !== undefined) return `container ${printable(running.container)}`;
  const pid = pidHere(running, own);
  return pid === undefined ? `process ${running.pid} of a container` : `process ${pid}`;
}
