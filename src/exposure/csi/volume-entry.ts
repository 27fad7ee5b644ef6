import type { PodListeners } from '../../api/listeners/index.ts';
import { entryOf } from '../../api/listeners/mount-status.ts';
import { podListenersName } from '../../api/listeners/names.ts';
import type { Cache } from '../../kube/contract.ts';
import type { PodIdentity } from './publish-request.ts';
import type { Target } from './target-path.ts';

/** A volume of a pod on this node. */
export interface Volume {
  /** spec.csi.volumeHandle of its PersistentVolume. */
  readonly handle: string;
  readonly target: Target;
  /** Unknown for a volume found on disk that an earlier version had mounted. */
  readonly pod?: PodIdentity;
}

/**
 * Finds the PodListeners of the volume's pod. The disk contains a pod's UID, which is in the object's name, but not its
 * namespace. Another user could create an object of the same name in another namespace. Such an object is younger: the right one
 * existed when the pod started, before its UID was known elsewhere.
 */
export function findPodListeners(cache: Cache<PodListeners>, { handle, target, pod }: Volume): PodListeners | undefined {
  const name = podListenersName(target.podUid);
  if (pod !== undefined) return cache.get(`${pod.namespace}/${name}`);
  return [...cache.values()]
    .filter((object) => object.metadata.name === name && entryOf(object, handle) !== undefined)
    .sort((one, other) => creationOf(one) - creationOf(other))[0];
}

/** The pod that owns the object, if the object's name matches its UID. */
export function podOf({ metadata }: PodListeners): PodIdentity | undefined {
  const { namespace, ownerReferences = [] } = metadata;
  const owner = ownerReferences.find(({ kind, uid }) => kind === 'Pod' && podListenersName(uid) === metadata.name);
  return owner === undefined || namespace === undefined ? undefined : { namespace, name: owner.name, uid: owner.uid };
}

function creationOf({ metadata }: PodListeners): number {
  return Date.parse(metadata.creationTimestamp ?? '') || 0;
}
