import { createHash } from 'node:crypto';
import { isIPv6 } from 'node:net';
import { annotation, CONTROLLER_NAME, label } from '../../api/skupper/cluster-names.ts';
import type { EndpointSlice } from '../../kube/objects.ts';
import { endpointSlices } from '../../kube/resource.ts';
import { writeNote } from '../../site/attached-slices.ts';
import { foreignController } from '../../site/foreign-controller.ts';
import type { SelectedPod } from '../../site/plan/selected-pods.ts';
import { keyOf } from '../../site/resources.ts';
import { ownerOf, type NamespaceView } from '../namespace-view.ts';
import { emptyDesiredState, type DesiredObject, type DesiredState } from '../desired-state.ts';
import { attachedConnectorsOf, type BoundServers } from './attached-connectors.ts';

/** Limit of the API server (discovery.k8s.io/v1, EndpointSlice.endpoints). */
const MOST_ENDPOINTS = 1000;

/** EndpointSlices with the pod addresses of connectors that other namespaces attach to the site. Its routers read them. */
export function attachedObjects(view: NamespaceView): DesiredState {
  const { servers, problems, unknown } = attachedConnectorsOf(view);
  if (view.site === undefined) return { ...emptyDesiredState, problems };
  const owner = ownerOf(view.site);
  const objects = servers.flatMap((each) => slicesOf(each, owner));
  // The slices of a resource stay unchanged while its pods are unknown or it is unreadable.
  const unreadable = view.unreadable.filter(({ kind }) => kind === 'AttachedConnectorBinding').map(keyOf);
  const kept = new Set([...unknown, ...unreadable].map((key) => prefixOf(key.slice(key.indexOf('/') + 1))));
  const desired = new Set(objects.map(({ object }) => object.metadata.name));
  const obsolete = view.list(endpointSlices).filter(({ metadata }) => {
    const { name = '', annotations } = metadata;
    if (annotations?.[annotation.controlled] !== 'true' || foreignController(metadata) !== undefined || desired.has(name)) return false;
    return !kept.has(name.slice(0, PREFIX_LENGTH));
  });
  return { objects, obsolete: obsolete.map((object) => ({ of: endpointSlices, object })), problems };
}

function slicesOf(servers: BoundServers, owner: ReturnType<typeof ownerOf>): readonly DesiredObject<EndpointSlice>[] {
  const families = [
    { addressType: 'IPv4', pods: servers.pods.filter(({ ip }) => !isIPv6(ip)) },
    { addressType: 'IPv6', pods: servers.pods.filter(({ ip }) => isIPv6(ip)) },
  ];
  return families.flatMap(({ addressType, pods }) =>
    chunks(pods).map((some, index): DesiredObject<EndpointSlice> => {
      const object: EndpointSlice = {
        apiVersion: 'discovery.k8s.io/v1',
        kind: 'EndpointSlice',
        metadata: {
          name: `${prefixOf(servers.name)}${addressType.toLowerCase()}-${index}`,
          labels: LABELS,
          annotations: { [annotation.controlled]: 'true', [annotation.attached]: writeNote(servers) },
          ownerReferences: [owner],
        },
        addressType,
        ports: [{ name: '', port: servers.port, protocol: 'TCP' }],
        endpoints: some.map(({ name, ip }) => ({
          addresses: [ip],
          conditions: { ready: true },
          targetRef: { kind: 'Pod', namespace: servers.namespace, name },
        })),
      };
      return { of: endpointSlices, object, for: servers.for };
    }),
  );
}

const LABELS = {
  [label.attached]: 'true',
  'endpointslice.kubernetes.io/managed-by': CONTROLLER_NAME,
  // The slice belongs to no Service. This label keeps kube-proxy from reading it.
  'service.kubernetes.io/service-proxy-name': CONTROLLER_NAME,
} as const;

/** Hashes the name: an AttachedConnector's name may already have the maximum length. */
function prefixOf(name: string): string {
  return `skupper-attached-${createHash('sha256').update(name).digest('hex').slice(0, 16)}-`;
}

const PREFIX_LENGTH = prefixOf('').length;

function chunks(pods: readonly SelectedPod[]): readonly (readonly SelectedPod[])[] {
  return Array.from({ length: Math.ceil(pods.length / MOST_ENDPOINTS) }, (_, index) =>
    pods.slice(index * MOST_ENDPOINTS, (index + 1) * MOST_ENDPOINTS),
  );
}
