import type { PodListeners } from '../api/listeners/index.ts';
import { isEnding } from '../api/listeners/mount-status.ts';
import type { Cache } from '../kube/contract.ts';
import { gauge } from '../telemetry/metrics.ts';
import type { PolicyCaches } from './cluster/caches.ts';

export function showListeners(caches: PolicyCaches): void {
  gauge('earshot_listeners', 'Listeners by class and state of their Ready condition.', ['class', 'ready'], (metric) => {
    metric.reset();
    for (const { spec, status } of caches.listeners.values()) {
      const ready = status?.conditions?.find(({ type }) => type === 'Ready')?.status ?? 'Unknown';
      metric.inc({ class: spec.className ?? '', ready });
    }
  });
}

/** Caches of the leader: one, except in tests. */
const leading = new Set<Pick<Cache<PodListeners>, 'values'>>();

gauge('earshot_mounts', 'Listener volumes of pods by state, as the leading controller sees them.', ['state'], (metric) => {
  metric.reset();
  if (leading.size === 0) return;
  const states = [...leading].flatMap((podListeners) => [...podListeners.values()].flatMap(mountStatesOf));
  for (const state of ['ready', 'waiting'] as const) metric.set({ state }, states.filter((each) => each === state).length);
});

/** Counts mounts until the result is disposed. */
export function showMounts(podListeners: Pick<Cache<PodListeners>, 'values'>): Disposable {
  leading.add(podListeners);
  return { [Symbol.dispose]: () => void leading.delete(podListeners) };
}

/** States of the mounts of a pod that still needs them. */
function mountStatesOf(object: PodListeners): readonly ('ready' | 'waiting')[] {
  const answered = new Set(Object.values(object.spec.listeners).map(({ volumeHandle }) => volumeHandle));
  return Object.keys(object.spec.mounts ?? {})
    .filter((handle) => !isEnding(object, handle))
    .map((handle) => (answered.has(handle) ? 'ready' : 'waiting'));
}
