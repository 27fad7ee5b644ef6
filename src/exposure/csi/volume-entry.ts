import type { PodListener, PodListeners } from '../../api/listeners/index.ts';
import { podListenersName } from '../../api/listeners/names.ts';
import type { Cache } from '../../kube/contract.ts';
import type { PodIdentity } from './publish-request.ts';
import type { Target } from './target-path.ts';

/** A volume of a pod on this node. */
export interface Volume {
  /** spec.csi.volumeHandle of its PersistentVolume. */
  readonly handle: string;
  readonly target: Target;
  /** Not known of a volume that was found on the disk and that an earlier version had mounted. */
  readonly pod?: PodIdentity;
}

/** What the controller says about a volume; undefined as long as it says nothing. */
export function entryOf(object: PodListeners, handle: string): PodListener | undefined {
  return Object.values(object.spec.listeners).find((entry) => entry.volumeHandle === handle);
}

/**
 * The PodListeners of the volume's pod.
 *
 * The disk does not tell a pod's namespace, only its uid, which is in the object's name. Somebody who may write
 * PodListeners in another namespace could make one of the same name. It would be younger: the right one was there when
 * the pod started, before its uid can have been known elsewhere.
 */
export function findPodListeners(cache: Cache<PodListeners>, { handle, target, pod }: Volume): PodListeners | undefined {
  const name = podListenersName(target.podUid);
  if (pod !== undefined) return cache.get(`${pod.namespace}/${name}`);
  return [...cache.values()]
    .filter((object) => object.metadata.name === name && entryOf(object, handle) !== undefined)
    .sort((one, other) => creationOf(one) - creationOf(other))[0];
}

/** The pod that an object says it belongs to, if its name says the same. */
export function podOf({ metadata }: PodListeners): PodIdentity | undefined {
  const { namespace, ownerReferences = [] } = metadata;
  const owner = ownerReferences.find(({ kind, uid }) => kind === 'Pod' && podListenersName(uid) === metadata.name);
  return owner === undefined || namespace === undefined ? undefined : { namespace, name: owner.name, uid: owner.uid };
}

function creationOf({ metadata }: PodListeners): number {
  return Date.parse(metadata.creationTimestamp ?? '') || 0;
}
