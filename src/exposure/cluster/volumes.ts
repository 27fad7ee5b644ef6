/** What a PersistentVolume of this driver tells by itself, and where one can be mounted. */
import { DRIVER_NAME, LISTENER_CLASS_ANNOTATION, LISTENER_NAME_ANNOTATION, TOPOLOGY_KEY } from '../../api/listeners/names.ts';
import type { ListenerClass } from '../../api/listeners/index.ts';
import type { Node, PersistentVolume } from '../../kube/objects.ts';

/** On a volume: who made it. */
export const PROVISIONED_BY = 'pv.kubernetes.io/provisioned-by';

/** Which Listener a volume is about, from the volume alone. */
export type VolumeTarget =
  | { readonly kind: 'named'; readonly namespace: string; readonly name: string }
  | { readonly kind: 'class'; readonly namespace: string; readonly name: string; readonly className: string };

/**
 * Undefined for a volume that is not ours or not bound. A volume made for a class has a Listener of its own, which
 * takes the claim's name.
 */
export function targetOf(volume: PersistentVolume): VolumeTarget | undefined {
  const { csi, claimRef } = volume.spec ?? {};
  if (csi?.driver !== DRIVER_NAME || claimRef?.namespace === undefined || claimRef.name === undefined) return undefined;
  const { namespace } = claimRef;
  const named = csi.volumeAttributes?.[LISTENER_NAME_ANNOTATION];
  const className = csi.volumeAttributes?.[LISTENER_CLASS_ANNOTATION];
  if (named !== undefined) return { kind: 'named', namespace, name: named };
  return className === undefined ? undefined : { kind: 'class', namespace, name: claimRef.name, className };
}

/** Nodes that a volume is pinned to (PersistentVolume.spec.nodeAffinity, our key, operator In). A retained one pins no pod. */
export function pinnedNodesOf(volume: PersistentVolume): readonly string[] {
  if (volume.status?.phase === 'Released' && volume.spec?.persistentVolumeReclaimPolicy !== 'Delete') return [];
  return (volume.spec?.nodeAffinity?.required?.nodeSelectorTerms ?? [])
    .flatMap((term) => term.matchExpressions ?? [])
    .filter((expression) => expression.key === TOPOLOGY_KEY && expression.operator === 'In')
    .flatMap((expression) => expression.values ?? []);
}

/** Whether new volumes of the class are pinned. Only a node port depends on the node, and only where the class wants it to last. */
export function isPinned({ spec }: ListenerClass): boolean {
  return spec.serviceType === 'NodePort' && spec.pinnedNodePorts === true;
}

/** The kubelet labels its Node when the driver registers there. */
export function runsDriver(node: Node): boolean {
  return node.metadata.labels?.[TOPOLOGY_KEY] === node.metadata.name;
}
