/** Reads PersistentVolumes of this driver and where they can be mounted. */
import { DRIVER_NAME, LISTENER_CLASS_ANNOTATION, LISTENER_NAME_ANNOTATION, TOPOLOGY_KEY } from '../../api/listeners/names.ts';
import type { ListenerClass } from '../../api/listeners/index.ts';
import type { Node, PersistentVolume } from '../../kube/objects.ts';

/** Annotation of a volume: its provisioner. */
export const PROVISIONED_BY = 'pv.kubernetes.io/provisioned-by';

/** The Listener of a volume, derived from the volume alone. */
export type VolumeTarget =
  | { readonly kind: 'named'; readonly namespace: string; readonly name: string }
  | { readonly kind: 'class'; readonly namespace: string; readonly name: string; readonly className: string };

/**
 * Undefined for a volume that does not belong to this driver or is not bound. A volume created for a class has a Listener of its
 * own, named after the claim.
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

/**
 * Nodes that a volume is pinned to (PersistentVolume.spec.nodeAffinity, our key, operator In). A released volume with policy
 * Retain pins no pod.
 */
export function pinnedNodesOf(volume: PersistentVolume): readonly string[] {
  if (volume.status?.phase === 'Released' && volume.spec?.persistentVolumeReclaimPolicy !== 'Delete') return [];
  return (volume.spec?.nodeAffinity?.required?.nodeSelectorTerms ?? [])
    .flatMap((term) => term.matchExpressions ?? [])
    .filter((expression) => expression.key === TOPOLOGY_KEY && expression.operator === 'In')
    .flatMap((expression) => expression.values ?? []);
}

/**
 * Whether new volumes of the class are pinned. Only addresses of node ports depend on the node, and only `pinnedNodePorts` makes
 * them permanent.
 */
export function isPinned({ spec }: ListenerClass): boolean {
  return spec.serviceType === 'NodePort' && spec.pinnedNodePorts === true;
}

/** Whether the driver runs on the node: the kubelet labels its Node when the driver registers. */
export function runsDriver(node: Node): boolean {
  return node.metadata.labels?.[TOPOLOGY_KEY] === node.metadata.name;
}
