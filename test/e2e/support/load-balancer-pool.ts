import type { Cluster } from '../../harness/index.ts';

/** Sixteen addresses for a load balancer of this cluster, apart from those of clusters beside it (TEST-NET-3, RFC 5737). */
export function poolOf(cluster: Cluster): string {
  return `203.0.113.${cluster.layout.index * 16}/28`;
}
