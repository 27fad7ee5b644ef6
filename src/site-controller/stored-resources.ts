/**
 * Validates stored objects of Earshot's kinds. The API server checked each by the CRD of that time. An object that is invalid by the
 * current one is ignored by all rules, and its own status says so.
 */
import { isDeepStrictEqual } from 'node:util';
import type { Condition } from '../api/condition.ts';
import { validateResource } from '../api/skupper/validate.ts';
import type { KubeObject } from '../kube/objects.ts';
import { apiVersionOf, type Resource } from '../kube/resource.ts';
import { observePlanned, type AnyStatus } from '../site/observe/observe.ts';
import type { ResourceProblem } from '../site/problem.ts';
import { keyOf, type KeyedKind, type SiteObject } from '../site/resources.ts';
import { limitTable } from '../limits/table.ts';

/**
 * Maximum number of resources of a kind in one namespace, since the rules of all namespaces share one process. The oldest count, so new
 * ones never displace them.
 */
const MOST: Readonly<Record<string, number>> = {
  Site: limitTable.sites.value,
  RouterAccess: limitTable.routerAccesses.value,
  SecuredAccess: limitTable.securedAccesses.value,
  Certificate: limitTable.certificates.value,
  Listener: limitTable.listeners.value,
  Connector: limitTable.connectors.value,
  NetworkObserver: limitTable.networkObservers.value,
};
const MOST_OF_OTHERS = limitTable.otherResources.value;

/** The effective objects of one namespace, sorted by name, and the surplus. */
export function bounded<T extends KubeObject>(
  { kind }: Pick<Resource<T>, 'kind'>,
  objects: readonly T[],
): { readonly kept: readonly T[]; readonly surplus: readonly T[] } {
  const most = mostOf(kind);
  if (objects.length <= most) return { kept: objects, surplus: [] };
  const sorted = objects.toSorted(byAge);
  const kept = new Set(sorted.slice(0, most));
  return { kept: objects.filter((object) => kept.has(object)), surplus: objects.filter((object) => !kept.has(object)) };
}

export function surplusProblem({ kind }: Pick<Resource, 'kind'>, object: Pick<KubeObject, 'metadata'>): ResourceProblem {
  const message = `the namespace has more than ${mostOf(kind)} resources of kind ${kind}, and this one is not among the oldest: delete some, or use another namespace.`;
  // Only kinds with a status have a limit.
  return { resource: keyOf({ ...object, kind: kind as KeyedKind }), severity: 'error', code: 'too-many', message };
}

function mostOf(kind: string): number {
  return MOST[kind] ?? MOST_OF_OTHERS;
}

/** The oldest first. */
export function byAge(one: KubeObject, other: KubeObject): number {
  return ageOf(one) < ageOf(other) ? -1 : 1;
}

/** Sort key by age, then by name for objects of the same second. */
function ageOf({ metadata: { creationTimestamp = '', name = '' } }: KubeObject): string {
  return `${creationTimestamp} ${name}`;
}

interface Read<T> {
  /** Contains exactly the fields of its definition. */
  readonly resource?: T;
  readonly problems: readonly ResourceProblem[];
}

/** Caches the validation of each version. */
const read = new WeakMap<KubeObject, Read<KubeObject>>();

/** Objects that are valid. */
export function listValid<T extends KubeObject>(of: Resource<T>, objects: readonly T[]): readonly T[] {
  return objects.flatMap((object) => readStored(of, object).resource ?? []);
}

/** Objects that are invalid, each with its problems. */
export function listInvalid(of: Resource<SiteObject>, objects: readonly SiteObject[]): readonly InvalidResource[] {
  return objects.flatMap((object) => {
    const { resource, problems } = readStored(of, object);
    return resource === undefined ? [{ object, problems }] : [];
  });
}

export interface InvalidResource {
  readonly object: SiteObject;
  readonly problems: readonly ResourceProblem[];
}

/** @param now RFC 3339 time, to the second */
export function invalidStatus({ object: { metadata, status }, problems: own }: InvalidResource, now: string): AnyStatus {
  const previous: readonly Condition[] = status?.conditions ?? [];
  return observePlanned(undefined, { own, wording: 'words', previous, generation: metadata.generation, now });
}

function readStored<T extends KubeObject>(of: Resource<T>, object: T): Read<T> {
  // The cached result of an object has the type of that object.
  return read.getOrInsertComputed(object, () => check(of, object)) as Read<T>;
}

function check<T extends KubeObject>(of: Resource<T>, object: T): Read<T> {
  const named = { ...object, apiVersion: apiVersionOf(of), kind: of.kind };
  const { resource, problems } = validateResource(named);
  if (resource !== undefined) {
    // Reuses the object if validation changed nothing, as it nearly always is. Then no copy is kept.
    const isSame = isDeepStrictEqual(named, { ...object, spec: resource.spec });
    return { resource: isSame ? object : { ...named, spec: resource.spec }, problems: [] };
  }
  // Its kind is one of Earshot's.
  const key = keyOf(named as unknown as SiteObject);
  const errors = problems.filter(({ severity }) => severity === 'error');
  return {
    problems: errors.map(({ path, message }) => ({
      resource: key,
      severity: 'error',
      code: 'invalid',
      ...(path === '' ? {} : { field: path }),
      message,
    })),
  };
}
