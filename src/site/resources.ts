/** A site's resources, sorted by kind, each kind by name: so that the same set always gives the same plan. */
import type {
  AccessGrant,
  AccessToken,
  Certificate,
  Connector,
  Link,
  Listener,
  MultiKeyListener,
  RouterAccess,
  Site,
} from '../api/skupper/index.ts';

export type SiteObject = Site | Listener | MultiKeyListener | Connector | Link | RouterAccess | AccessGrant | AccessToken | Certificate;

export type Kind = SiteObject['kind'];

/** `Listener/backend`. */
export type ResourceKey = `${Kind}/${string}`;

export type OfKind<K extends Kind> = Extract<SiteObject, { readonly kind: K }>;

export type SiteResources = { readonly [K in Kind]: readonly OfKind<K>[] };

/** In the order in which people read them. */
export const kinds = [
  'Site',
  'Listener',
  'MultiKeyListener',
  'Connector',
  'Link',
  'RouterAccess',
  'AccessGrant',
  'AccessToken',
  'Certificate',
] as const satisfies readonly Kind[];

export function sortResources(objects: readonly SiteObject[]): SiteResources {
  const of = <K extends Kind>(kind: K): readonly OfKind<K>[] =>
    objects.filter((object): object is OfKind<K> => object.kind === kind).sort((one, other) => (nameOf(one) < nameOf(other) ? -1 : 1));
  return {
    Site: of('Site'),
    Listener: of('Listener'),
    MultiKeyListener: of('MultiKeyListener'),
    Connector: of('Connector'),
    Link: of('Link'),
    RouterAccess: of('RouterAccess'),
    AccessGrant: of('AccessGrant'),
    AccessToken: of('AccessToken'),
    Certificate: of('Certificate'),
  };
}

export function isSiteKind(kind: string): kind is Kind {
  return kinds.some((known) => known === kind);
}

export function keyOf(object: Pick<SiteObject, 'kind' | 'metadata'>): ResourceKey {
  return `${object.kind}/${nameOf(object)}`;
}

export function nameOf(object: Pick<SiteObject, 'metadata'>): string {
  return object.metadata.name ?? '';
}

export function allOf(resources: SiteResources): readonly SiteObject[] {
  return kinds.flatMap((kind): readonly SiteObject[] => resources[kind]);
}
