/**
 * What the API server keeps of Earshot's kinds. It has checked each object by the definition of its kind as that was at the time: what is no
 * good by today's is left out of everything, and told in its own status.
 */
import { isDeepStrictEqual } from 'node:util';
import type { Condition } from '../api/condition.ts';
import { validateResource } from '../api/skupper/validate.ts';
import type { KubeObject } from '../kube/objects.ts';
import { apiVersionOf, type Resource } from '../kube/resource.ts';
import { observePlanned, type AnyStatus } from '../site/observe/observe.ts';
import type { ResourceProblem } from '../site/problem.ts';
import { keyOf, type SiteObject } from '../site/resources.ts';
import { limitTable } from '../limits/table.ts';

/**
 * Resources of a kind that one namespace may have: all rules of all namespaces share one process. The oldest count, so that a new one takes
 * nothing away from them.
 */
const MOST: Readonly<Record<string, number>> = {
  Site: limitTable.sites.value,
  RouterAccess: limitTable.routerAccesses.value,
  SecuredAccess: limitTable.securedAccesses.value,
  Certificate: limitTable.certificates.value,
  Listener: limitTable.listeners.value,
  Connector: limitTable.connectors.value,
};
const MOST_OF_OTHERS = limitTable.otherResources.value;

/** Those of one namespace that count, by name, and those that are too many. */
export function bounded<T extends KubeObject>(
  { kind }: Pick<Resource<T>, 'kind'>,
  objects: readonly T[],
): { readonly kept: readonly T[]; readonly surplus: readonly T[] } {
  const most = mostOf(kind);
  if (objects.length <= most) return { kept: objects, surplus: [] };
  const byAge = objects.toSorted((one, other) => (ageOf(one) < ageOf(other) ? -1 : 1));
  const kept = new Set(byAge.slice(0, most));
  return { kept: objects.filter((object) => kept.has(object)), surplus: objects.filter((object) => !kept.has(object)) };
}

export function surplusProblem({ kind }: Pick<Resource, 'kind'>, object: SiteObject): ResourceProblem {
  const message = `the namespace has more than ${mostOf(kind)} resources of kind ${kind}, and this is not among the oldest: delete some, or use another namespace.`;
  return { resource: keyOf({ ...object, kind: kind as SiteObject['kind'] }), severity: 'error', code: 'too-many', message };
}

function mostOf(kind: string): number {
  return MOST[kind] ?? MOST_OF_OTHERS;
}

/** Of one second, by name. */
function ageOf({ metadata: { creationTimestamp = '', name = '' } }: KubeObject): string {
  return `${creationTimestamp} ${name}`;
}

interface Read<T> {
  /** With the fields of its definition, and no others. */
  readonly resource?: T;
  readonly problems: readonly ResourceProblem[];
}

/** Each is checked once while it stays as it is. */
const read = new WeakMap<KubeObject, Read<KubeObject>>();

/** Those that can be read. */
export function listValid<T extends KubeObject>(of: Resource<T>, objects: readonly T[]): readonly T[] {
  return objects.flatMap((object) => readStored(of, object).resource ?? []);
}

/** Those that cannot, each with what is to be said of it. */
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

/** @param now RFC 3339, seconds */
export function invalidStatus({ object: { metadata, status }, problems: own }: InvalidResource, now: string): AnyStatus {
  const previous: readonly Condition[] = status?.conditions ?? [];
  return observePlanned(undefined, { own, wording: 'words', previous, generation: metadata.generation, now });
}

function readStored<T extends KubeObject>(of: Resource<T>, object: T): Read<T> {
  // What was read of an object is of its type.
  return read.getOrInsertComputed(object, () => check(of, object)) as Read<T>;
}

function check<T extends KubeObject>(of: Resource<T>, object: T): Read<T> {
  const named = { ...object, apiVersion: apiVersionOf(of), kind: of.kind };
  const { resource, problems } = validateResource(named);
  if (resource !== undefined) {
    // Nearly always as it stands: then nothing is kept twice.
    const isSame = isDeepStrictEqual(named, { ...object, spec: resource.spec });
    return { resource: isSame ? object : { ...named, spec: resource.spec }, problems: [] };
  }
  // Its kind is that of a resource of Earshot's.
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
