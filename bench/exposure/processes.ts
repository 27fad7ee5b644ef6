/** The processes of containers, as this machine sees them: the nodes' are its own too. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { KubeObject } from '../../src/kube/objects.ts';
import { leaderOf, systemPods } from '../../test/e2e/support/installation.ts';
import { eventually, type Cluster } from '../../test/harness/index.ts';
import { processesWhose, residentMegabytes } from '../../test/harness/proc.ts';
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
  const pids = id === undefined ? [] : processesWhose('cgroup', (groups) => groups.includes(id));
  const [pid, ...others] = pids;
  if (pid === undefined || others.length > 0) {
    throw new Error(`pod ${pod}, container ${id ?? '(not started)'}: one process was expected, and there are ${pids.length}`);
  }
  return pid;
}

/** Resident memory in MB: the median of ten looks within three seconds. */
export async function memory({ pid }: Observed): Promise<number> {
  const samples: number[] = [];
  for (let look = 0; look < 10; look++) {
    await sleep(300);
    samples.push(residentMegabytes(pid));
  }
  return median(samples);
}
