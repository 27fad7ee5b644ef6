/** What a rule wants of the cluster: plain data, carried out by `carryOut`. */
import { isDeepStrictEqual } from 'node:util';
import type { KubeObject } from '../kube/objects.ts';
import type { Resource } from '../kube/resource.ts';
import type { ResourceProblem } from '../site/problem.ts';
import type { ResourceKey } from '../site/resources.ts';

export interface DesiredState {
  /** To be there, with these fields: what else is in the object is others'. */
  readonly objects: readonly DesiredObject[];
  /** Ours, and to go. */
  readonly unwanted: readonly ObsoleteObject[];
  readonly problems: readonly ResourceProblem[];
}

export interface DesiredObject<T extends KubeObject = KubeObject> {
  readonly of: Resource<T>;
  /** With name, labels, annotations and owner. Its namespace is the site's unless it names another. */
  readonly object: T;
  /** In whose status it is told where the object cannot be made. */
  readonly for: ResourceKey;
}

export interface ObsoleteObject {
  readonly of: Resource;
  /** As it was seen: another one of the same name stays. */
  readonly object: KubeObject;
}

export const emptyDesiredState: DesiredState = { objects: [], unwanted: [], problems: [] };

export function mergeDesiredStates(all: readonly DesiredState[]): DesiredState {
  return {
    objects: all.flatMap(({ objects }) => objects),
    unwanted: all.flatMap(({ unwanted }) => unwanted),
    problems: all.flatMap(({ problems }) => problems),
  };
}

/**
 * Where two want one object, each in its own way, the first has it, or they would write it in turn for ever.
 * @returns `rivals`: what the others are told
 */
export function resolveConflicts(wishes: DesiredState): DesiredState & { readonly rivals: readonly ResourceProblem[] } {
  const first = new Map<string, DesiredObject>();
  const rivals: ResourceProblem[] = [];
  const objects = wishes.objects.filter((wish) => {
    const { kind, metadata } = wish.object;
    const had = first.getOrInsert(`${wish.of.group} ${kind} ${metadata.namespace ?? ''}/${metadata.name}`, wish);
    if (had === wish) return true;
    // What is shared is asked for alike by all.
    if (isDeepStrictEqual(had.object, wish.object)) return false;
    const message = `${kind} ${metadata.name} is what ${had.for} has already; rename this one.`;
    rivals.push({ resource: wish.for, severity: 'error', code: 'name-taken', message });
    return false;
  });
  return { ...wishes, objects, rivals };
}
