/** Resources of a site, grouped by kind and sorted by name, so that the same set always gives the same plan. */
import { skupperKinds, skupperResources, type SkupperKind, type SkupperResource } from '../api/skupper/index.ts';

export type SiteObject = SkupperResource;

export type Kind = SkupperKind;

/** Kinds with a status: also the one whose objects are consoles of a cluster. */
export type KeyedKind = Kind | 'NetworkObserver';

/** Such as `Listener/backend`. */
export type ResourceKey = `${KeyedKind}/${string}`;

export type OfKind<K extends Kind> = Extract<SiteObject, { readonly kind: K }>;

export type StatusOf<K extends Kind> = NonNullable<OfKind<K>['status']>;

export type SiteResources = { readonly [K in Kind]: readonly OfKind<K>[] };

export function sortResources(objects: readonly SiteObject[]): SiteResources {
  const sorted = objects.map(withSpec).toSorted((one, other) => (nameOf(one) < nameOf(other) ? -1 : 1));
  const byKind = Map.groupBy(sorted, ({ kind }) => kind);
  // Each kind has the objects that were grouped under it.
  return Object.fromEntries(skupperKinds.map((kind) => [kind, byKind.get(kind) ?? []])) as unknown as SiteResources;
}

/** A cluster stores objects without a spec if all fields of their spec are optional. */
function withSpec(object: SiteObject): SiteObject {
  // No field is required, or the API server would have refused the object.
  return (object.spec as unknown) === undefined ? ({ ...object, spec: {} } as SiteObject) : object;
}

export function isKind(text: string): text is Kind {
  return Object.hasOwn(skupperResources, text);
}

export function keyOf(object: Pick<SiteObject, 'metadata'> & { readonly kind: KeyedKind }): ResourceKey {
  return `${object.kind}/${nameOf(object)}`;
}

export function nameOf(object: Pick<SiteObject, 'metadata'>): string {
  return object.metadata.name ?? '';
}

export function allOf(resources: SiteResources): readonly SiteObject[] {
  return skupperKinds.flatMap((kind): readonly SiteObject[] => resources[kind]);
}

/** Indexes of immutable lists by name: rules look up one object for each element of another list. */
const indexes = new WeakMap<readonly object[], ReadonlyMap<string, unknown>>();

/** First object of a list with that name. */
export function findNamed<T extends Pick<SiteObject, 'metadata'>>(objects: readonly T[], name: string): T | undefined {
  const index = indexes.getOrInsertComputed(objects, () => new Map(objects.toReversed().map((object) => [nameOf(object), object])));
  // The index has the objects of the same list.
  return index.get(name) as T | undefined;
}
