/** The processes of containers, as this machine sees them: the nodes' are its own too. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { KubeObject } from '../../src/kube/objects.ts';
import { processesWhose, residentMegabytes } from '../../test/harness/proc.ts';
import { median } from '../statistics.ts';

/** The API server fills in a container's ID. */
export interface StartedPod extends KubeObject {
  readonly spec?: { readonly containers: readonly { readonly image?: string }[] };
  readonly status: { readonly containerStatuses?: readonly { readonly name: string; readonly containerID?: string }[] };
}

/** The one process of a pod's container, by its control group: a pid as the container runtime knows it counts in the node's own namespace. */
export function pidOf({ metadata: { name: pod = '' }, status }: StartedPod, container: string): number {
  const found = status.containerStatuses?.find(({ name }) => name === container);
  const id = found?.containerID?.replace(/^.*:\/\//, '');
  const pids = id === undefined ? [] : processesWhose('cgroup', (groups) => groups.includes(id));
  const [pid, ...others] = pids;
  if (pid === undefined || others.length > 0) {
    throw new Error(`pod ${pod}, container ${id ?? '(not started)'}: one process was expected, and there are ${pids.length}`);
  }
  return pid;
}

/** Resident memory in MB: the median of ten looks within three seconds. */
export async function memory({ pid }: { readonly pid: number }): Promise<number> {
  const samples: number[] = [];
  for (let look = 0; look < 10; look++) {
    await sleep(300);
    samples.push(residentMegabytes(pid));
  }
  return median(samples);
}
