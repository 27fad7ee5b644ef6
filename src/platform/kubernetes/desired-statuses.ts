/** Statuses that a site's routers write (pure). */
import type { Report } from '../../agent/ports.ts';
import type { Condition } from '../../api/condition.ts';
import type { KubeObject } from '../../kube/objects.ts';
import { observePlanned, type AnyStatus } from '../../site/observe/observe.ts';
import { keyOf, type Kind, type ResourceKey } from '../../site/resources.ts';
import { kubernetes } from '../../site/cluster-platform.ts';
import { isRecord } from '../../text/is-record.ts';

/** The controller writes the statuses of all other kinds. */
export const routerKinds = ['Listener', 'MultiKeyListener', 'Connector', 'Link'] as const satisfies readonly Kind[];

/**
 * @param stored returns the stored objects of a kind. An unreadable object has a status as well
 * @param now RFC 3339, in seconds
 */
export function desiredStatuses(
  { resources, statuses, problems }: Pick<Report, 'resources' | 'statuses' | 'problems'>,
  stored: (kind: Kind) => Iterable<KubeObject>,
  now: string,
): ReadonlyMap<ResourceKey, AnyStatus> {
  const desired = new Map<ResourceKey, AnyStatus>();
  for (const kind of routerKinds) {
    for (const object of resources[kind]) {
      const status = statuses.get(keyOf(object));
      if (status !== undefined) desired.set(keyOf(object), status);
    }
  }
  const errors = Map.groupBy(
    problems.filter(({ severity }) => severity === 'error'),
    ({ resource }) => resource,
  );
  if (errors.size === 0) return desired;
  for (const kind of routerKinds) {
    for (const { metadata } of stored(kind)) {
      const key: ResourceKey = `${kind}/${metadata.name ?? ''}`;
      const own = errors.get(key);
      if (own === undefined || desired.has(key)) continue;
      const { wording } = kubernetes;
      desired.set(key, observePlanned(undefined, { own, wording, previous: [], generation: metadata.generation, now }));
    }
  }
  return desired;
}

/** Keeps the transition time of a condition whose status has not changed. The author of the earlier condition does not matter. */
export function withStandingTimes(status: AnyStatus, standing: unknown): AnyStatus {
  const known = isRecord(standing) && Array.isArray(standing['conditions']) ? standing['conditions'].filter(isRecord) : [];
  const times = new Map(
    known.map(({ type, status: holds, lastTransitionTime }) => [`${String(type)} ${String(holds)}`, lastTransitionTime]),
  );
  const conditions = (status.conditions ?? []).map((condition): Condition => {
    const since = times.get(`${condition.type} ${condition.status}`);
    return typeof since === 'string' ? { ...condition, lastTransitionTime: since } : condition;
  });
  return { ...status, conditions };
}
