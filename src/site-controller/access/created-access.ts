import type { SecuredAccess } from '../../api/skupper/index.ts';
import type { ResourceProblem } from '../../site/problem.ts';
import { nameOf } from '../../site/resources.ts';
import type { NamespaceView } from '../namespace-view.ts';
import type { AccessPlan } from './access-parts.ts';
import { askedByRouters, isOfRouter, type Asked } from './router-access.ts';
import { makeAccess } from './secured-access.ts';

export interface CreatedAccess {
  readonly asked: readonly Asked[];
  readonly created: readonly (AccessPlan & { readonly access: SecuredAccess })[];
  /** Problems of RouterAccesses. */
  readonly problems: readonly ResourceProblem[];
}

/** Plans each SecuredAccess of a namespace, except one that is being deleted or that no RouterAccess requests any longer. */
export function listCreatedAccess(view: NamespaceView): CreatedAccess {
  const { asked, problems } = askedByRouters(view);
  const desired = new Map(asked.map(({ item }) => [nameOf(item.object), item.object]));
  const unreadable = new Set(view.unreadable.map(({ metadata }) => metadata.uid));
  const isAskedByUnreadable = ({ metadata: { ownerReferences = [] } }: SecuredAccess): boolean =>
    ownerReferences.some(({ uid }) => unreadable.has(uid));
  const alive = view.resources.SecuredAccess.filter(
    (access) =>
      access.metadata.deletionTimestamp === undefined &&
      (!isOfRouter(access) || desired.has(nameOf(access)) || isAskedByUnreadable(access)),
  );
  const created = alive.map((found) => {
    // The spec that the RouterAccess requests now. The same reconcile updates the object.
    const access = { ...found, spec: desired.get(nameOf(found))?.spec ?? found.spec };
    return { access, ...makeAccess(access, view) };
  });
  return { asked, created, problems };
}
