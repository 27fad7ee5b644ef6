import { conditionReason } from '../errors/condition-reason.ts';
import type { EventRecorder } from '../kube/contract.ts';
import type { ResourceProblem } from '../site/problem.ts';
import { isKind, keyOf } from '../site/resources.ts';
import { isOfRouters } from './observe.ts';
import type { WithStatus } from './statuses.ts';

/**
 * Records refusals of the API server as events, for resources whose statuses their routers write: routers only see that the object is
 * missing. Conflicts over an object are recorded for every kind, because the other writer may revert the status itself.
 */
export function reportRefusals(
  resources: readonly WithStatus[],
  problems: readonly ResourceProblem[],
  events: Pick<EventRecorder, 'record'>,
): void {
  if (problems.length === 0) return;
  const objects = new Map(resources.map((object) => [keyOf(object), object]));
  for (const { resource, code, message } of problems) {
    const object = objects.get(resource);
    if (object === undefined || (code !== 'object-contested' && !(isKind(object.kind) && isOfRouters(object.kind)))) continue;
    const { apiVersion, kind, metadata } = object;
    const { name = '', namespace = '', uid = '' } = metadata;
    const regarding = { apiVersion, kind, namespace, name, uid };
    events.record({ regarding, type: 'Warning', reason: conditionReason(code), action: 'Make', note: message });
  }
}
