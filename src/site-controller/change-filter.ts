/** Which change brings a pass over the namespace that it is in: pure. */
import { isDeepStrictEqual } from 'node:util';
import { GROUP } from '../api/skupper/names.ts';
import type { Change } from '../kube/contract.ts';
import type { KubeObject } from '../kube/objects.ts';
import type { Resource } from '../kube/resource.ts';
import type { Kind } from '../site/resources.ts';
import { isOfRouters } from './observe.ts';

/** What a site's routers say in their statuses is nothing that a rule goes by. Without a Site the controller writes those, and mends them. */
export function isRelevantChange({ group, kind }: Resource, { object, previous }: Change<KubeObject>, hasSite: () => boolean): boolean {
  // Kinds of the group are those that there are resources of.
  if (previous === undefined || group !== GROUP || !isOfRouters(kind as Kind)) return true;
  return !isDeepStrictEqual(withoutStatus(previous), withoutStatus(object)) || !hasSite();
}

function withoutStatus({ metadata, ...object }: KubeObject): unknown {
  return { ...object, status: undefined, metadata: { ...metadata, resourceVersion: undefined } };
}
