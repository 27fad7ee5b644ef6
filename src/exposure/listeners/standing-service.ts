/** Decides whether a Service of a Listener's name can be the Listener's; if not, why, and what helps. Pure. */
import { listeners, type Listener } from '../../api/listeners/index.ts';
import type { ConditionReason } from '../../errors/condition-reason.ts';
import type { OwnerReference, Service } from '../../kube/objects.ts';
import { apiVersionOf } from '../../kube/resource.ts';
import { isOwnedBy } from './service-plan.ts';

export interface Obstacle {
  readonly reason: ConditionReason;
  readonly message: string;
}

/** @returns undefined if the Service belongs to the Listener and is not being deleted */
export function obstacleOf(service: Service, listener: Listener): Obstacle | undefined {
  const { name, namespace, deletionTimestamp, ownerReferences = [] } = service.metadata;
  const which = `Service ${namespace}/${name}`;
  if (isOwnedBy(service, listener)) {
    if (deletionTimestamp === undefined) return undefined;
    return replaced(`${which} is being deleted and is created again after that. ${waitsFor(service)}`);
  }
  const owner = ownerReferences.find(({ controller }) => controller === true);
  if (owner === undefined || !isEarlierListener(owner, service)) {
    return foreign(`${which} exists and ${owner === undefined ? 'was not created for this Listener' : `belongs to ${named(owner)}`}`);
  }
  const earlier = `${which} belongs to an earlier Listener of this name`;
  if (deletionTimestamp !== undefined) return replaced(`${earlier} and is being deleted. ${waitsFor(service)}`);
  // With another owner, the garbage collector only removes the reference to the deleted owner.
  const other = ownerReferences.find((each) => each !== owner);
  if (other !== undefined) return foreign(`${earlier} and to ${named(other)}, so Kubernetes keeps it`);
  return replaced(`${earlier}. Kubernetes' garbage collector is about to delete it.`);
}

function isEarlierListener({ kind, apiVersion, name }: OwnerReference, service: Service): boolean {
  return kind === listeners.kind && apiVersion === apiVersionOf(listeners) && name === service.metadata.name;
}

function named({ kind, name }: OwnerReference): string {
  return `${kind} ${name}`;
}

function replaced(message: string): Obstacle {
  return { reason: 'ServiceBeingReplaced', message };
}

function foreign(what: string): Obstacle {
  return { reason: 'ServiceNotOwned', message: `${what}, so it is not changed. Rename the Listener, or delete that Service.` };
}

function waitsFor({ metadata: { finalizers = [] } }: Service): string {
  if (finalizers.length === 0) return 'This takes a moment.';
  const which = finalizers.length === 1 ? `the finalizer ${finalizers[0]}` : `the finalizers ${finalizers.join(', ')}`;
  const remedy = 'If that program no longer runs, remove the finalizer from the Service.';
  return `It waits for ${which}, which the program that added it removes after its cleanup. ${remedy}`;
}
