/** Desired state of a rule: plain data, which `applyDesired` applies. */
import { isDeepStrictEqual } from 'node:util';
import type { KubeObject } from '../kube/objects.ts';
import type { Resource } from '../kube/resource.ts';
import type { ResourceProblem } from '../site/problem.ts';
import type { ResourceKey } from '../site/resources.ts';

export interface DesiredState {
  /** Objects to ensure with these fields; all other fields belong to others. */
  readonly objects: readonly DesiredObject[];
  /** Objects of ours to delete. */
  readonly obsolete: readonly ObsoleteObject[];
  readonly problems: readonly ResourceProblem[];
}

export interface DesiredObject<T extends KubeObject = KubeObject> {
  readonly of: Resource<T>;
  /** With name, labels, annotations and owner. Its namespace defaults to the site's. */
  readonly object: T;
  /** Resource whose status reports that the object cannot be created. */
  readonly for: ResourceKey;
}

export interface ObsoleteObject {
  readonly of: Resource;
  /** The object as it was seen; a new object of the same name stays. */
  readonly object: KubeObject;
}

export const emptyDesiredState: DesiredState = { objects: [], obsolete: [], problems: [] };

export function mergeDesiredStates(all: readonly DesiredState[]): DesiredState {
  return {
    objects: all.flatMap(({ objects }) => objects),
    obsolete: all.flatMap(({ obsolete }) => obsolete),
    problems: all.flatMap(({ problems }) => problems),
  };
}

/**
 * If two rules want different versions of one object, the first wins. Otherwise they would overwrite each other forever.
 * @returns `rivals`: problems of the resources that lost
 */
export function resolveConflicts(desired: DesiredState): DesiredState & { readonly conflicts: readonly ResourceProblem[] } {
  const first = new Map<string, DesiredObject>();
  const conflicts: ResourceProblem[] = [];
  const objects = desired.objects.filter((item) => {
    const { kind, metadata } = item.object;
    const had = first.getOrInsert(`${item.of.group} ${kind} ${metadata.namespace ?? ''}/${metadata.name}`, item);
    if (had === item) return true;
    // Identical requests for a shared object do not conflict.
    if (isDeepStrictEqual(had.object, item.object)) return false;
    const message = `${kind} ${metadata.name} is already used by ${had.for}; rename this resource.`;
    conflicts.push({ resource: item.for, severity: 'error', code: 'name-taken', message });
    return false;
  });
  return { ...desired, objects, conflicts };
}
