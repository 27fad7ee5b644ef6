import { TOPOLOGY_KEY } from '../../api/listeners/names.ts';
import { CsiError } from './errors.ts';
import type { TopologyRequirement } from './generated/csi.ts';

/**
 * The node of a pinned volume: the provisioner's first preference, which is the scheduler's choice for the pod
 * (external-provisioner, docs on strict topology). A Listener of several claims has one node and address for each of them. Throws
 * csi-installation.
 */
export function pinnedNode(requirement: TopologyRequirement | undefined): string {
  const candidates = [...(requirement?.preferred ?? []), ...(requirement?.requisite ?? [])];
  const node = candidates.map(({ segments }) => segments.get(TOPOLOGY_KEY)).find((value) => value !== undefined && value !== '');
  if (node !== undefined) return node;
  throw new CsiError(
    'csi-installation',
    `The ListenerClass has pinnedNodePorts, but the request names no node (topology ${TOPOLOGY_KEY}): run external-provisioner ` +
      'with --feature-gates=Topology=true, and the node driver on every node.',
  );
}
