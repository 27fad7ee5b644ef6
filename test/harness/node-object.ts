import type { ApiRequests } from './api-requests.ts';
import type { NodeLayout } from './layout.ts';
import { untilReady, type ProcessRecord } from './processes.ts';

export interface NodeAddress {
  readonly type: 'InternalIP' | 'ExternalIP' | 'Hostname' | 'InternalDNS' | 'ExternalDNS';
  readonly address: string;
}

export interface NodeObject {
  readonly metadata: { readonly name: string; readonly uid: string; readonly resourceVersion: string };
  readonly spec: { readonly taints?: readonly { readonly key: string; readonly effect: string }[] };
  readonly status: {
    readonly addresses?: readonly NodeAddress[];
    readonly conditions?: readonly { readonly type: string; readonly status: string; readonly lastHeartbeatTime: string }[];
  };
}

const UNINITIALIZED = 'node.cloudprovider.kubernetes.io/uninitialized';

export function nodePath(name: string): string {
  return `/api/v1/nodes/${name}`;
}

/**
 * What a cloud does for a node that registers: writes its addresses, where there are some to write, and takes away the taint that
 * keeps pods off until then. Returns when the node is Ready, free of it, and heard from since `since`.
 */
export async function admitNode(
  api: ApiRequests,
  node: NodeLayout,
  kubelet: ProcessRecord,
  options: { since: Date; addresses?: readonly NodeAddress[] | undefined },
): Promise<void> {
  const { since, addresses } = options;
  await untilReady(kubelet, async () => (await api.find(nodePath(node.name))) !== undefined, { everyMs: 50 });
  if (addresses !== undefined) await writeAddresses(api, node, addresses);
  await untilReady(
    kubelet,
    async () => {
      const seen = await api.get<NodeObject>(nodePath(node.name));
      const taints = seen.spec.taints ?? [];
      if (taints.some(({ key }) => key === UNINITIALIZED)) await removeTaint(api, node);
      return isReady(seen, since) && taints.length === 0;
    },
    { everyMs: 100, timeoutMs: 120_000 },
  );
}

/** The kubelet runs with an external cloud provider and leaves addresses that are there alone: what is written here stays. */
export async function writeAddresses(api: ApiRequests, node: NodeLayout, addresses: readonly NodeAddress[]): Promise<void> {
  // A merge patch replaces the list; a strategic one would merge by type and lose the second address of one type.
  await api.patch(`${nodePath(node.name)}/status`, { status: { addresses } });
}

/** Ready, by a heartbeat no older than `since`: heartbeats count whole seconds, and a kubelet that starts sends one at once. */
export function isReady(node: NodeObject, since: Date): boolean {
  const oldest = Math.floor(since.getTime() / 1000) * 1000;
  return (
    node.status.conditions?.some(
      ({ type, status, lastHeartbeatTime }) => type === 'Ready' && status === 'True' && new Date(lastHeartbeatTime).getTime() >= oldest,
    ) ?? false
  );
}

async function removeTaint(api: ApiRequests, node: NodeLayout): Promise<void> {
  const { metadata, spec } = await api.get<NodeObject>(nodePath(node.name));
  // With the version, a taint that the node controller sets meanwhile makes this fail instead of vanish; the caller looks again.
  const taints = (spec.taints ?? []).filter(({ key }) => key !== UNINITIALIZED);
  await api.patch(nodePath(node.name), { metadata: { resourceVersion: metadata.resourceVersion }, spec: { taints } });
}
