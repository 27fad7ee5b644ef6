/** Plans what lets other sites reach this one: RouterAccess, SecuredAccess, and the objects of each access type. */
import { listeners } from '../../api/listeners/index.ts';
import { annotation, label } from '../../api/skupper/cluster-names.ts';
import { skupperResources, type SecuredAccess } from '../../api/skupper/index.ts';
import type { KubeObject } from '../../kube/objects.ts';
import { services, type Resource } from '../../kube/resource.ts';
import { nameOf } from '../../site/resources.ts';
import type { NamespaceView } from '../namespace-view.ts';
import type { ObsoleteObject, DesiredObject, DesiredState } from '../desired-state.ts';
import { certificatesOf } from './certificates.ts';
import { earlyTlsRoutes, httpProxies, ingresses, isMade, routes, tlsRoutes } from './kinds.ts';
import { listCreatedAccess } from './created-access.ts';
import { isOfRouter } from './router-access.ts';

export function accessObjects(view: NamespaceView): DesiredState {
  const { asked, created, problems: ofRouters } = listCreatedAccess(view);
  const certificates = certificatesOf(created, view);
  const objects = [
    ...asked.map(({ item }) => item),
    ...created.flatMap((each) => each.objects),
    ...certificates.flatMap((each) => each.objects),
  ];
  const ofAccesses = [...created.flatMap(({ problems }) => problems), ...certificates.flatMap((each) => each.problems)];
  return { objects, obsolete: obsoleteIn(view, objects), problems: [...ofRouters, ...ofAccesses] };
}

const kinds: readonly Resource[] = [services, ingresses, routes, httpProxies, tlsRoutes, earlyTlsRoutes, listeners];

/** Objects that this or an earlier controller created for a resource that is gone or now needs other objects. */
function obsoleteIn(view: NamespaceView, objects: readonly DesiredObject[]): readonly ObsoleteObject[] {
  const desired = new Set(objects.map(({ of, object }) => idOf(of, object)));
  const isHeld = heldIn(view);
  const left = (of: Resource, isOurs: (object: KubeObject) => boolean): readonly ObsoleteObject[] =>
    view
      .list(of)
      .filter((object) => isOurs(object) && object.metadata.deletionTimestamp === undefined && !desired.has(idOf(of, object)))
      .filter((object) => !isHeld(object))
      .map((object) => ({ of, object }));
  // Two API versions of one kind list the same objects.
  const served = kinds.filter((of) => view.serves(of) && !(of === earlyTlsRoutes && view.serves(tlsRoutes)));
  return [
    ...served.flatMap((of) => left(of, isMade)),
    ...left(skupperResources.SecuredAccess as Resource, (object) => isOfRouter(object as SecuredAccess)),
    ...left(skupperResources.Certificate as Resource, isCertificateMade),
  ];
}

/** Whether an object was created for a RouterAccess or SecuredAccess that is unreadable now. */
function heldIn({ unreadable, list }: NamespaceView): (object: KubeObject) => boolean {
  const isOwnedBy = (uids: ReadonlySet<string | undefined>, { metadata }: KubeObject): boolean =>
    metadata.ownerReferences?.some(({ uid }) => uids.has(uid)) === true;
  const uids = new Set(unreadable.map(({ metadata }) => metadata.uid));
  const ofThose = list(skupperResources.SecuredAccess as Resource).filter((access) => uids.size > 0 && isOwnedBy(uids, access));
  const all = new Set([...uids, ...ofThose.map(({ metadata }) => metadata.uid)]);
  const names = new Set(unreadable.filter(({ kind }) => kind === 'SecuredAccess').map(nameOf));
  return (object) => isOwnedBy(all, object) || names.has(object.metadata.labels?.[label.securedAccess] ?? '');
}

/** Whether it is our Certificate and only SecuredAccesses own it. */
function isCertificateMade({ metadata: { annotations = {}, ownerReferences = [] } }: KubeObject): boolean {
  return (
    annotations[annotation.controlled] === 'true' &&
    ownerReferences.length > 0 &&
    ownerReferences.every(({ kind }) => kind === 'SecuredAccess')
  );
}

function idOf({ plural, group }: Resource, { metadata }: KubeObject): string {
  return `${plural}.${group}/${metadata.name}`;
}
