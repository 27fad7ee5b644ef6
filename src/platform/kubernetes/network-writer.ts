import { isDeepStrictEqual } from 'node:util';
import type { Report } from '../../agent/ports.ts';
import { NETWORK_DATA, NETWORK_STATUS } from '../../api/skupper/cluster-names.ts';
import type { KubeClient } from '../../kube/contract.ts';
import type { ConfigMap } from '../../kube/objects.ts';
import { configMaps } from '../../kube/resource.ts';
import { networkData } from '../../site/observe/bounded-network.ts';
import { listIncomingLinks } from '../../site/observe/incoming-links.ts';
import { podKeysIn } from '../../site/pod-keys.ts';

/**
 * Updates the network-status ConfigMap if it exists and differs. The site's controller creates it.
 * @returns whether it was written
 */
export async function writeNetworkStatus(
  { resources, plan, router }: Report,
  {
    client,
    namespace,
    standing,
    settled,
    apart,
    signal,
  }: {
    readonly client: Pick<KubeClient, 'patch'>;
    readonly namespace: string;
    readonly standing: ConfigMap | undefined;
    /** The router has had time to learn the network. */
    readonly settled: boolean;
    /** One sentence for each pair of routers of the site that are not linked to each other. */
    readonly apart: readonly string[];
    readonly signal: AbortSignal;
  },
): Promise<boolean> {
  if (router === undefined || standing === undefined) return false;
  const exposed = resources.Listener.filter(({ spec }) => spec.exposePodsByName === true).map(({ spec }) => spec.routingKey);
  // Pods have Services for these keys, and clients hold their addresses. Keep a key until its site had time to reappear.
  const isWhole = settled && plan.config.links.every(({ name }) => router.links[name]?.operational === true);
  const kept = isWhole ? [] : podKeysIn(standing.data?.[NETWORK_DATA.podKeys]);
  const data = {
    ...networkData({ router, plan }, exposed, kept),
    [NETWORK_DATA.incoming]: JSON.stringify(listIncomingLinks(router)),
    [NETWORK_DATA.apart]: apart.join('\n'),
  };
  const now = Object.fromEntries(Object.keys(data).map((key) => [key, standing.data?.[key]]));
  if (isDeepStrictEqual(now, data)) return false;
  const patch = { metadata: { uid: standing.metadata.uid }, data };
  await client.patch(configMaps, { namespace, name: NETWORK_STATUS }, patch, { type: 'merge', signal });
  return true;
}
