/** Access through the single Gateway of the controller, which sites of all namespaces share. */
import { annotation, label } from '../../api/skupper/cluster-names.ts';
import { apiVersionOf } from '../../kube/resource.ts';
import { keyOf, nameOf } from '../../site/resources.ts';
import type { NamespaceView } from '../namespace-view.ts';
import type { DesiredObject } from '../desired-state.ts';
import { domainBy } from './by-host.ts';
import { serviceFor } from './by-service.ts';
import { earlyTlsRoutes, gateways, tlsRoutes } from './kinds.ts';
import { endpoint, failed, hostsOf, metadataFor, nameFor, type AccessPlan, type AccessPlanInput } from './access-parts.ts';

/** In the controller's namespace, where only its administrators can write. */
const GATEWAY = 'skupper';

export function byGateway(order: AccessPlanInput): AccessPlan {
  const { access, view } = order;
  const { gatewayClass, gatewayPort, gatewayDomain } = view.settings.access;
  if (gatewayClass === '') {
    return failed(access, 'access-type', 'the class of the Gateway is unknown; start the controller with --gateway-class.');
  }
  const shared = [serviceFor(order), gatewayFor(order)];
  const domain = gatewayDomain === '' ? foundDomain(view) : gatewayDomain;
  if (domain === '') return { objects: shared, endpoints: [], problems: [] };
  const hosts = hostsOf(order, domain, (port) => nameFor(access, port));
  if ('refused' in hosts) return { ...hosts.refused, objects: shared };
  const of = view.serves(tlsRoutes) ? tlsRoutes : earlyTlsRoutes;
  const objects = [...hosts].map(([port, host]): DesiredObject => {
    const spec = {
      parentRefs: [{ name: GATEWAY, namespace: view.settings.namespace }],
      hostnames: [host],
      rules: [{ backendRefs: [{ name: nameOf(access), port: port.port }] }],
    };
    const object = { apiVersion: apiVersionOf(of), kind: of.kind, metadata: metadataFor(access, nameFor(access, port)), spec };
    return { of, object, for: keyOf(access) };
  });
  const endpoints = [...hosts].map(([port, host]) => endpoint(port, host, gatewayPort));
  return { objects: [...shared, ...objects], endpoints, problems: [] };
}

/**
 * All SecuredAccesses share this Gateway, so none of them owns it. Their traffic differs by host, which contains the namespace. A Gateway
 * of this name that an earlier controller created has no mark.
 */
function gatewayFor({ access, view: { settings } }: AccessPlanInput): DesiredObject {
  const { gatewayClass, gatewayPort } = settings.access;
  const listener = {
    name: 'tls',
    port: gatewayPort,
    protocol: 'TLS',
    tls: { mode: 'Passthrough' },
    allowedRoutes: { namespaces: { from: 'All' } },
  };
  const object = {
    apiVersion: apiVersionOf(gateways),
    kind: gateways.kind,
    metadata: {
      name: GATEWAY,
      namespace: settings.namespace,
      labels: { [label.securedAccess]: 'true' },
      annotations: { [annotation.controlled]: 'true' },
    },
    spec: { gatewayClassName: gatewayClass, listeners: [listener] },
  };
  return { of: gateways, object, for: keyOf(access) };
}

function foundDomain({ elsewhere, settings }: NamespaceView): string {
  const gateway = elsewhere(gateways, settings.namespace).find(({ metadata }) => metadata.name === GATEWAY);
  return domainBy((gateway?.status?.addresses ?? []).map(({ value }) => value));
}
