import { gauge } from '../telemetry/metrics.ts';
import type { PolicyCaches } from './cluster/caches.ts';

export function showListeners(caches: PolicyCaches): void {
  gauge('earshot_listeners', 'Listeners by class and state of their Ready condition.', ['class', 'ready'], (made) => {
    made.reset();
    for (const { spec, status } of caches.listeners.values()) {
      const ready = status?.conditions?.find(({ type }) => type === 'Ready')?.status ?? 'Unknown';
      made.inc({ class: spec.className ?? '', ready });
    }
  });
}
