import { performance } from 'node:perf_hooks';

import { pause } from '../../work/pause.ts';
import type { KubeClient } from '../contract.ts';
import type { OwnerReference } from '../objects.ts';
import { isClosed, isConflict, isNotFound, LeaseLostError } from '../errors.ts';
import { heldSpec, holderOf, isOfAnotherOwner, leases, mayTake, observe, releasedSpec } from './lease-record.ts';
import type { Lease, LeaseSpec, Observation } from './lease-record.ts';
import { LeaseHold } from './lease-hold.ts';
import type { Held } from './lease-hold.ts';

export interface LeaseOptions {
  readonly client: Pick<KubeClient, 'find' | 'create' | 'patch'>;
  readonly namespace: string;
  readonly name: string;
  /** Unique identity of each candidate: the pod's name. */
  readonly identity: string;
  /**
   * Owner with which the Lease is garbage-collected; called for every read and write. A Lease of another owner of its kind is taken at
   * once: candidates of a former owner must not have one.
   */
  readonly owner?: () => OwnerReference | undefined;
  /** Stops waiting; while leading, stops the work and then releases the lease. */
  readonly signal: AbortSignal;
  readonly timing?: LeaseTiming;
  /** Called when another holder is seen, and when this candidate takes, releases or loses the lease. */
  readonly onChange?: (event: 'following' | 'leading' | 'released' | 'lost', holder: string) => void;
  /** Called for failed reads and writes of the lease, which are retried. */
  readonly onProblem?: (error: unknown) => void;
  /** Clock in milliseconds, monotonic. */
  readonly clock?: () => number;
}

/** Times in milliseconds. */
export interface LeaseTiming {
  /** How long a lease must be unchanged before another candidate takes it. */
  readonly duration: number;
  /** How long the leader continues without a renewal. Less than `duration`, so that its last writes can end in between. */
  readonly renewDeadline: number;
  /** Interval between successful renewals. */
  readonly renewEvery: number;
  /** Interval between attempts to take the lease, and after a failed renewal. */
  readonly retryEvery: number;
}

/** A crashed leader is replaced after 10 to 15.4 seconds, a stopped one after 1.2 at most. */
const TIMING: LeaseTiming = { duration: 13_000, renewDeadline: 10_000, renewEvery: 3_000, retryEvery: 1_000 };

/** Work that runs while the lease is held. */
export type LeaderWork = (leading: AbortSignal, stillLeading: () => boolean) => Promise<void>;

/**
 * Waits for the lease, runs `work` while holding it, and releases it when `work` has ended.
 *
 * `leading` is aborted when `options.signal` is aborted or the lease is lost, always before another candidate can take it. Time
 * counts from when the last successful renewal was *sent*, on a monotonic clock, so clocks of candidates need not agree. A frozen
 * process notices the loss only when its timers run again: `stillLeading` checks the clock before a write (FencedClient). The
 * lease is held until stopped work has ended.
 *
 * Resolves when `work` has ended, or if `options.signal` is aborted before the lease is acquired. Rejects with the error of
 * `work`, a LeaseLostError, or because the client was closed while waiting. Running work is always awaited, so a caller that must
 * not wait exits on `leading`.
 */
export async function whileLeading(options: LeaseOptions, work: LeaderWork): Promise<void> {
  const candidate = new Candidate(options);
  const held = await candidate.acquire();
  if (held === undefined) return;
  // Stopped at the moment of acquiring it.
  if (options.signal.aborted) await candidate.release(held.lease);
  else await candidate.lead(held, work);
}

class Candidate {
  readonly #options: LeaseOptions;
  readonly #timing: LeaseTiming;
  readonly #clock: () => number;

  constructor(options: LeaseOptions) {
    this.#options = options;
    this.#timing = options.timing ?? TIMING;
    this.#clock = options.clock ?? ((): number => performance.now());
  }

