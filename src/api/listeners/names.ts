/**
 * Names of the exposure half that manifests, the kubelet and other programs use. They are a contract: existing claims, volumes,
 * pods and Services carry them.
 */

/** Name of the API group, the CSI driver, the storage class and the provisioner. */
export const GROUP = 'listeners.stackable.tech';
export const VERSION = 'v1alpha1';
export const API_VERSION = `${GROUP}/${VERSION}`;

/** Name of the CSIDriver, of the StorageClass and of its provisioner. */
export const DRIVER_NAME = GROUP;

/** Topology key of volumes and nodes; its value is the node's name. */
export const TOPOLOGY_KEY = `${GROUP}/hostname`;

/**
 * Annotation of a PersistentVolumeClaim: the Listener to mount. Mutually exclusive with `LISTENER_CLASS_ANNOTATION`; one is
 * required.
 */
export const LISTENER_NAME_ANNOTATION = `${GROUP}/listener-name`;
/** Annotation of a PersistentVolumeClaim: the ListenerClass of the Listener that is created for this volume. */
export const LISTENER_CLASS_ANNOTATION = `${GROUP}/listener-class`;

/** Label of a PersistentVolume: the namespace of the Listener that it mounts. */
export const LISTENER_NAMESPACE_LABEL = `${GROUP}/listener-namespace`;
/** Label of a PersistentVolume or Service: the Listener that it belongs to. */
export const LISTENER_NAME_LABEL = `${GROUP}/listener-name`;

/** Labels of a Listener's Service below `app.kubernetes.io/`. The label `instance` holds the Listener's name. */
export const SERVICE_LABELS = { name: 'listener', 'managed-by': `${GROUP}_listener` } as const;

/** Annotation of a Service: the fields that Earshot set, so that it can remove them later. */
export const INTENT_ANNOTATION = `${GROUP}/fields`;

/** Label prefix, followed by the Listener's UID without dashes. This group is singular, unlike all others. */
export const POD_LABEL_PREFIX = 'listener.stackable.tech/mnt.';

/** Key and value of the label by which a Listener's Service selects its pods. */
export function podLabelOf(listener: { readonly name: string; readonly uid: string }): readonly [key: string, value: string] {
  return [POD_LABEL_PREFIX + listener.uid.replaceAll('-', ''), listener.name];
}

/** Name of the PodListeners object of one pod. */
export function podListenersName(podUid: string): string {
  return `pod-${podUid}`;
}

/** Keys that the kubelet adds to a volume's context because the CSIDriver says `podInfoOnMount: true`. */
export const POD_NAME_CONTEXT = 'csi.storage.k8s.io/pod.name';
export const POD_NAMESPACE_CONTEXT = 'csi.storage.k8s.io/pod.namespace';
export const POD_UID_CONTEXT = 'csi.storage.k8s.io/pod.uid';
/** Context key; `true` for an inline volume (`volumes[].csi`). */
export const EPHEMERAL_CONTEXT = 'csi.storage.k8s.io/ephemeral';

/** Keys that external-provisioner adds to the parameters of CreateVolume with `--extra-create-metadata`. */
export const CLAIM_NAME_PARAMETER = 'csi.storage.k8s.io/pvc/name';
export const CLAIM_NAMESPACE_PARAMETER = 'csi.storage.k8s.io/pvc/namespace';
export const VOLUME_NAME_PARAMETER = 'csi.storage.k8s.io/pv/name';
