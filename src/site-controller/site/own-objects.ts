/** Distinguishes objects of this or an earlier controller from those of users, which are never adopted. */
import { annotation, ROUTER } from '../../api/skupper/cluster-names.ts';
import { GROUP } from '../../api/skupper/names.ts';
import type { KubeObject } from '../../kube/objects.ts';
import type { Resource } from '../../kube/resource.ts';
import type { ResourceKey } from '../../site/resources.ts';
import type { NamespaceView } from '../namespace-view.ts';
import { emptyDesiredState, type DesiredState } from '../desired-state.ts';
import { foreignController } from '../../site/foreign-controller.ts';

/** Anyone can write labels and annotations. They count only if no other controller owns the object. */
export function isOurs(object: KubeObject): boolean {
  const { annotations = {}, ownerReferences = [] } = object.metadata;
  if (foreignController(object.metadata) !== undefined) return false;
  if (annotations[annotation.applied] !== undefined || annotations[annotation.controlled] === 'true') return true;
  return ownerReferences.some(
    ({ apiVersion, kind, name }) => apiVersion.startsWith(`${GROUP}/`) || (kind === 'Deployment' && name.startsWith(ROUTER)),
  );
}

/**
 * Desired state with the object, or with the problem that a foreign object has its name.
 * @param isMine whether an existing object is not foreign
 */
export function own<T extends KubeObject>(
  view: Pick<NamespaceView, 'find'>,
  of: Resource<T>,
  object: T,
  resource: ResourceKey,
  isMine = isOurs,
): DesiredState {
  const { name = '' } = object.metadata;
  const there = view.find(of, name);
  if (there !== undefined && !isMine(there)) {
    const message = `${of.kind} ${name} already exists, and another owner created it; rename it, because the site needs the name.`;
    return { ...emptyDesiredState, problems: [{ resource, severity: 'error', code: 'name-taken', message }] };
  }
  return { ...emptyDesiredState, objects: [{ of, object, for: resource }] };
}

/** Deletes the object if it exists and is ours. */
export function gone(view: Pick<NamespaceView, 'find'>, of: Resource, name: string): DesiredState {
  const there = view.find(of, name);
  return there === undefined || !isOurs(there) ? emptyDesiredState : { ...emptyDesiredState, obsolete: [{ of, object: there }] };
}
