import type { PodListener, PodListeners } from './index.ts';

type MountStatus = NonNullable<NonNullable<PodListeners['status']>['mounts']>[string];

/** Returns the controller's status of one mount: what it still waits for. */
export function mountStatusOf({ status }: PodListeners, handle: string): MountStatus | undefined {
  const mounts = status?.mounts ?? {};
  return Object.hasOwn(mounts, handle) ? mounts[handle] : undefined;
}

/** Returns the controller's answer for a volume; undefined before it has answered. */
export function entryOf({ spec }: PodListeners, handle: string): PodListener | undefined {
  return Object.values(spec.listeners).find(({ volumeHandle }) => volumeHandle === handle);
}

/** Reasons in `status.mounts` that mean that the pod no longer needs its volume. */
const ENDING: ReadonlySet<string | undefined> = new Set(['PodEnding', 'PodNotFound']);

/** Whether the pod was deleted or has finished, so that the kubelet unmounts its volumes. */
export function isEnding(object: PodListeners, handle: string): boolean {
  return ENDING.has(mountStatusOf(object, handle)?.reason);
}
