/** State of processes, from /proc. */
import { readFileSync, readdirSync } from 'node:fs';
import { HarnessError } from './failures.ts';

/** Field 22 of /proc/PID/stat, in clock ticks since boot; undefined where there is no such process, or only its zombie. */
export function startTimeOf(pid: number): string | undefined {
  const fields = statOf(pid);
  return fields === undefined || fields[0] === 'Z' || fields[0] === 'X' ? undefined : fields[19];
}

/** First child of a process, undefined while it has none. */
export function childOf(pid: number): number | undefined {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ')[0];
  return children === undefined || children === '' ? undefined : Number(children);
}

/** Pids whose file of this name, such as `cmdline`, is as wanted; for finding what a crash left without a record. */
export function processesWhose(file: string, isWanted: (text: string) => boolean): readonly number[] {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return pids.map(Number).filter((pid) => isWanted(read(pid, file) ?? ''));
}

/** Pids whose command line holds an argument exactly. */
export function processesWithArgument(argument: string): readonly number[] {
  return processesWhose('cmdline', (text) => text.split('\0').includes(argument));
}

/** Resident memory in MB of 10⁶ bytes (VmRSS), pages shared with other processes included. */
export function residentMegabytes(pid: number): number {
  const kibibytes = /^VmRSS:\s+(\d+) kB$/m.exec(read(pid, 'status') ?? '')?.[1];
  return (Number(kibibytes ?? ended(pid)) * 1_024) / 1_000_000;
}

/** Seconds of CPU since it started, user and system, all threads: fields 14 and 15, in ticks of 1/100 s. */
export function cpuSeconds(pid: number): number {
  const fields = statOf(pid) ?? ended(pid);
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

function ended(pid: number): never {
  throw new HarnessError('COMPONENT_FAILED', `the process ${pid} ended while it was looked at`);
}

/** From field 3 on, the state. Source: proc_pid_stat(5). */
function statOf(pid: number): readonly string[] | undefined {
  const stat = read(pid, 'stat');
  // The command in parentheses may hold spaces and parentheses itself: count from its end.
  return stat?.slice(stat.lastIndexOf(')') + 2).split(' ');
}

function read(pid: number, file: string): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8');
  } catch {
    return undefined;
  }
}
