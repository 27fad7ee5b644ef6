/** Decides which changes trigger a reconcile of their namespace (pure). */
import { isDeepStrictEqual } from 'node:util';
import { GROUP } from '../api/skupper/names.ts';
import type { Change } from '../kube/contract.ts';
import type { KubeObject } from '../kube/objects.ts';
import type { Resource } from '../kube/resource.ts';
import type { Kind } from '../site/resources.ts';
import { isOfRouters } from './observe.ts';

/** No rule reads what a site's routers write into statuses. Without a Site the controller writes these statuses, and repairs them. */
export function isRelevantChange({ group, kind }: Resource, { object, previous }: Change<KubeObject>, hasSite: () => boolean): boolean {
  // Every kind of the group is a resource kind.
  if (previous === undefined || group !== GROUP || !isOfRouters(kind as Kind)) return true;
  return !isDeepStrictEqual(withoutStatus(previous), withoutStatus(object)) || !hasSite();
}

function withoutStatus({ metadata, ...object }: KubeObject): unknown {
  return { ...object, status: undefined, metadata: { ...metadata, resourceVersion: undefined } };
}
