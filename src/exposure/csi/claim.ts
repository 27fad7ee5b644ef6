import { LISTENER_CLASS_ANNOTATION, LISTENER_NAME_ANNOTATION, TOPOLOGY_KEY } from '../../api/listeners/names.ts';
import type { ListenerClass } from '../../api/listeners/index.ts';
import type { PersistentVolumeClaim } from '../../kube/objects.ts';
import { CsiError } from './errors.ts';
import type { TopologyRequirement } from './generated/csi.ts';
import { quoted } from '../../text/printable.ts';
import { isResourceName } from '../../text/names.ts';

/** What a claim asks for: a Listener that exists, or one of its own of a class. */
export interface Selection {
  readonly annotation: typeof LISTENER_NAME_ANNOTATION | typeof LISTENER_CLASS_ANNOTATION;
  readonly name: string;
}

/** Exactly one of the two annotations, with a name in it. Throws csi-claim. */
export function selectionOf(claim: PersistentVolumeClaim): Selection {
  const { annotations = {}, namespace, name } = claim.metadata;
  const found = ([LISTENER_NAME_ANNOTATION, LISTENER_CLASS_ANNOTATION] as const).filter((key) => Object.hasOwn(annotations, key));
  const [annotation] = found;
  const where = `PersistentVolumeClaim ${namespace}/${name}`;
  if (annotation === undefined) {
    throw new CsiError(
      'csi-claim',
      `${where} does not say what to expose: give it (or the claim template that it is made from) the annotation ` +
        `${LISTENER_CLASS_ANNOTATION} with the name of a ListenerClass, or ${LISTENER_NAME_ANNOTATION} with that of a Listener.`,
    );
  }
  if (found.length > 1) {
    throw new CsiError('csi-claim', `${where} has both annotations, ${found.join(' and ')}: remove one of them.`);
  }
  const value = annotations[annotation] ?? '';
  if (!isResourceName(value)) {
    throw new CsiError('csi-claim', `${where}: the annotation ${annotation} holds ${quoted(value)}, which is not the name of an object.`);
  }
  return { annotation, name: value };
}

/** Only a node port depends on the node, and only where the class wants it to last. */
export function isPinned(listenerClass: ListenerClass): boolean {
  return listenerClass.spec.serviceType === 'NodePort' && listenerClass.spec.pinnedNodePorts === true;
}

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
