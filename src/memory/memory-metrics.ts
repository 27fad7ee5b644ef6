import { counter, gauge } from '../telemetry/metrics.ts';

/** Source of a router's memory metrics, read at each scrape. */
export interface MemorySource {
  /** Maximum that all owners may hold together, in bytes. */
  readonly budget: number;
  readonly held: number;
  /** Bytes held by the largest owner. */
  readonly most: number;
}

/** Routers of this process: one, except in tests. */
const sources = new Set<MemorySource>();

export function showMemory(source: MemorySource): () => void {
  sources.add(source);
  return () => sources.delete(source);
}

export const memoryMetrics = {
  refused: counter('earshot_router_memory_refused_total', 'Refused work of owners that have used up their memory quota.', ['what']),
  ended: counter('earshot_router_memory_ended_total', 'Connections ended because their memory budget was used up, by kind.', ['what']),
};

gauge('earshot_router_memory_budget_bytes', 'Memory limit of all peers and connections together.', [], (metric) => {
  metric.set(sources.values().reduce((sum, { budget }) => sum + budget, 0));
});

gauge('earshot_router_memory_held_bytes', 'Memory in use at the last scan, in total and by the largest owner.', ['by'], (metric) => {
  metric.set(
    { by: 'all' },
    sources.values().reduce((sum, { held }) => sum + held, 0),
  );
  metric.set(
    { by: 'greediest' },
    sources.values().reduce((sum, { most }) => Math.max(sum, most), 0),
  );
});
