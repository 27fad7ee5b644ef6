import type { KubeClient } from '../../../kube/contract.ts';
import { ApiError } from '../../../kube/errors.ts';
import type { Pod } from '../../../kube/objects.ts';
import { pods } from '../../../kube/resource.ts';
import { label } from '../../../api/skupper/cluster-names.ts';
import { isRecord } from '../../../text/is-record.ts';
import type { About } from '../../resources.ts';
import type { ClusterPlace } from './explain.ts';

/** Label selector of router pods. */
export const ROUTER_PODS = `${label.component}=router,${label.type}=site`;

export async function aboutOf(client: KubeClient, { cluster, namespace }: ClusterPlace): Promise<About> {
  const routers = (await routerPods(client, namespace)).map((pod) => {
    const { name = '' } = pod.metadata;
    return { router: name, node: pod.spec?.nodeName ?? '', state: isPodReady(pod) ? 'ready' : (pod.status?.phase ?? 'Pending') };
  });
  return {
    location: ['Cluster', cluster],
    running: routers.map(({ router, node, state }) => `${router} (${node === '' ? 'on no node yet' : `node ${node}`}, ${state})`),
    routers,
    problems: [],
  };
}

async function routerPods(client: KubeClient, namespace: string): Promise<readonly Pod[]> {
  const found: Pod[] = [];
  try {
    for await (const pod of client.list(pods, { namespace, labelSelector: ROUTER_PODS })) found.push(pod);
  } catch (error) {
    // Pods are additional information: without the right to list them, show the rest.
    if (!(error instanceof ApiError && error.status === 403)) throw error;
  }
  return found;
}

export function isPodReady({ status }: Pod): boolean {
  const conditions: unknown = new Map<string, unknown>(Object.entries(status ?? {})).get('conditions');
  return (
    Array.isArray(conditions) &&
    conditions.some((condition) => isRecord(condition) && condition['type'] === 'Ready' && condition['status'] === 'True')
  );
}
