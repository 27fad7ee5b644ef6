/** A claim of our class that was given a node, and what it is judged by. */
import { LISTENER_CLASS_ANNOTATION, TOPOLOGY_KEY } from '../../../../src/api/listeners/names.ts';
import type { Node, PersistentVolumeClaim, StorageClass } from '../../../../src/kube/objects.ts';

export const SELECTED = 'volume.kubernetes.io/selected-node';
export const PROVISIONER = 'volume.kubernetes.io/storage-provisioner';
export const COMPLETED = 'pv.kubernetes.io/bind-completed';

export function aStorageClass(of: Partial<StorageClass> = {}): StorageClass {
  return {
    metadata: { name: 'listeners.stackable.tech' },
    provisioner: 'listeners.stackable.tech',
    reclaimPolicy: 'Delete',
    volumeBindingMode: 'WaitForFirstConsumer',
    ...of,
  };
}

export function aClaim(
  annotations: Readonly<Record<string, string>> = {},
  spec: PersistentVolumeClaim['spec'] = {},
  { name = 'data-web-0', uid = 'c1' } = {},
): PersistentVolumeClaim {
  return {
    metadata: {
      namespace: 'shop',
      name,
      uid,
      annotations: { [LISTENER_CLASS_ANNOTATION]: 'some-class', [SELECTED]: 'n1', ...annotations },
    },
    spec: {
      accessModes: ['ReadWriteOnce'],
      resources: { requests: { storage: '1' } },
      storageClassName: 'listeners.stackable.tech',
      ...spec,
    },
    status: { phase: 'Pending' },
  };
}

/** The driver runs there. */
export function aDriverNode(name: string): Node {
  return { metadata: { name, labels: { [TOPOLOGY_KEY]: name } }, status: { addresses: [{ type: 'InternalIP', address: '192.168.0.1' }] } };
}
