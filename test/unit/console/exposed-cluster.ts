/** Content of a cluster with exposed objects: one Listener that works, one that waits, one that fails, and a pod that waits. */
import { DRIVER_NAME, LISTENER_CLASS_ANNOTATION, TOPOLOGY_KEY } from '../../../src/api/listeners/names.ts';
import { explainableKinds, type ExplainPlace } from '../../../src/explain/gather/explainable-kinds.ts';
import { clusterSnapshot } from '../../../src/explain/gather/cluster-snapshot.ts';
import { readExposure } from '../../../src/explain/gather/gather-namespace.ts';
import type { NamespaceFacts } from '../../../src/explain/exposure/exposure-facts.ts';
import type { Explanation } from '../../../src/explain/step.ts';
import { clusterOf, type ClusterContent, type Stored } from '../explain/support-cluster.ts';

export const NAMESPACE = 'shop';
const SINCE = '2026-01-01T00:00:00Z';

type Objects = ClusterContent['objects'];

const meta = (name: string, more: object = {}): Stored['metadata'] => ({
  name,
  namespace: NAMESPACE,
  uid: `uid-${name}`,
  generation: 1,
  creationTimestamp: SINCE,
  ...more,
});

const condition = (type: string, status: string, reason: string, message = reason) => ({
  type,
  status,
  reason,
  message,
  lastTransitionTime: SINCE,
});

const address = (text: string, port: number) => ({ address: text, addressType: 'IP', ports: { http: port } });

export function listener(name: string, className: string, conditions: readonly object[], addresses: readonly object[] = []): Stored {
  return {
    metadata: meta(name),
    spec: { className, ports: [{ name: 'http', port: 80 }] },
    status: { observedGeneration: 1, serviceName: name, ingressAddresses: addresses, conditions },
  };
}

export function serviceOf(name: string, spec: object): Stored {
  const owner = { apiVersion: `${DRIVER_NAME}/v1alpha1`, kind: 'Listener', name, uid: `uid-${name}`, controller: true };
  return { metadata: meta(name, { uid: `service-${name}`, ownerReferences: [owner] }), spec: { selector: { app: name }, ...spec } };
}

export function podWith(name: string, claimName: string, { isReady = true }: { readonly isReady?: boolean } = {}): Stored {
  return {
    metadata: meta(name, { labels: { app: claimName } }),
    spec: { nodeName: 'n1', containers: [], volumes: [{ name: 'listener', persistentVolumeClaim: { claimName } }] },
    status: {
      phase: isReady ? 'Running' : 'Pending',
      conditions: [condition('Ready', isReady ? 'True' : 'False', 'x', isReady ? '' : 'containers wait')],
    },
  };
}

const claim = (name: string, className: string): Stored => ({
  metadata: meta(name, { annotations: { [LISTENER_CLASS_ANNOTATION]: className } }),
  spec: { storageClassName: DRIVER_NAME, volumeName: `pv-${name}`, accessModes: ['ReadWriteMany'] },
  status: { phase: 'Bound' },
});

function volume(name: string, className: string, node?: string): Stored {
  const terms = [{ matchExpressions: [{ key: TOPOLOGY_KEY, operator: 'In', values: [node] }] }];
  return {
    metadata: { name: `pv-${name}` },
    spec: {
      csi: { driver: DRIVER_NAME, volumeHandle: `handle-${name}`, volumeAttributes: { [LISTENER_CLASS_ANNOTATION]: className } },
      claimRef: { namespace: NAMESPACE, name },
      ...(node === undefined ? {} : { nodeAffinity: { required: { nodeSelectorTerms: terms } } }),
    },
    status: { phase: 'Bound' },
  };
}

