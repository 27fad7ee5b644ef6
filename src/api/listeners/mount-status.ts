import type { PodListeners } from './index.ts';

type MountStatus = NonNullable<NonNullable<PodListeners['status']>['mounts']>[string];

/** What the controller says that a mount waits for. */
export function mountStatusOf({ status }: PodListeners, handle: string): MountStatus | undefined {
  const mounts = status?.mounts ?? {};
  return Object.hasOwn(mounts, handle) ? mounts[handle] : undefined;
}

/** Reasons in `status.mounts` by which the controller says that the pod needs its volume no longer. */
const ENDING: ReadonlySet<string | undefined> = new Set(['PodEnding', 'PodNotFound']);

/** Whether the pod is deleted or has finished, so that the kubelet unmounts its volumes. */
export function isEnding(object: PodListeners, handle: string): boolean {
  return ENDING.has(mountStatusOf(object, handle)?.reason);
}
