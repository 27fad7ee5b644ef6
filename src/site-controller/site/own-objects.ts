/** Which objects are a controller's, this one's or an earlier one's, and which a person's: those are never taken over. */
import { annotation, ROUTER } from '../../api/skupper/cluster-names.ts';
import { GROUP } from '../../api/skupper/names.ts';
import type { KubeObject } from '../../kube/objects.ts';
import type { Resource } from '../../kube/resource.ts';
import type { ResourceKey } from '../../site/resources.ts';
import type { NamespaceView } from '../namespace-view.ts';
import { emptyDesiredState, type DesiredState } from '../desired-state.ts';
import { foreignController } from '../../site/foreign-controller.ts';

/** Labels and annotations can be written by anyone: they count only where no other controller owns the object. */
export function isOurs(object: KubeObject): boolean {
  const { annotations = {}, ownerReferences = [] } = object.metadata;
  if (foreignController(object.metadata) !== undefined) return false;
  if (annotations[annotation.applied] !== undefined || annotations[annotation.controlled] === 'true') return true;
  return ownerReferences.some(
    ({ apiVersion, kind, name }) => apiVersion.startsWith(`${GROUP}/`) || (kind === 'Deployment' && name.startsWith(ROUTER)),
  );
}

/** The object, or why it cannot be had. */
export function own<T extends KubeObject>(
  view: Pick<NamespaceView, 'find'>,
  of: Resource<T>,
  object: T,
  resource: ResourceKey,
): DesiredState {
  const { name = '' } = object.metadata;
  const there = view.find(of, name);
  if (there !== undefined && !isOurs(there)) {
    const message = `${of.kind} ${name} exists, and somebody else has made it; rename that one, since the site needs the name.`;
    return { ...emptyDesiredState, problems: [{ resource, severity: 'error', code: 'name-taken', message }] };
  }
  return { ...emptyDesiredState, objects: [{ of, object, for: resource }] };
}

/** To go, where it is there and ours. */
export function gone(view: Pick<NamespaceView, 'find'>, of: Resource, name: string): DesiredState {
  const there = view.find(of, name);
  return there === undefined || !isOurs(there) ? emptyDesiredState : { ...emptyDesiredState, unwanted: [{ of, object: there }] };
}
