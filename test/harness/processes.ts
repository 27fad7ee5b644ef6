import { spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync, readdirSync } from 'node:fs';
import { SYSTEM_PATH } from './command.ts';
import { componentFailed } from './failures.ts';
import { eventually, type WaitOptions } from './wait.ts';

/** A process that can be told from a later one with the same number: Linux reuses pids, a start time it does not repeat. */
export interface ProcessRecord {
  readonly component: string;
  readonly node?: string;
  readonly pid: number;
  /** Field 22 of /proc/PID/stat, in clock ticks since boot. */
  readonly startTime: string;
  readonly log: string;
}

export interface ProcessOptions {
  readonly component: string;
  readonly node?: string;
  readonly program: string;
  readonly args: readonly string[];
  readonly log: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Pid of a node's init: the program runs in its namespaces. */
  readonly inside?: number;
}

/** Starts a server that outlives this process, its output in a log file. */
export async function startProcess(options: ProcessOptions): Promise<ProcessRecord> {
  const { component, node, program, args, log, inside } = options;
  const output = openSync(log, 'a');
  // Not `ip netns exec`: that mounts a fresh /sys over the control groups, and the kubelet dies without them.
  const command =
    inside === undefined
      ? { program, args }
      : { program: 'nsenter', args: ['--target', String(inside), '--mount', '--uts', '--net', '--pid', '--', program, ...args] };
  const child = spawn(command.program, command.args, {
    detached: true,
    stdio: ['ignore', output, output],
    env: { PATH: SYSTEM_PATH, HOME: '/root', LANG: 'C.UTF-8', ...options.env },
  });
  closeSync(output);
  child.unref();
  const label = node === undefined ? component : `${component} on ${node}`;
  let failed: Error | undefined;
  child.on('error', (error) => {
    failed = error;
  });
  const pid = await eventually(
    `${label} to start`,
    () => {
      if (failed !== undefined || child.pid === undefined || child.exitCode !== null) {
        throw componentFailed(label, `did not start: ${failed?.message ?? `exit code ${child.exitCode}`}`, log);
      }
      // In another pid namespace nsenter stays as the parent of the program that matters.
      return inside === undefined ? child.pid : childOf(child.pid);
    },
    { everyMs: 5 },
  );
  const startTime = startTimeOf(pid);
  if (startTime === undefined) throw componentFailed(label, 'ended at once', log);
  return { component, pid, startTime, log, ...(node === undefined ? {} : { node }) };
}

/** Waits until a look at a component succeeds; fails at once, with the end of its log, when the process is gone. */
export async function untilReady(record: ProcessRecord, look: () => boolean | Promise<boolean>, options: WaitOptions = {}): Promise<void> {
  const label = record.node === undefined ? record.component : `${record.component} on ${record.node}`;
  let gone = false;
  try {
    await eventually(
      `${label} to answer`,
      async () => {
        gone = !isRunning(record);
        return gone || look();
      },
      options,
    );
  } catch (error) {
    throw componentFailed(label, `is not ready: ${error instanceof Error ? error.message : String(error)}`, record.log);
  }
  if (gone) throw componentFailed(label, 'ended', record.log);
}

/** True while this very process lives; a zombie does not count. */
export function isRunning(record: Pick<ProcessRecord, 'pid' | 'startTime'>): boolean {
  return startTimeOf(record.pid) === record.startTime;
}

/** Ends processes and waits until they are gone: asks first where there is a grace, kills then. */
export async function endProcesses(records: readonly ProcessRecord[], graceMs = 0): Promise<void> {
  if (graceMs > 0) {
    for (const record of records) signal(record, 'SIGTERM');
    await eventually('processes to end', () => records.every((record) => !isRunning(record)), { timeoutMs: graceMs, everyMs: 20 }).catch(
      () => undefined,
    );
  }
  for (const record of records) signal(record, 'SIGKILL');
  await eventually('killed processes to be gone', () => records.every((record) => !isRunning(record)), { everyMs: 10 });
}

/** Sends a signal to this very process; one that is gone is none of our business. */
export function signal(record: Pick<ProcessRecord, 'pid' | 'startTime'>, name: NodeJS.Signals): void {
  if (!isRunning(record)) return;
  try {
    process.kill(record.pid, name);
  } catch {
    // It ended between the look and the signal.
  }
}

export function startTimeOf(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The command in parentheses may hold spaces and parentheses itself: count from its end. Field 3 is the state.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return fields[0] === 'Z' || fields[0] === 'X' ? undefined : fields[19];
  } catch {
    return undefined;
  }
}

/** First child of a process, undefined while it has none. */
export function childOf(pid: number): number | undefined {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ')[0];
  return children === undefined || children === '' ? undefined : Number(children);
}

/** Pids whose command line holds an argument exactly; for finding what a crash left without a record. */
export function processesWithArgument(argument: string): readonly number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').includes(argument);
      } catch {
        return false;
      }
    });
}
