import { componentFailed } from './failures.ts';
import { childOf, startTimeOf } from './proc.ts';
import { environment, launch, untilReady as untilProgramReady } from './program.ts';
import { eventually, type WaitOptions } from './wait.ts';

/** A process with its start time, which distinguishes it from a later one with the same number: Linux reuses pids. */
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
  // Not `ip netns exec`: that mounts a fresh /sys over the control groups, and the kubelet dies without them.
  const within = inside === undefined ? [] : ['nsenter', '--target', String(inside), '--mount', '--uts', '--net', '--pid', '--'];
  const name = nameOf(options);
  const child = await launch(name, [...within, program, ...args], { log, env: environment(options.env), detached: true });
  child.unref();
  // In another pid namespace nsenter stays as the parent of the program that matters.
  const pid =
    inside === undefined
      ? child.pid
      : await eventually(`${name} to start`, () => childOf(child.pid) ?? child.exitCode !== null, { everyMs: 5 });
  const startTime = pid === true ? undefined : startTimeOf(pid);
  if (pid === true || startTime === undefined) throw componentFailed(name, 'ended at once', log);
  return { component, pid, startTime, log, ...(node === undefined ? {} : { node }) };
}

/** Waits until a look at a component succeeds; fails at once, with the end of its log, when the process is gone. */
export async function untilReady(record: ProcessRecord, look: () => boolean | Promise<boolean>, options: WaitOptions = {}): Promise<void> {
  await untilProgramReady({ name: nameOf(record), log: record.log, isRunning: () => isRunning(record) }, look, options);
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

/** Sends a signal to exactly this process; no-op if it is gone. */
export function signal(record: Pick<ProcessRecord, 'pid' | 'startTime'>, name: NodeJS.Signals): void {
  if (!isRunning(record)) return;
  try {
    process.kill(record.pid, name);
  } catch {
    // It ended between the look and the signal.
  }
}

function nameOf({ component, node }: Pick<ProcessRecord, 'component' | 'node'>): string {
  return node === undefined ? component : `${component} on ${node}`;
}
