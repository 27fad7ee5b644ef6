/** Finds the addresses that clients can use, from Services and Nodes. Pure. */
import { BlockList, isIP } from 'node:net';
import type { AddressType, Listener, ListenerClass, ListenerIngress, PreferredAddressType } from '../../api/listeners/index.ts';
import type { LoadBalancerIngress, Node, NodeAddress, Service, ServicePort } from '../../kube/objects.ts';
import { isHostName } from '../../text/names.ts';
import { shownValue } from '../../text/printable.ts';

/** An address and its type, without ports. */
export type Reachable = Pick<ListenerIngress, 'address' | 'addressType'>;

export type ServiceType = 'NodePort' | 'LoadBalancer' | 'ClusterIP';

/**
 * `HostnameConservative` uses hostnames only if they are known to resolve: those of load balancers and cluster DNS do, those of
 * nodes often do not.
 */
export function preferredKind(preferred: PreferredAddressType, serviceType: string): AddressType {
  if (preferred !== 'HostnameConservative') return preferred;
  return serviceType === 'NodePort' ? 'IP' : 'Hostname';
}

/**
 * The preference of the class. Without a readable class, the type of the Listener's current address: deleting a class must not
 * change the addresses of its pods.
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
 * Addresses at which node ports of a Service respond on one node, best first. Only the Service's families do
 * (Service.spec.ipFamilies, in that order). In each family external addresses replace internal ones, because clients inside and
 * outside reach them.
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

/** The load balancer's addresses (Service.status.loadBalancer.ingress): of each entry the preferred type, else the other one. */
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

/** Whether the load balancer reports an error for every port at this address. */
function isOutOfOrder(ingress: LoadBalancerIngress, service: Service): boolean {
  const ports = service.spec?.ports ?? [];
  return ports.length > 0 && ports.every((port) => errorAt(ingress, port) !== undefined);
}

function errorAt({ ports = [] }: LoadBalancerIngress, { port, protocol = 'TCP' }: ServicePort): string | undefined {
  const error = ports.find((each) => each.port === port && (each.protocol ?? 'TCP') === protocol)?.error;
  return error === '' ? undefined : error;
}

/** Errors that a load balancer reports for single ports (Service.status.loadBalancer.ingress[].ports[].error), for users. */
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

/**
 * Addresses that a class or Listener adds by an override (Service.spec.externalIPs). They use the Service's own ports, whatever
 * its type.
 */
export function externalAddresses(service: Service): readonly Reachable[] {
  return (service.spec?.externalIPs ?? []).filter(isReachableIp).map((address): Reachable => ({ address, addressType: 'IP' }));
}

/** Cluster-internal addresses of a Service. A headless one has only its name. */
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

/** Unspecified, loopback, link-local and multicast addresses (RFC 6890, RFC 4291). No other machine can reach a node at them. */
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

/** RFC 6761, section 6.3: localhost and names below it refer to the machine itself. */
function isReachableName(address: string): boolean {
  return isHostName(address) && !/(^|\.)localhost(\.localdomain)?\.?$/i.test(address);
}

/** Filters node addresses: the API server stores whatever a kubelet or cloud provider reports, even invalid addresses. */
function ofType(addresses: readonly NodeAddress[], type: string): readonly string[] {
  const isPossible = type === 'Hostname' ? isReachableName : isReachableIp;
  return addresses.filter((address) => address.type === type && isPossible(address.address)).map(({ address }) => address);
}

function firstNonEmpty<T>(first: readonly T[], second: readonly T[]): readonly T[] {
  return first.length > 0 ? first : second;
}
