/** The Service in front of the pods, and the access types that need only a Service. */
import type { Service } from '../../kube/objects.ts';
import { services } from '../../kube/resource.ts';
import { keyOf, nameOf } from '../../site/resources.ts';
import type { DesiredObject } from '../desired-state.ts';
import { endpoint, failed, metadataFor, reachable, type AccessPlan, type AccessPlanInput } from './access-parts.ts';

export function serviceFor(
  { access }: AccessPlanInput,
  type: 'ClusterIP' | 'LoadBalancer' | 'NodePort' = 'ClusterIP',
): DesiredObject<Service> {
  const { ports, selector } = access.spec;
  return {
    of: services,
    object: {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: metadataFor(access, nameOf(access)),
      spec: {
        type,
        ipFamilyPolicy: 'PreferDualStack',
        selector,
        ports: ports.map(({ name, port, targetPort = port, protocol = 'TCP' }) => ({ name, port, targetPort, protocol })),
      },
    },
    for: keyOf(access),
  };
}

export function byLocal(order: AccessPlanInput): AccessPlan {
  const { access, view } = order;
  const host = `${nameOf(access)}.${view.namespace}`;
  return { objects: [serviceFor(order)], endpoints: access.spec.ports.map((port) => endpoint(port, host, port.port)), problems: [] };
}

export function byLoadBalancer(order: AccessPlanInput): AccessPlan {
  const { access } = order;
  const given = foundService(order, 'LoadBalancer')?.status?.loadBalancer?.ingress ?? [];
  const hosts = given.flatMap(({ ip = '', hostname = '' }) => (ip === '' ? hostname : ip));
  const endpoints = hosts.flatMap((host) => access.spec.ports.map((port) => endpoint(port, host, port.port)));
  return { objects: [serviceFor(order, 'LoadBalancer')], endpoints: reachable(endpoints), problems: [] };
}

export function byNodePort(order: AccessPlanInput): AccessPlan {
  const { access, view } = order;
  const { clusterHost } = view.settings.access;
  if (clusterHost === '') {
    const message =
      'the host at which nodes are reachable is unknown; start the controller with --cluster-host, or use listenerclass:NAME.';
    return { ...failed(access, 'access-type', message), objects: [serviceFor(order)] };
  }
  const numbers = foundService(order, 'NodePort')?.spec?.ports ?? [];
  const endpoints = access.spec.ports.flatMap((port) => {
    const { nodePort } = numbers.find(({ name }) => name === port.name) ?? {};
    return nodePort === undefined ? [] : [endpoint(port, clusterHost, nodePort)];
  });
  return { objects: [serviceFor(order, 'NodePort')], endpoints: reachable(endpoints), problems: [] };
}

/** The Service once it has that type: until then, its status belongs to the former type. */
function foundService({ access, view }: AccessPlanInput, type: string): Service | undefined {
  const service = view.find(services, nameOf(access));
  return service?.spec?.type === type ? service : undefined;
}
