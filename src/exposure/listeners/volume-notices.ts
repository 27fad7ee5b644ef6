/** Notices for the Accepted condition: settings of a class or Listener that existing volumes do not follow. Pure. */
import type { Listener, ListenerClass } from '../../api/listeners/index.ts';
import type { PersistentVolume } from '../../kube/objects.ts';
import { shownValue } from '../../text/printable.ts';
import { isPinned, pinnedNodesOf, targetOf } from '../cluster/volumes.ts';
import { listSome } from '../../text/list-some.ts';

/** Maximum number of names in a message. */
const MOST_NAMES = 3;

/** @param volumes the volumes of this Listener */
export function volumeNotices(
  listener: Listener,
  listenerClass: ListenerClass | undefined,
  volumes: readonly PersistentVolume[],
): readonly string[] {
  const mountable = volumes.filter(({ metadata, status }) => metadata.deletionTimestamp === undefined && status?.phase !== 'Released');
  return [...classNotices(listener, mountable), ...(listenerClass === undefined ? [] : pinNotices(listenerClass, mountable))];
}

/** Pinning is decided when a volume is created. */
function pinNotices(listenerClass: ListenerClass, volumes: readonly PersistentVolume[]): readonly string[] {
  const pins = isPinned(listenerClass);
  const others = volumes.filter((volume) => pinnedNodesOf(volume).length > 0 !== pins);
  if (others.length === 0) return [];
  // An index is unordered.
  const claims = some(others.map(({ spec }) => spec?.claimRef?.name ?? '').toSorted());
  const what = pins ? 'pins new volumes to their nodes' : 'does not pin new volumes to nodes';
  const stays = pins ? 'are not pinned' : 'stay pinned';
  const which = `volumes of these PersistentVolumeClaims were created before and ${stays}: ${claims}`;
  return [`ListenerClass ${listenerClass.metadata.name} ${what}; ${which}. Delete a claim and its pod: a new claim follows the class.`];
}

/** A Listener created for a volume has the volume's class, and each mount of the volume restores it. */
function classNotices({ metadata, spec }: Listener, volumes: readonly PersistentVolume[]): readonly string[] {
  return volumes.flatMap((volume) => {
    const target = targetOf(volume);
    const isOwner = (metadata.ownerReferences ?? []).some(({ uid }) => uid === volume.metadata.uid);
    if (target?.kind !== 'class' || !isOwner || target.className === spec.className) return [];
    const what = `spec.className ${shownValue(spec.className ?? '')} applies only until a pod mounts the volume again`;
    const why = `PersistentVolume ${volume.metadata.name} was created for ListenerClass ${shownValue(target.className)}`;
    return [`${what}: ${why}. To change the class, give ${claimOf(volume)} another annotation by creating it again.`];
  });
}

function claimOf({ spec }: PersistentVolume): string {
  return `PersistentVolumeClaim ${spec?.claimRef?.name}`;
}

const some = (names: readonly string[]): string => listSome(names, MOST_NAMES);
