/** Access by host name through a proxy that passes TLS through: OpenShift's router, Ingress controllers, Contour. */
import type { StringMap } from '../../kube/objects.ts';
import { keyOf, nameOf } from '../../site/resources.ts';
import type { DesiredObject } from '../desired-state.ts';
import { httpProxies, ingresses, routes, type Ingress } from './kinds.ts';
import { serviceFor } from './by-service.ts';
import {
  endpoint,
  failed,
  hostsOf,
  metadataFor,
  nameFor,
  reachable,
  TLS_PORT,
  type AccessPlan,
  type AccessPlanInput,
} from './access-parts.ts';

/** If the resource names no domain, OpenShift's router chooses the host. */
export function byRoute(order: AccessPlanInput): AccessPlan {
  const { access, view } = order;
  const domain = access.spec.settings?.['domain'] ?? '';
  const hosts = domain === '' ? new Map<unknown, string>() : hostsOf(order, domain, (port) => nameFor(access, port));
  if ('refused' in hosts) return hosts.refused;
  const objects = access.spec.ports.map((port): DesiredObject => {
    const host = hosts.get(port);
    const spec = {
      ...(host === undefined ? {} : { host }),
      to: { kind: 'Service', name: nameOf(access), weight: 100 },
      port: { targetPort: port.name },
      tls: { termination: 'passthrough' },
    };
    return desiredObject(order, routes, 'route.openshift.io/v1', nameFor(access, port), spec);
  });
  const endpoints = access.spec.ports.flatMap((port) =>
    (view.find(routes, nameFor(access, port))?.status?.ingress ?? []).map(({ host = '' }) => endpoint(port, host, TLS_PORT)),
  );
  return { objects: [serviceFor(order), ...objects], endpoints: reachable(endpoints), problems: [] };
}

export function byHttpProxy(order: AccessPlanInput): AccessPlan {
  const { access, view } = order;
  const domain = view.settings.access.httpProxyDomain;
  if (domain === '')
    return failed(access, 'access-type', 'the domain of HTTPProxies is unknown; start the controller with --http-proxy-domain.');
  const hosts = hostsOf(order, domain, (port) => nameFor(access, port));
  if ('refused' in hosts) return hosts.refused;
  const objects = [...hosts].map(([port, fqdn]): DesiredObject => {
    const spec = { virtualhost: { fqdn, tls: { passthrough: true } }, tcpproxy: { services: [{ name: nameOf(access), port: port.port }] } };
    return desiredObject(order, httpProxies, 'projectcontour.io/v1', nameFor(access, port), spec);
  });
  const endpoints = [...hosts].map(([port, host]) => endpoint(port, host, TLS_PORT));
  return { objects: [serviceFor(order), ...objects], endpoints, problems: [] };
}

export function byIngress(order: AccessPlanInput, isNginx: boolean): AccessPlan {
  const { access, view } = order;
  const { ingressDomain, ingressClassName } = view.settings.access;
  const domain = ingressDomain === '' ? domainOf(view.find(ingresses, nameOf(access))) : ingressDomain;
  const hosts = hostsOf(order, domain, ({ name }) => name);
  if ('refused' in hosts) return hosts.refused;
  const className = [access.spec.settings?.['ingressClassName'], ingressClassName, isNginx ? 'nginx' : ''].find(
    (name) => name !== undefined && name !== '',
  );
  const spec = {
    ...(className === undefined ? {} : { ingressClassName: className }),
    rules: [...hosts].map(([port, host]) => ({ host, http: { paths: [pathTo(nameOf(access), port.port)] } })),
  };
  const object = desiredObject(order, ingresses, 'networking.k8s.io/v1', nameOf(access), spec, isNginx ? NGINX : {});
  // Without a domain the hosts cannot be resolved. They get a domain once the Ingress has an address.
  const endpoints = domain === '' ? [] : [...hosts].map(([port, host]) => endpoint(port, host, TLS_PORT));
  return { objects: [serviceFor(order), object], endpoints, problems: [] };
}

/** ingress-nginx passes TLS through only on request. */
const NGINX = { 'nginx.ingress.kubernetes.io/ssl-passthrough': 'true', 'nginx.ingress.kubernetes.io/ssl-redirect': 'true' };

function pathTo(name: string, number: number): unknown {
  return { path: '/', pathType: 'Prefix', backend: { service: { name, port: { number } } } };
}

function domainOf(ingress: Ingress | undefined): string {
  return domainBy((ingress?.status?.loadBalancer?.ingress ?? []).flatMap(({ hostname, ip }) => [hostname, ip]));
}

/** A domain that resolves to one of these addresses, also with further labels in front; empty if no address is known. */
export function domainBy(addresses: readonly (string | undefined)[]): string {
  const known = addresses.filter((address): address is string => address !== undefined && address !== '');
  const named = known.find((address) => !IPV4.test(address) && !address.includes(':'));
  const numbered = known.find((address) => IPV4.test(address));
  return named ?? (numbered === undefined ? '' : `${numbered}.nip.io`);
}

const IPV4 = /^\d{1,3}(?:\.\d{1,3}){3}$/;

function desiredObject(
  { access }: AccessPlanInput,
  of: DesiredObject['of'],
  apiVersion: string,
  name: string,
  spec: unknown,
  marks: StringMap = {},
): DesiredObject {
  const object = { apiVersion, kind: of.kind, metadata: metadataFor(access, name, marks), spec };
  return { of, object, for: keyOf(access) };
}
