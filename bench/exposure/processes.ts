/** The processes of Earshot's own containers. */
import { leaderOf, systemPods } from '../../test/e2e/support/installation.ts';
import { eventually, type Cluster } from '../../test/harness/index.ts';
import { pidOf, type StartedPod } from '../cluster/containers.ts';

/** One container's process. */
export interface Observed {
  readonly pod: string;
  readonly pid: number;
  readonly isLeader: boolean;
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
  return pods.map((pod) => {
    const { name: called = '' } = pod.metadata;
    return { pod: called, pid: pidOf(pod, name), isLeader: called === leader };
  });
}
