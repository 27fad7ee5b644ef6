import { valueOf } from '../../explain/connection/site-facts.ts';
import { askRight, type Right } from '../../explain/gather/access-review.ts';
import type { KubeClient } from '../../kube/contract.ts';
import type { PodRight, RouterReach } from '../../platform/kubernetes/router-reach.ts';
import type { RouterRights } from '../../platform/kubernetes/router-rights.ts';

/** A right that the API server does not answer for is tried. */
export async function readRouterRights(
  client: Pick<KubeClient, 'create'>,
  namespace: string,
  { needs }: Pick<RouterReach, 'needs'>,
): Promise<RouterRights> {
  const mayReach = (rights: readonly PodRight[]): Promise<boolean> =>
    mayAll(
      client,
      namespace,
      rights.map((right) => ({ ...right, group: '', resource: 'pods' })),
    );
  const [pods, metrics, api] = await Promise.all([
    mayFollow(client, namespace, { group: '', resource: 'pods' }),
    mayReach(needs.metrics),
    mayReach(needs.api),
  ]);
  return { pods, metrics, api };
}

/** Whether all objects of a kind in the namespace can be listed and watched. */
export function mayFollow(client: Pick<KubeClient, 'create'>, namespace: string, of: Pick<Right, 'group' | 'resource'>): Promise<boolean> {
  return mayAll(
    client,
    namespace,
    ['list', 'watch'].map((verb) => ({ verb, ...of })),
  );
}

async function mayAll(client: Pick<KubeClient, 'create'>, namespace: string, rights: readonly Right[]): Promise<boolean> {
  const may = async (right: Right): Promise<boolean> => valueOf(await askRight(client, { ...right, namespace })) ?? true;
  return (await Promise.all(rights.map(may))).every(Boolean);
}
