import { conditionReason } from '../errors/condition-reason.ts';
import type { EventRecorder } from '../kube/contract.ts';
import type { ResourceProblem } from '../site/problem.ts';
import { allOf, keyOf, type SiteResources } from '../site/resources.ts';
import { isOfRouters } from './observe.ts';

/** What the API server refuses, for resources whose statuses are their routers' to write: those know only that it is not there. */
export function tellRefusals(resources: SiteResources, refused: readonly ResourceProblem[], events: Pick<EventRecorder, 'record'>): void {
  if (refused.length === 0) return;
  const objects = new Map(allOf(resources).map((object) => [keyOf(object), object]));
  for (const { resource, code, message } of refused) {
    const object = objects.get(resource);
    if (object === undefined || !isOfRouters(object.kind)) continue;
    const { apiVersion, kind, metadata } = object;
    const { name = '', namespace = '', uid = '' } = metadata;
    const regarding = { apiVersion, kind, namespace, name, uid };
    events.record({ regarding, type: 'Warning', reason: conditionReason(code), action: 'Make', note: message });
  }
}
