import type { Site } from '../api/skupper/index.ts';
import type { Revocations } from '../identity/issued.ts';
import type { KubeObject, OwnerReference } from '../kube/objects.ts';
import type { Resource } from '../kube/resource.ts';
import type { SelectablePod } from '../site/material.ts';
import type { SiteObject, SiteResources } from '../site/resources.ts';
import type { Anchor } from '../trust/anchor.ts';
import type { ControllerSettings } from './settings.ts';

/** State of one namespace during one reconcile: objects from the watches and this process's own writes. The only input of rules. */
export interface NamespaceView {
  readonly namespace: string;
  /** Resources that are readable. */
  readonly resources: SiteResources;
  /**
   * Resources that are stored but invalid by the current definitions. Only their kind and metadata count. Nothing that was created for them
   * is deleted, revoked or moved: only absence from the API means that a resource was deleted.
   */
  readonly unreadable: readonly SiteObject[];
  /** Active Site of the namespace, if any. */
  readonly site: Site | undefined;
  readonly settings: ControllerSettings;
  /** Sites and certificates that are revoked; undefined while unknown. Then the routers keep what they have. */
  readonly revoked: Revocations | undefined;
  /** Anchor of the site's state (ADR 24); undefined keeps the one in the routers' ConfigMap. */
  readonly anchor: Anchor | undefined;
  /** Objects of a cached kind, sorted by name. */
  list<T extends KubeObject>(of: Resource<T>): readonly T[];
  find<T extends KubeObject>(of: Resource<T>, name: string): T | undefined;
  /** Objects of another namespace; empty if this controller does not watch it. */
  elsewhere<T extends KubeObject>(of: Resource<T>, namespace: string): readonly T[];
  /** Whether another namespace stores an object of that name that is unreadable. */
  isUnreadable(of: Resource, namespace: string, name: string): boolean;
  /** Pods of a namespace with an AttachedConnector for a site; undefined while they are unknown. */
  podsOf(namespace: string): readonly SelectablePod[] | undefined;
  /** Whether the cluster serves the kind and this controller watches it. */
  serves(of: Resource): boolean;
}

/** Owner reference: the object that bears it is deleted together with the resource. */
export function ownerOf({ apiVersion = '', kind = '', metadata: { name = '', uid = '' } }: KubeObject): OwnerReference {
  return { apiVersion, kind, name, uid };
}
