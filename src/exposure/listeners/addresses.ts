/** Which addresses clients can use: pure rules over Services and Nodes. */
import { isIP } from 'node:net';
import type { AddressType, Listener, ListenerClass, ListenerIngress, PreferredAddressType } from '../../api/listeners/index.ts';
import type { Node, NodeAddress, Service } from '../../kube/objects.ts';
import { isHostName } from '../../text/names.ts';

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
  const ingress = service.status?.loadBalancer?.ingress ?? [];
  return distinct(
    ingress.flatMap(({ ip, hostname }): readonly Reachable[] => {
      const ips: readonly Reachable[] = ip === undefined || ip === '' ? [] : [{ address: ip, addressType: 'IP' }];
      const names: readonly Reachable[] = hostname === undefined || hostname === '' ? [] : [{ address: hostname, addressType: 'Hostname' }];
      return preferred === 'Hostname' ? firstNonEmpty(names, ips) : firstNonEmpty(ips, names);
    }),
  );
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

/** The API server stores whatever a kubelet or cloud calls an address; what cannot be one is no address to announce. */
function ofType(addresses: readonly NodeAddress[], type: string): readonly string[] {
  const isPossible = type === 'Hostname' ? isHostName : (address: string) => isIP(address) !== 0;
  return addresses.filter((address) => address.type === type && isPossible(address.address)).map(({ address }) => address);
}

function firstNonEmpty<T>(first: readonly T[], second: readonly T[]): readonly T[] {
  return first.length > 0 ? first : second;
}
