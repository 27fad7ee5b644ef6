import { certificates } from '../../api/skupper/index.ts';
import { ClusterRouters } from '../../platform/kubernetes/cluster-routers.ts';
import { reachThroughApiServer } from '../../platform/kubernetes/router-reach.ts';
import type { RouterRights } from '../../platform/kubernetes/router-rights.ts';
import type { Cluster } from '../resources.ts';
import { readRouterRights } from './read-router-rights.ts';

/** Routers of a site in a cluster, for one command with its user's rights. Nothing is read before the first request. */
export function openRouters({ client, place: { namespace } }: Cluster): ClusterRouters {
  const reach = reachThroughApiServer(client, namespace);
  let rights: Promise<RouterRights> | undefined;
  return new ClusterRouters({
    client,
    reader: { subject: 'your user', namespace },
    reach,
    rights: () => (rights ??= readRouterRights(client, namespace, reach)),
    certificates: () => Array.fromAsync(client.list(certificates, { namespace })),
  });
}
