/** Initial classes for most clusters. They are created only if absent, and belong to the administrator afterwards. */
import { listenerClasses, type ListenerClass, type ListenerClassSpec } from '../api/listeners/index.ts';
import { apiVersionOf } from '../kube/resource.ts';

export const presetNames = ['ephemeral-nodes', 'stable-nodes', 'none'] as const;
export type PresetName = (typeof presetNames)[number];

/**
 * `ephemeral-nodes`: nodes are replaced often (cloud), so a stable address needs a load balancer. `stable-nodes`: nodes persist,
 * so a stable address is a node's, and the pod is pinned to it.
 */
export function presetClasses(preset: PresetName): readonly ListenerClass[] {
  if (preset === 'none') return [];
  const stable: ListenerClassSpec =
    preset === 'stable-nodes' ? { serviceType: 'NodePort', pinnedNodePorts: true } : { serviceType: 'LoadBalancer' };
  return [
    listenerClass('cluster-internal', { serviceType: 'ClusterIP' }),
    listenerClass('external-unstable', { serviceType: 'NodePort' }),
    listenerClass('external-stable', stable),
  ];
}

function listenerClass(name: string, spec: ListenerClassSpec): ListenerClass {
  return { apiVersion: apiVersionOf(listenerClasses), kind: listenerClasses.kind, metadata: { name }, spec };
}
