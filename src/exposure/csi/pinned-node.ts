import { TOPOLOGY_KEY } from '../../api/listeners/names.ts';
import { CsiError } from './errors.ts';
import type { TopologyRequirement } from './generated/csi.ts';

/**
 * The node that a pinned volume stays on: the first that the provisioner prefers, which is the one that the scheduler
 * chose for the pod (external-provisioner, docs on strict topology). A Listener that several claims name has one node
 * for each of them, and an address on each. Throws csi-installation.
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
