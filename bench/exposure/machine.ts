import type { Cluster } from '../../test/harness/index.ts';
import type { Machine } from '../machine.ts';

/** What figures depend on. */
export interface Circumstances extends Machine {
  readonly kubernetes: string;
}

export async function kubernetesVersion(cluster: Cluster): Promise<string> {
  const { gitVersion } = await cluster.api.get<{ readonly gitVersion: string }>('/version');
  return gitVersion;
}
