/** What a rule wants of the cluster: plain data, carried out by `carryOut`. */
import type { KubeObject } from '../kube/objects.ts';
import type { Resource } from '../kube/resource.ts';
import type { ResourceProblem } from '../site/problem.ts';
import type { ResourceKey } from '../site/resources.ts';

export interface Wishes {
  /** To be there, with these fields: what else is in the object is others'. */
  readonly objects: readonly Wish[];
  /** Ours, and to go. */
  readonly unwanted: readonly Unwanted[];
  readonly problems: readonly ResourceProblem[];
}

export interface Wish<T extends KubeObject = KubeObject> {
  readonly of: Resource<T>;
  /** With name, labels, annotations and owner. Its namespace is the site's unless it names another. */
  readonly object: T;
  /** In whose status it is told where the object cannot be made. */
  readonly for: ResourceKey;
}

export interface Unwanted {
  readonly of: Resource;
  /** As it was seen: another one of the same name stays. */
  readonly object: KubeObject;
}

export const noWishes: Wishes = { objects: [], unwanted: [], problems: [] };

export function joined(all: readonly Wishes[]): Wishes {
  return {
    objects: all.flatMap(({ objects }) => objects),
    unwanted: all.flatMap(({ unwanted }) => unwanted),
    problems: all.flatMap(({ problems }) => problems),
  };
}
