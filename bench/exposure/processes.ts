/** Resident memory and CPU of a container, from the machine's own /proc: the nodes' processes are this machine's too. */
import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { KubeObject } from '../../src/kube/objects.ts';
import { leaderOf, systemPods } from '../../test/e2e/support/installation.ts';
import { eventually, type Cluster } from '../../test/harness/index.ts';
import { median } from '../statistics.ts';

/** One container's process. */
export interface Observed {
  readonly pod: string;
  readonly pid: number;
  readonly isLeader: boolean;
}

interface StartedPod extends KubeObject {
  readonly status: { readonly containerStatuses?: readonly { readonly name: string; readonly containerID?: string }[] };
}

/** The controllers, the leading one first. Waits until one leads. */
export async function controllers(cluster: Cluster): Promise<readonly [Observed, ...Observed[]]> {
  return eventually('a controller to lead', async () => {
    const leader = await leaderOf(cluster);
    const [first, ...others] = (await observed(cluster, 'controller', leader)).toSorted((a, b) => Number(b.isLeader) - Number(a.isLeader));
    return first?.isLeader === true ? ([first, ...others] as const) : undefined;
  });
}

export async function drivers(cluster: Cluster): Promise<readonly Observed[]> {
  return observed(cluster, 'node', undefined);
}

async function observed(cluster: Cluster, component: 'controller' | 'node', leader: string | undefined): Promise<readonly Observed[]> {
  // The API server fills in a container's ID, which the tests' own type leaves out.
  const name = component === 'controller' ? 'controller' : 'driver';
  const pods = (await systemPods(cluster, component)) as unknown as readonly StartedPod[];
  return pods.map(({ metadata: { name: pod = '' }, status }) => {
    const container = status.containerStatuses?.find((candidate) => candidate.name === name);
    return { pod, pid: pidOf(container?.containerID, pod), isLeader: pod === leader };
  });
}

/** The container's one process, by its control group: a pid as the container runtime knows it counts in the node's own namespace. */
function pidOf(containerId: string | undefined, pod: string): number {
  const id = containerId?.replace(/^.*:\/\//, '');
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name) && id !== undefined && controlGroupsOf(name).includes(id));
  const [pid, ...others] = pids.map(Number);
  if (pid === undefined || others.length > 0) {
    throw new Error(`pod ${pod}, container ${id ?? '(not started)'}: one process was expected, and there are ${pids.length}`);
  }
  return pid;
}

function controlGroupsOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cgroup`, 'utf8');
  } catch {
    return '';
  }
}

/** Seconds of CPU since the process started, user and system. Source: proc_pid_stat(5), fields 14 and 15, in ticks of 1/100 s. */
export function cpuSeconds({ pod, pid }: Observed): number {
  const stat = read(pid, 'stat', pod);
  // The command in parentheses may hold spaces: count from its end, behind which stands field 3.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

/** Resident memory in MB (10⁶ bytes), shared pages included: the median of ten looks within three seconds. */
export async function memory(process: Observed): Promise<number> {
  const samples: number[] = [];
  for (let look = 0; look < 10; look++) {
    await sleep(300);
    samples.push(residentMegabytes(process));
  }
  return median(samples);
}

function residentMegabytes({ pod, pid }: Observed): number {
  const kibibytes = /^VmRSS:\s+(\d+) kB$/m.exec(read(pid, 'status', pod))?.[1];
  if (kibibytes === undefined) throw new Error(`pod ${pod}, pid ${pid}: /proc says nothing of its memory`);
  return (Number(kibibytes) * 1_024) / 1_000_000;
}

function read(pid: number, file: string, pod: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8');
  } catch (error) {
    throw new Error(`the process of pod ${pod} (pid ${pid}) ended while it was measured`, { cause: error });
  }
}
