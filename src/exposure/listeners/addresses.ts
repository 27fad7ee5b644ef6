/** Which addresses clients can use: pure rules over Services and Nodes. */
import { BlockList, isIP } from 'node:net';
import type { AddressType, Listener, ListenerClass, ListenerIngress, PreferredAddressType } from '../../api/listeners/index.ts';
import type { LoadBalancerIngress, Node, NodeAddress, Service, ServicePort } from '../../kube/objects.ts';
import { isHostName } from '../../text/names.ts';
import { shownValue } from '../../text/printable.ts';

/** An address and its kind, without ports. */
export type Reachable = Pick<ListenerIngress, 'address' | 'addressType'>;

export type ServiceType = 'NodePort' | 'LoadBalancer' | 'ClusterIP';

/**
 * `HostnameConservative` asks for hostnames only where they are known to resolve: those of load balancers and of
 * cluster DNS do, those of nodes often do not.
 */
export function preferredKind(preferred: PreferredAddressType, serviceType: string): AddressType {
  if (preferred !== 'HostnameConservative') return preferred;
  return serviceType === 'NodePort' ? 'IP' : 'Hostname';
}

/**
 * What the class prefers. While there is no class that can be read, the kind that the Listener has been known by: deleting a class must
 * not move the pods that are exposed by it to other addresses.
 */
export function preferenceOf(listener: Listener, listenerClass: ListenerClass | undefined): PreferredAddressType {
  if (listenerClass !== undefined && listenerClass.unreadable === undefined)
    return listenerClass.spec.preferredAddressType ?? 'HostnameConservative';
  return listener.status?.ingressAddresses?.[0]?.addressType ?? 'HostnameConservative';
}

export function isIPv6(address: string): boolean {
  return address.includes(':');
}

/**
 * The addresses at which node ports of one Service answer on one node, best first.
 *
 * Only families that the Service has (Service.spec.ipFamilies, in its order) answer. In each family external
 * addresses come instead of internal ones: a client outside reaches those, one inside reaches them too.
 */
export function nodeAddresses(node: Node, preferred: AddressType, ipFamilies: readonly string[]): readonly Reachable[] {
  const known = node.status?.addresses ?? [];
  const hostnames = ofType(known, 'Hostname').map((address): Reachable => ({ address, addressType: 'Hostname' }));
  const ips = ipFamilies.flatMap((family): readonly Reachable[] => {
    const inFamily = known.filter(({ address }) => isIPv6(address) === (family === 'IPv6'));
    const external = ofType(inFamily, 'ExternalIP');
    const chosen = external.length > 0 ? external : ofType(inFamily, 'InternalIP');
    return chosen.map((address) => ({ address, addressType: 'IP' }));
  });
  return preferred === 'Hostname' ? firstNonEmpty(hostnames, ips) : firstNonEmpty(ips, hostnames);
}

/** The answer of a load balancer (Service.status.loadBalancer.ingress): of each entry the preferred kind, else the other. */
export function loadBalancerAddresses(service: Service, preferred: AddressType): readonly Reachable[] {
  const ingress = (service.status?.loadBalancer?.ingress ?? []).filter((each) => !isOutOfOrder(each, service));
  return distinct(
    ingress.flatMap(({ ip, hostname }): readonly Reachable[] => {
      const ips: readonly Reachable[] = ip === undefined || ip === '' ? [] : [{ address: ip, addressType: 'IP' }];
      const names: readonly Reachable[] = hostname === undefined || hostname === '' ? [] : [{ address: hostname, addressType: 'Hostname' }];
      return preferred === 'Hostname' ? firstNonEmpty(names, ips) : firstNonEmpty(ips, names);
    }),
  );
}

/** No port of the Service works at this address: the load balancer reports an error for each. */
function isOutOfOrder(ingress: LoadBalancerIngress, service: Service): boolean {
  const ports = service.spec?.ports ?? [];
  return ports.length > 0 && ports.every((port) => errorAt(ingress, port) !== undefined);
}

