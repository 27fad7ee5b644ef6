import type { KubeObject } from '../objects.ts';
import { resource } from '../resource.ts';

/** coordination.k8s.io/v1 Lease, as leader election uses it. */
export interface Lease extends KubeObject {
  readonly spec?: LeaseSpec;
}

export interface LeaseSpec {
  readonly holderIdentity?: string | null;
  readonly leaseDurationSeconds?: number;
  /** RFC 3339 with microseconds, for people: nothing is decided by it, since clocks of replicas differ. */
  readonly acquireTime?: string;
  readonly renewTime?: string;
  readonly leaseTransitions?: number;
}

export const leases = resource<Lease>('coordination.k8s.io/v1', 'Lease', 'leases');

/** A state of the lease, and when (on our own monotonic clock, in milliseconds) it was first seen. */
export interface Observation {
  readonly state: string;
  readonly at: number;
}

/**
 * Only a lease that stands still for its whole duration has expired. States are told apart by the resourceVersion,
 * which each write changes, and not by renewTime, which a holder's clock that steps back may repeat.
 */
export function observe(before: Observation | undefined, lease: Lease, now: number): Observation {
  const state = `${lease.metadata.uid} ${lease.metadata.resourceVersion}`;
  return before?.state === state ? before : { state, at: now };
}

export function holderOf(lease: Lease): string | undefined {
  const holder = lease.spec?.holderIdentity;
  return holder === undefined || holder === null || holder === '' ? undefined : holder;
}

/** Whether `identity` may take the lease: it is free, its own already, or has expired. */
export function mayTake(lease: Lease, identity: string, observation: Observation, now: number, ownDuration: number): boolean {
  const holder = holderOf(lease);
  if (holder === undefined || holder === identity) return true;
  const seconds = lease.spec?.leaseDurationSeconds;
  const duration = seconds !== undefined && seconds > 0 ? seconds * 1_000 : ownDuration;
  return now >= observation.at + duration;
}

/** The spec with which `identity` takes or renews a lease; `before` is undefined where there is none yet. */
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

/** The merge patch's spec with which the holder gives a lease back, so that the next one need not wait. */
export function releasedSpec(wall: Date): LeaseSpec {
  const now = microTime(wall);
  return { holderIdentity: null, leaseDurationSeconds: 1, acquireTime: now, renewTime: now };
}

/** metav1.MicroTime. */
export function microTime(wall: Date): string {
  return wall.toISOString().replace('Z', '000Z');
}