/** @param hasLeader whether the controller runs */
export function exposedObjects({ hasLeader = true }: { readonly hasLeader?: boolean } = {}): Objects {
  const renewTime = new Date(hasLeader ? Date.now() : 0).toISOString();
  const works = [condition('Accepted', 'True', 'Accepted'), condition('Ready', 'True', 'AddressesAssigned', 'Reachable at 203.0.113.7.')];
  const missing = 'ListenerClass outsied does not exist. Did you mean outside?';
  return {
    leases: [
      {
        metadata: { name: 'earshot-controller', namespace: 'earshot-system' },
        spec: { holderIdentity: 'controller-1', renewTime, leaseDurationSeconds: 15 },
      },
    ],
    listenerclasses: [
      { metadata: { name: 'internal' }, spec: { serviceType: 'ClusterIP' } },
      { metadata: { name: 'outside' }, spec: { serviceType: 'NodePort', pinnedNodePorts: true, nodeLossPolicy: 'Keep' } },
    ],
    listeners: [
      listener('web', 'outside', works, [address('203.0.113.7', 30080), address('203.0.113.8', 30080)]),
      listener('cache', 'internal', [
        condition('Accepted', 'True', 'Accepted'),
        condition('Ready', 'False', 'PodsNotReady', 'No pod is ready.'),
      ]),
      listener('shop', 'outsied', [
        condition('Accepted', 'False', 'ClassNotFound', missing),
        condition('Ready', 'False', 'NotAccepted', 'See the Accepted condition.'),
      ]),
    ],
    services: [
      serviceOf('web', { type: 'NodePort', clusterIP: '10.96.0.7', clusterIPs: ['10.96.0.7'], externalTrafficPolicy: 'Local' }),
      serviceOf('cache', { type: 'ClusterIP', clusterIP: '10.96.0.8' }),
    ],
    endpointslices: [
      {
        metadata: meta('web-x', { labels: { 'kubernetes.io/service-name': 'web' } }),
        endpoints: [{ nodeName: 'n1', conditions: { ready: true } }],
      },
    ],
    nodes: [
      {
        metadata: { name: 'n1' },
        status: { addresses: [{ type: 'ExternalIP', address: '203.0.113.7' }], conditions: [condition('Ready', 'True', 'x')] },
      },
    ],
    csinodes: [{ metadata: { name: 'n1' }, spec: { drivers: [{ name: DRIVER_NAME }] } }],
    storageclasses: [{ metadata: { name: DRIVER_NAME }, provisioner: DRIVER_NAME }],
    pods: [podWith('web-0', 'web'), podWith('cache-0', 'cache', { isReady: false })],
    persistentvolumeclaims: [claim('web', 'outside'), claim('cache', 'internal')],
    persistentvolumes: [volume('web', 'outside', 'n1'), volume('cache', 'internal')],
    podlisteners: [
      {
        metadata: meta('pod-uid-web-0'),
        spec: {
          nodeName: 'n1',
          mounts: { 'handle-web': {} },
          listeners: { listener: { scope: 'Node', volumeHandle: 'handle-web', ingressAddresses: [address('203.0.113.7', 30080)] } },
        },
      },
      {
        metadata: meta('pod-uid-cache-0'),
        spec: { nodeName: 'n1', mounts: { 'handle-cache': {} }, listeners: {} },
        status: { mounts: { 'handle-cache': { reason: 'NodeHasNoAddress', message: 'Node n1 lists no address.' } } },
      },
    ],
    events: [
      {
        metadata: meta('web.1'),
        type: 'Warning',
        reason: 'FailedToUpdate',
        message: 'slice is stale\u{202e}',
        involvedObject: { kind: 'Service', name: 'web', uid: 'service-web' },
        reportingComponent: 'endpoint-slice-controller',
        lastTimestamp: SINCE,
      },
    ],
  };
}

export async function readContent(content: ClusterContent): Promise<NamespaceFacts | undefined> {
  return readExposure({ client: clusterOf(content), namespace: NAMESPACE });
}

/** As `earshot explain` does in a cluster with this content. */
export async function explainContent(content: ClusterContent, kind: string, name: string): Promise<Explanation | undefined> {
  // Kinds of the exposure half only read from the cluster.
  const client = clusterSnapshot(clusterOf(content), 1_000) as unknown as NonNullable<ExplainPlace['cluster']>['client'];
  const place: ExplainPlace = { cluster: { client, namespace: NAMESPACE }, site: undefined as never, probe: false };
  const found = await explainableKinds.find((each) => each.kind === kind || each.words.at(-1) === kind)?.explain(place, name);
  return found !== undefined && 'explanation' in found ? found.explanation : undefined;
}