function errorAt({ ports = [] }: LoadBalancerIngress, { port, protocol = 'TCP' }: ServicePort): string | undefined {
  const error = ports.find((each) => each.port === port && (each.protocol ?? 'TCP') === protocol)?.error;
  return error === '' ? undefined : error;
}

/** What a load balancer reports of single ports (Service.status.loadBalancer.ingress[].ports[].error), for people. */
export function loadBalancerErrors(service: Service): readonly string[] {
  const errors = (service.status?.loadBalancer?.ingress ?? []).flatMap((ingress) =>
    (service.spec?.ports ?? []).flatMap((port) => {
      const error = errorAt(ingress, port);
      const at = ingress.ip ?? ingress.hostname ?? 'its address';
      return error === undefined ? [] : [`${shownValue(error)} for port ${port.port}/${port.protocol ?? 'TCP'} at ${shownValue(at)}`];
    }),
  );
  return [...new Set(errors)];
}

/** Addresses that a class or Listener adds by an override (Service.spec.externalIPs). They answer at the Service's own ports, whatever its type. */
export function externalAddresses(service: Service): readonly Reachable[] {
  return (service.spec?.externalIPs ?? []).filter(isReachableIp).map((address): Reachable => ({ address, addressType: 'IP' }));
}

/** The cluster-internal addresses of a Service. A headless one has no IP of its own, only its name. */
export function clusterAddresses(service: Service, preferred: AddressType, clusterDomain: string): readonly Reachable[] {
  const ips = (service.spec?.clusterIPs ?? [])
    .filter((address) => address !== '' && address !== 'None')
    .map((address): Reachable => ({ address, addressType: 'IP' }));
  if (preferred === 'IP' && ips.length > 0) return ips;
  const { name, namespace } = service.metadata;
  const isAllocated = service.spec?.clusterIP !== undefined && service.spec.clusterIP !== '';
  return isAllocated ? [{ address: `${name}.${namespace}.svc.${clusterDomain}`, addressType: 'Hostname' }] : [];
}

/** The ports that clients use, by port name: node ports, or the Service's own. */
export function publicPorts(service: Service, kind: 'node' | 'service'): Readonly<Record<string, number>> {
  const entries = (service.spec?.ports ?? []).flatMap(({ name, port, nodePort }): [string, number][] => {
    const number = kind === 'node' ? nodePort : port;
    return name === undefined || number === undefined || number === 0 ? [] : [[name, number]];
  });
  return Object.fromEntries(entries);
}

export function distinct(addresses: readonly Reachable[]): readonly Reachable[] {
  return [...new Map(addresses.map((reachable) => [reachable.address, reachable])).values()];
}

/** Unspecified, loopback, link-local and multicast addresses (RFC 6890, RFC 4291): no other machine reaches a node by them. */
const unreachable = new BlockList();
for (const [network, prefix] of [
  ['0.0.0.0', 8],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['224.0.0.0', 4],
] as const) {
  unreachable.addSubnet(network, prefix);
}
for (const [network, prefix] of [
  ['::', 128],
  ['::1', 128],
  ['fe80::', 10],
  ['ff00::', 8],
] as const) {
  unreachable.addSubnet(network, prefix, 'ipv6');
}

function isReachableIp(address: string): boolean {
  const family = isIP(address);
  return family !== 0 && !unreachable.check(address, family === 6 ? 'ipv6' : 'ipv4');
}

/** RFC 6761, section 6.3: localhost and the names below it are the own machine's. */
function isReachableName(address: string): boolean {
  return isHostName(address) && !/(^|\.)localhost(\.localdomain)?\.?$/i.test(address);
}

/** The API server stores whatever a kubelet or cloud calls an address; what cannot be one is no address to announce. */
function ofType(addresses: readonly NodeAddress[], type: string): readonly string[] {
  const isPossible = type === 'Hostname' ? isReachableName : isReachableIp;
  return addresses.filter((address) => address.type === type && isPossible(address.address)).map(({ address }) => address);
}

function firstNonEmpty<T>(first: readonly T[], second: readonly T[]): readonly T[] {
  return first.length > 0 ? first : second;
}
