import type { KubeObject, OwnerReference } from '../objects.ts';
import { resource } from '../resource.ts';

/** coordination.k8s.io/v1 Lease for leader election. */
export interface Lease extends KubeObject {
  readonly spec?: LeaseSpec;
}

export interface LeaseSpec {
  readonly holderIdentity?: string | null;
  readonly leaseDurationSeconds?: number;
  /** RFC 3339 with microseconds, informational only: no decision depends on it, because clocks of replicas differ. */
  readonly acquireTime?: string;
  readonly renewTime?: string;
  readonly leaseTransitions?: number;
}

export const leases = resource<Lease>('coordination.k8s.io/v1', 'Lease', 'leases');

/** A state of the lease, and when it was first seen (own monotonic clock, in milliseconds). */
export interface Observation {
  readonly state: string;
  readonly at: number;
}

/**
 * A lease expires only if it does not change for its whole duration. States are compared by resourceVersion, which every write
 * changes. renewTime could repeat if the holder's clock steps back.
 */
export function observe(before: Observation | undefined, lease: Lease, now: number): Observation {
  const state = `${lease.metadata.uid} ${lease.metadata.resourceVersion}`;
  return before?.state === state ? before : { state, at: now };
}

export function holderOf(lease: Lease): string | undefined {
  const holder = lease.spec?.holderIdentity;
  return holder === undefined || holder === null || holder === '' ? undefined : holder;
}

/** Whether `identity` may take the lease: it is free, already its own, or expired. */
export function mayTake(lease: Lease, identity: string, observation: Observation, now: number, ownDuration: number): boolean {
  const holder = holderOf(lease);
  if (holder === undefined || holder === identity) return true;
  const seconds = lease.spec?.leaseDurationSeconds;
  const duration = seconds !== undefined && seconds > 0 ? seconds * 1_000 : ownDuration;
  return now >= observation.at + duration;
}

/** Whether the lease belongs to another owner of this kind, so that its holder works for that one. */
export function isOfAnotherOwner({ metadata: { ownerReferences = [] } }: Lease, owner: OwnerReference): boolean {
  const alike = ownerReferences.filter(({ kind }) => kind === owner.kind);
  return alike.length > 0 && !alike.some(({ uid }) => uid === owner.uid);
}

/** The spec with which `identity` takes or renews a lease; `before` is undefined if the Lease does not exist. */
export function heldSpec(before: Lease | undefined, identity: string, duration: number, wall: Date): LeaseSpec {
  const now = microTime(wall);
  const continued = before !== undefined && holderOf(before) === identity;
  const transitions = before?.spec?.leaseTransitions ?? 0;
  return {
    holderIdentity: identity,
    leaseDurationSeconds: Math.max(1, Math.round(duration / 1_000)),
    acquireTime: continued ? (before.spec?.acquireTime ?? now) : now,
    renewTime: now,
    leaseTransitions: before === undefined || continued ? transitions : transitions + 1,
  };
}

/** The merge patch's spec with which the holder releases a lease, so that the next candidate need not wait. */
export function releasedSpec(wall: Date): LeaseSpec {
  const now = microTime(wall);
  return { holderIdentity: null, leaseDurationSeconds: 1, acquireTime: now, renewTime: now };
}

/** metav1.MicroTime. */
export function microTime(wall: Date): string {
  return wall.toISOString().replace('Z', '000Z');
}