  /** Undefined if the signal was aborted first. */
  async acquire(): Promise<Held | undefined> {
    const { signal } = this.#options;
    let observation: Observation | undefined;
    let following: string | undefined;
    while (!signal.aborted) {
      try {
        const lease = await this.#read();
        if (lease !== undefined) observation = observe(observation, lease, this.#clock());
        if (lease === undefined || observation === undefined || this.#mayTake(lease, observation)) {
          const since = this.#clock();
          return { lease: await this.#take(lease), since };
        }
        const holder = holderOf(lease) ?? '';
        if (holder !== following) this.#options.onChange?.('following', holder);
        following = holder;
      } catch (error) {
        if (isClosed(error)) throw error;
        // Another candidate was faster; its write is read next time. Other errors are reported.
        if (!isConflict(error) && !signal.aborted) this.#options.onProblem?.(error);
      }
      // Jitter, so that candidates do not synchronize.
      await pause(this.#timing.retryEvery * (0.8 + 0.4 * Math.random()), signal).catch(() => undefined);
    }
    return undefined;
  }

  async lead(held: Held, work: LeaderWork): Promise<void> {
    const { signal, identity, onChange } = this.#options;
    const leading = new AbortController();
    const tenure = new LeaseHold(held, this.#timing.renewDeadline, this.#clock, (cause) => {
      if (!signal.aborted) onChange?.('lost', identity);
      leading.abort(new LeaseLostError(`${identity} lost the lease ${this.#options.namespace}/${this.#options.name}.`, cause));
    });
    const onStop = (): void => leading.abort(signal.reason);
    signal.addEventListener('abort', onStop, { once: true });
    onChange?.('leading', identity);
    const done = new AbortController();
    const renewing = this.#renew(tenure, done.signal);
    try {
      await work(leading.signal, () => tenure.stands());
    } catch (error) {
      // Stopped work often rejects with an AbortError. The signal's reason is more specific.
      if (!leading.signal.aborted) throw error;
    } finally {
      signal.removeEventListener('abort', onStop);
      done.abort();
      await renewing;
      const stood = tenure.stands();
      tenure.end();
      if (stood) await this.release(tenure.held.lease);
    }
    if (leading.signal.reason instanceof LeaseLostError && !signal.aborted) throw leading.signal.reason;
  }

  /** Releases the lease, so that the next candidate need not wait until it expires. */
  async release(lease: Lease): Promise<void> {
    const { identity, onChange, onProblem } = this.#options;
    try {
      await this.#patch(lease, releasedSpec(new Date())).catch(async (error: unknown) => {
        // Changed meanwhile, by another writer's label or by a renewal whose response was lost.
        const now = isConflict(error) ? await this.#read() : undefined;
        if (now === undefined || holderOf(now) !== identity) throw error;
        await this.#patch(now, releasedSpec(new Date()));
      });
      onChange?.('released', identity);
    } catch (error) {
      onProblem?.(error);
    }
  }

  /** Renews until `done` is aborted or the hold is over. */
  async #renew(tenure: LeaseHold, done: AbortSignal): Promise<void> {
    let wait = this.#timing.renewEvery;
    while (!done.aborted && tenure.stands()) {
      await pause(wait, done).catch(() => undefined);
      if (done.aborted || !tenure.stands()) return;
      const since = this.#clock();
      try {
        tenure.renewed({ lease: await this.#take(tenure.held.lease), since });
        wait = this.#timing.renewEvery;
      } catch (error) {
        this.#options.onProblem?.(error);
        // The lease is still ours and its current state is known, so the wait is short.
        wait = (await this.#scan(tenure, error)) ? this.#timing.retryEvery / 4 : this.#timing.retryEvery;
      }
    }
  }

  /** Checks the holder after a failed renewal. True if the lease is still ours. */
  async #scan(tenure: LeaseHold, error: unknown): Promise<boolean> {
    // Deleted: another candidate may have created it again already.
    if (isNotFound(error)) tenure.lose(error);
    if (!isConflict(error)) return false;
    try {
      const lease = await this.#read();
      const ours = lease !== undefined && holderOf(lease) === this.#options.identity;
      // Another writer changed the object (a label), or a renewal that seemed to fail had succeeded.
      if (ours) tenure.follow(lease);
      else tenure.lose(error);
      return ours;
    } catch (cause) {
      this.#options.onProblem?.(cause);
      return false;
    }
  }

  #mayTake(lease: Lease, observation: Observation): boolean {
    const owner = this.#options.owner?.();
    if (owner !== undefined && isOfAnotherOwner(lease, owner)) return true;
    return mayTake(lease, this.#options.identity, observation, this.#clock(), this.#timing.duration);
  }

  #read(): Promise<Lease | undefined> {
    const { client, namespace, name } = this.#options;
    return this.#limited((signal) => client.find(leases, { namespace, name }, { signal }));
  }

  /** Takes or renews the lease. The resourceVersion lets only one of several candidates succeed. */
  #take(before: Lease | undefined): Promise<Lease> {
    const { client, namespace, name, identity } = this.#options;
    const spec = heldSpec(before, identity, this.#timing.duration, new Date());
    if (before !== undefined) return this.#patch(before, spec);
    return this.#limited((signal) => client.create(leases, { metadata: { namespace, name, ...this.#owners([]) }, spec }, { signal }));
  }

  #patch(before: Lease, spec: LeaseSpec): Promise<Lease> {
    const { client, namespace, name } = this.#options;
    const { uid, resourceVersion, ownerReferences } = before.metadata;
    const patch = { metadata: { uid, resourceVersion, ...this.#owners(ownerReferences ?? []) }, spec };
    return this.#limited((signal) => client.patch(leases, { namespace, name }, patch, { type: 'merge', signal }));
  }

  /** Replaces a former owner, and adds one to a lease created without. */
  #owners(before: readonly OwnerReference[]): { readonly ownerReferences?: readonly OwnerReference[] } {
    const owner = this.#options.owner?.();
    if (owner === undefined || before.some(({ uid }) => uid === owner.uid)) return {};
    return { ownerReferences: [...before.filter(({ kind }) => kind !== owner.kind), owner] };
  }

  /** Limits each request to a third of the deadline: after one on a dead connection there is time for another. */
  async #limited<T>(request: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const limit = new AbortController();
    const milliseconds = this.#timing.renewDeadline / 3;
    const { namespace, name } = this.#options;
    const late = new Error(`Lease ${namespace}/${name}: the API server did not answer within ${Math.round(milliseconds)} ms.`);
    const timer = setTimeout(() => limit.abort(late), milliseconds);
    try {
      return await request(limit.signal);
    } finally {
      clearTimeout(timer);
    }
  }
}
