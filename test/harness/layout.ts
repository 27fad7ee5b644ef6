/**
 * Where everything of a test cluster lives: pure arithmetic from its name and its index on this machine, so that several
 * clusters run side by side and a crashed one's leavings can be named without asking anybody.
 */
export interface AddressPair {
  readonly v4: string;
  readonly v6?: string;
}

export interface NodeLayout {
  readonly name: string;
  /** Named network namespace (`ip netns`). */
  readonly netns: string;
  /** The host's end of the cable between node and bridge. */
  readonly veth: string;
  readonly dir: string;
  /** The node's own /var/lib/kubelet. */
  readonly kubeletDir: string;
  readonly containerdSocket: string;
  readonly address: AddressPair;
  readonly podRange: AddressPair;
}

export interface ClusterLayout {
  readonly name: string;
  readonly index: number;
  readonly dir: string;
  readonly logs: string;
  readonly bridge: string;
  /** The host's address on the bridge, where the API server and DNS listen. */
  readonly host: AddressPair;
  /** A loopback address of its own keeps the other servers' fixed ports apart. */
  readonly loopback: string;
  readonly nodeRange: AddressPair;
  readonly podRange: AddressPair;
  readonly serviceRange: AddressPair;
  readonly dnsAddress: string;
  /** Services are called NAME.NAMESPACE.svc.DOMAIN. */
  readonly domain: string;
  readonly apiUrl: string;
  readonly nodes: readonly NodeLayout[];
}

/**
 * Folder of all test clusters, apart from /var/lib/earshot, where sites without a cluster live. Short: a Unix socket's path ends at
 * 107 bytes, and a CSI driver's lies deep below a node's folder.
 */
export const CLUSTERS = '/srv/earshot';

/** Sixteen clusters side by side, eight nodes each, is where the address plan ends. */
export const MOST_CLUSTERS = 16;
export const MOST_NODES = 8;

export const API_PORT = 6443;

export function layOut(options: {
  name: string;
  index: number;
  nodes: number;
  dualStack: boolean;
  domain?: string;
  logs: string;
}): ClusterLayout {
  const { name, index, nodes, dualStack, domain = 'cluster.local', logs } = options;
  const pair = (v4: string, v6: string): AddressPair => (dualStack ? { v4, v6 } : { v4 });
  // Not 0, or what is written here would not be how Kubernetes spells the address (RFC 5952).
  const site = index + 1;
  const dir = `${CLUSTERS}/${name}`;
  return {
    name,
    index,
    dir,
    logs,
    bridge: `earshot${index}`,
    host: pair(`10.77.${index}.1`, `fd77:${site}::1`),
    loopback: `127.77.${index}.1`,
    nodeRange: pair(`10.77.${index}.0/24`, `fd77:${site}::/64`),
    podRange: pair(`10.78.${index * MOST_NODES}.0/21`, `fd78:${site}::/56`),
    serviceRange: pair(`10.${96 + index}.0.0/16`, `fd79:${site}::/112`),
    dnsAddress: `10.${96 + index}.0.10`,
    domain,
    apiUrl: `https://10.77.${index}.1:${API_PORT}`,
    nodes: Array.from({ length: nodes }, (_, n) => ({
      name: `${name}-${n + 1}`,
      netns: `${name}-${n + 1}`,
      veth: `earshot${index}n${n + 1}`,
      dir: `${dir}/n${n + 1}`,
      kubeletDir: `${dir}/n${n + 1}/kubelet`,
      containerdSocket: `${dir}/n${n + 1}/containerd.sock`,
      address: pair(`10.77.${index}.${11 + n}`, `fd77:${site}::${11 + n}`),
      podRange: pair(`10.78.${index * MOST_NODES + n}.0/24`, `fd78:${site}:0:${n + 1}::/64`),
    })),
  };
}

/** Both families' values of a pair, IPv4 first. */
export function families(pair: AddressPair): readonly string[] {
  return pair.v6 === undefined ? [pair.v4] : [pair.v4, pair.v6];
}
