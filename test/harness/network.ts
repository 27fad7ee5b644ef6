import { attempt, run } from './command.ts';
import { families, type ClusterLayout, type NodeLayout } from './layout.ts';
import { addNamespace, ipBatch, isV6, onLink } from './wires.ts';

/**
 * One bridge, one cable a node. The host is "outside the cluster": it owns the bridge, reaches nodes and pods by route, and is no
 * member of the cluster's network policy or service proxy.
 */
export async function createNetwork(layout: ClusterLayout): Promise<void> {
  const bridge = layout.bridge;
  await ipBatch([
    `link add ${bridge} type bridge`,
    ...families(layout.host).map((address) => `addr add ${onLink(address, bridge)}`),
    `link set ${bridge} up`,
    // Packets to a pod or Service that does not exist must end here, not leave the machine by its default route.
    ...[...families(layout.podRange), ...families(layout.serviceRange)].map((range) => `route add unreachable ${range} metric 4000`),
  ]);
}

export async function createNodeNetwork(layout: ClusterLayout, node: NodeLayout): Promise<void> {
  const { netns, veth: port, address } = node;
  await addNamespace(netns, [{ device: 'eth0', port, bridge: layout.bridge, addresses: families(address) }]);
  const others = layout.nodes.filter((other) => other.name !== node.name);
  await ipBatch([...families(layout.host).map((host) => `route add default via ${host}`), ...others.flatMap(podRoutes)], netns);
  // Duplicate address detection would hold every pod's IPv6 address back for a second.
  const settings = [
    'net.ipv4.ip_forward=1',
    'net.ipv6.conf.all.forwarding=1',
    'net.ipv6.conf.default.accept_dad=0',
    'net.ipv6.conf.all.accept_dad=0',
  ];
  await run('nsenter', [`--net=/var/run/netns/${netns}`, 'sysctl', '-qw', ...settings]);
  await ipBatch(podRoutes(node));
}

/** Gives a node a further address that answers from outside and from the other nodes, or takes it away. */
export async function routeAddress(layout: ClusterLayout, node: NodeLayout, address: string, what: 'add' | 'remove'): Promise<void> {
  const host = isV6(address) ? `${address}/128` : `${address}/32`;
  if (isV6(address) && node.address.v6 === undefined)
    throw new TypeError(`${address}: this cluster is not dual stack; start it with dualStack: true`);
  if (what === 'add') await ipBatch([`addr replace ${host} dev eth0${isV6(address) ? ' nodad' : ''}`], node.netns);
  else await attempt('ip', ['-n', node.netns, 'addr', 'del', host, 'dev', 'eth0']);
  await routeVia(layout, node, address, what);
}

/** Delivers an address to a node without giving it to the node: how a load balancer's address arrives at its service proxy. */
export async function routeVia(layout: ClusterLayout, node: NodeLayout, address: string, what: 'add' | 'remove'): Promise<void> {
  const v6 = isV6(address);
  const [first, length = v6 ? '128' : '32'] = address.split('/');
  const host = `${first}/${length}`;
  const via = v6 ? node.address.v6 : node.address.v4;
  const places: readonly (readonly string[])[] = [
    [],
    ...layout.nodes.filter((other) => other.name !== node.name).map((other) => ['-n', other.netns]),
  ];
  for (const place of places) {
    if (what === 'add') await run('ip', [...place, 'route', 'replace', host, 'via', via ?? '']);
    else await attempt('ip', [...place, 'route', 'del', host]);
  }
}

/** Removes what the two functions above made; nothing of it need be there. */
export async function removeNetwork(layout: ClusterLayout): Promise<void> {
  for (const node of layout.nodes) {
    await attempt('ip', ['link', 'del', node.veth]);
    await attempt('ip', ['netns', 'del', node.netns]);
  }
  await attempt('ip', ['link', 'del', layout.bridge]);
  for (const range of [...families(layout.podRange), ...families(layout.serviceRange)])
    await attempt('ip', ['route', 'del', 'unreachable', range]);
}

function podRoutes(node: NodeLayout): readonly string[] {
  const { address, podRange } = node;
  return [
    `route add ${podRange.v4} via ${address.v4}`,
    ...(podRange.v6 === undefined || address.v6 === undefined ? [] : [`route add ${podRange.v6} via ${address.v6}`]),
  ];
}
