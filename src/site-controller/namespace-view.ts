import type { Site } from '../api/skupper/index.ts';
import type { Revocations } from '../identity/issued.ts';
import type { KubeObject, OwnerReference } from '../kube/objects.ts';
import type { Resource } from '../kube/resource.ts';
import type { SelectablePod } from '../site/material.ts';
import type { SiteObject, SiteResources } from '../site/resources.ts';
import type { Anchor } from '../trust/anchor.ts';
import type { ControllerSettings } from './settings.ts';

/** One namespace as one pass sees it: what the watches have brought, and what this process wrote since. Rules get it, and nothing else. */
export interface NamespaceView {
  readonly namespace: string;
  /** Those that can be read. */
  readonly resources: SiteResources;
  /**
   * Stored, but invalid by today's definitions. Only kind and metadata count: nothing that was made for one of these is deleted, revoked or
   * moved, since only its absence from the API says that it was deleted.
   */
  readonly unreadable: readonly SiteObject[];
  /** The Site that the namespace is; undefined where it has none. */
  readonly site: Site | undefined;
  readonly settings: ControllerSettings;
  /** Who is let in no more; undefined while nobody can say: what routers were told before stands. */
  readonly revoked: Revocations | undefined;
  /** What the site is to remember of its state; undefined: what its routers' ConfigMap holds stands. */
  readonly anchor: Anchor | undefined;
  /** Of the kinds that are kept, by name. */
  list<T extends KubeObject>(of: Resource<T>): readonly T[];
  find<T extends KubeObject>(of: Resource<T>, name: string): T | undefined;
  /** Of another namespace; empty where this controller does not look there. */
  elsewhere<T extends KubeObject>(of: Resource<T>, namespace: string): readonly T[];
  /** Whether another namespace stores such an object that cannot be read. */
  isUnreadable(of: Resource, namespace: string, name: string): boolean;
  /** Of a namespace with an AttachedConnector for a site; undefined while they are not known. */
  podsOf(namespace: string): readonly SelectablePod[] | undefined;
  /** Whether the cluster serves that API, and it is watched. */
  serves(of: Resource): boolean;
}

/** By which what is made for a resource goes with it. */
export function ownerOf({ apiVersion = '', kind = '', metadata: { name = '', uid = '' } }: KubeObject): OwnerReference {
  return { apiVersion, kind, name, uid };
}
