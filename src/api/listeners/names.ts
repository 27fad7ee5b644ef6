/**
 * The names by which manifests, the kubelet and other programs know the exposure half. They are a contract: claims,
 * volumes, pods and Services carry them already.
 */

/** API group, CSI driver, storage class and provisioner all have this one name. */
export const GROUP = 'listeners.stackable.tech';
export const VERSION = 'v1alpha1';
export const API_VERSION = `${GROUP}/${VERSION}`;

/** Name of the CSIDriver, of the StorageClass and of its provisioner. */
export const DRIVER_NAME = GROUP;

/** Topology key of volumes and nodes; its value is the node's name. */
export const TOPOLOGY_KEY = `${GROUP}/hostname`;

/** On a PersistentVolumeClaim: the Listener to mount. Exactly one of this and `LISTENER_CLASS_ANNOTATION`. */
export const LISTENER_NAME_ANNOTATION = `${GROUP}/listener-name`;
/** On a PersistentVolumeClaim: the ListenerClass of the Listener that is created for this volume. */
export const LISTENER_CLASS_ANNOTATION = `${GROUP}/listener-class`;

/** On a PersistentVolume: the namespace of the Listener that it mounts. */
export const LISTENER_NAMESPACE_LABEL = `${GROUP}/listener-namespace`;
/** On a PersistentVolume and on a Service: the Listener that it belongs to. */
export const LISTENER_NAME_LABEL = `${GROUP}/listener-name`;

/** On a Service, after `app.kubernetes.io/`: what tools and people know Services of Listeners by. `instance` is the Listener. */
export const SERVICE_LABELS = { name: 'listener', 'managed-by': `${GROUP}_listener` } as const;

/** On a Service: which of its fields Earshot set, so that it can take them away again. */
export const INTENT_ANNOTATION = `${GROUP}/fields`;

/** Followed by the Listener's uid without dashes. This group is singular, unlike all others. */
export const POD_LABEL_PREFIX = 'listener.stackable.tech/mnt.';

/** The label, key and value, by which a Listener's Service selects its pods. */
export function podLabelOf(listener: { readonly name: string; readonly uid: string }): readonly [key: string, value: string] {
  return [POD_LABEL_PREFIX + listener.uid.replaceAll('-', ''), listener.name];
}

/** The name of the PodListeners of one pod. */
export function podListenersName(podUid: string): string {
  return `pod-${podUid}`;
}

/** Keys that the kubelet adds to a volume's context because the CSIDriver says `podInfoOnMount: true`. */
export const POD_NAME_CONTEXT = 'csi.storage.k8s.io/pod.name';
export const POD_NAMESPACE_CONTEXT = 'csi.storage.k8s.io/pod.namespace';
export const POD_UID_CONTEXT = 'csi.storage.k8s.io/pod.uid';
/** `true` for an inline volume (`volumes[].csi`). */
export const EPHEMERAL_CONTEXT = 'csi.storage.k8s.io/ephemeral';

/** Keys that external-provisioner adds to CreateVolume's parameters with `--extra-create-metadata`. */
export const CLAIM_NAME_PARAMETER = 'csi.storage.k8s.io/pvc/name';
export const CLAIM_NAMESPACE_PARAMETER = 'csi.storage.k8s.io/pvc/namespace';
export const VOLUME_NAME_PARAMETER = 'csi.storage.k8s.io/pv/name';
