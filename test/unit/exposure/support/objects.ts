/** Objects of a pod that mounts a Listener, as short as the controller allows. */
import { LISTENER_NAME_ANNOTATION, podListenersName, TOPOLOGY_KEY } from '../../../../src/api/listeners/names.ts';
import type { PodListeners } from '../../../../src/api/listeners/index.ts';
import type { PersistentVolume, PersistentVolumeClaim, Pod } from '../../../../src/kube/objects.ts';

/** A pod on node n1 with its claim, the volume for the Listener `web`, and the node's request to mount it. */
export function mounted(
  name: string,
  node = 'n1',
): { readonly pod: Pod; readonly claim: PersistentVolumeClaim; readonly volume: PersistentVolume; readonly request: PodListeners } {
  const uid = `uid-of-${name}`;
  const claimName = `data-${name}`;
  return {
    pod: {
      metadata: { name, namespace: 'shop', uid },
      spec: { nodeName: node, containers: [], volumes: [{ name: 'listener', persistentVolumeClaim: { claimName } }] },
    },
    claim: { metadata: { name: claimName, namespace: 'shop', uid: `uid-of-${claimName}` } },
    volume: {
      metadata: { name: `pv-${name}`, uid: `uid-of-pv-${name}` },
      spec: {
        csi: { driver: 'listeners.stackable.tech', volumeHandle: `pv-${name}`, volumeAttributes: { [LISTENER_NAME_ANNOTATION]: 'web' } },
        claimRef: { namespace: 'shop', name: claimName, uid: `uid-of-${claimName}` },
      },
    },
    request: {
      metadata: {
        name: podListenersName(uid),
        namespace: 'shop',
        uid: `uid-of-request-${name}`,
        ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name, uid }],
      },
      spec: { nodeName: node, listeners: {}, mounts: { [`pv-${name}`]: {} } },
    },
  };
}

export function pinnedTo(node: string, volume: PersistentVolume): PersistentVolume {
  const matchExpressions = [{ key: TOPOLOGY_KEY, operator: 'In', values: [node] }];
  return { ...volume, spec: { ...volume.spec, nodeAffinity: { required: { nodeSelectorTerms: [{ matchExpressions }] } } } };
}
