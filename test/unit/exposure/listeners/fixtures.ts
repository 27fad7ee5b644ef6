/** Objects as short as the rules allow; each test changes only what it is about. */
import type { Listener, ListenerClass, ListenerClassSpec, ListenerSpec } from '../../../../src/api/listeners/index.ts';
import type { Node, NodeAddress, PersistentVolume, Pod, Service } from '../../../../src/kube/objects.ts';

export const LISTENER_UID = '3f1c2d4e-0000-4000-8000-00000000abcd';

export function aClass(spec: Partial<ListenerClassSpec> & Pick<ListenerClassSpec, 'serviceType'>): ListenerClass {
  return { metadata: { name: 'some-class', uid: 'class-uid' }, spec };
}

export function aListener(spec: Partial<ListenerSpec> = {}, metadata: Listener['metadata'] = {}): Listener {
  return {
    metadata: { name: 'web', namespace: 'shop', uid: LISTENER_UID, generation: 3, resourceVersion: '10', ...metadata },
    spec: { className: 'some-class', ports: [{ name: 'http', port: 8080 }], ...spec },
  };
}

export function aNode(name: string, addresses: readonly NodeAddress[]): Node {
  return { metadata: { name }, status: { addresses } };
}

export function aService(spec: Service['spec'], ingress: readonly { ip?: string; hostname?: string }[] = []): Service {
  return {
    metadata: { name: 'web', namespace: 'shop', uid: 'service-uid' },
    spec: { ipFamilies: ['IPv4'], clusterIP: '10.96.0.7', clusterIPs: ['10.96.0.7'], ...spec },
    status: { loadBalancer: { ingress } },
  };
}

export function aVolume(attributes: Record<string, string>, extra: PersistentVolume['spec'] = {}): PersistentVolume {
  return {
    metadata: { name: 'pvc-1', uid: 'volume-uid' },
    spec: {
      csi: { driver: 'listeners.stackable.tech', volumeHandle: 'pvc-1', volumeAttributes: attributes },
      claimRef: { namespace: 'shop', name: 'data-web-0', uid: 'claim-uid' },
      ...extra,
    },
  };
}

export function aPod(spec: Partial<NonNullable<Pod['spec']>> = {}): Pod {
  return {
    metadata: { name: 'web-0', namespace: 'shop', uid: 'pod-uid' },
    spec: {
      nodeName: 'n1',
      containers: [{ name: 'web', ports: [{ name: 'http', containerPort: 8080 }] }],
      volumes: [{ name: 'listener', persistentVolumeClaim: { claimName: 'data-web-0' } }],
      ...spec,
    },
  };
}
