/** Finds out for users that a Lease has no holder any more, as after `helm uninstall`, which also removes the right to release it. */
import type { KubeClient } from '../contract.ts';
import { pods } from '../resource.ts';
import { holderOf, type Lease } from './lease-record.ts';

/** Milliseconds since 1970, by the holder's clock. 0 for a Lease that was never renewed. */
export function endOfLease({ spec = {} }: Lease): number {
  const { renewTime = '', leaseDurationSeconds = 0 } = spec;
  const renewed = Date.parse(renewTime);
  return Number.isNaN(renewed) ? 0 : renewed + leaseDurationSeconds * 1_000;
}

/**
 * Whether the Lease has expired by this clock, and its holder's pod is gone. One of both is not enough: clocks differ, and a holder
 * outside of the cluster has no pod. False if the pod cannot be read.
 */
export async function isAbandoned(client: Pick<KubeClient, 'find'>, lease: Lease, now: number): Promise<boolean> {
  const name = holderOf(lease);
  const { namespace } = lease.metadata;
  const end = endOfLease(lease);
  if (name === undefined || namespace === undefined || end === 0 || end >= now) return false;
  try {
    return (await client.find(pods, { namespace, name })) === undefined;
  } catch {
    return false;
  }
}
