import { performance } from 'node:perf_hooks';

import { pause } from '../../work/pause.ts';
import type { KubeClient } from '../contract.ts';
import type { OwnerReference } from '../objects.ts';
import { isClosed, isConflict, isNotFound, LeaseLostError } from '../errors.ts';
import { heldSpec, holderOf, leases, mayTake, observe, releasedSpec } from './lease-record.ts';
import type { Lease, LeaseSpec, Observation } from './lease-record.ts';
import { LeaseHold } from './lease-hold.ts';
import type { Held } from './lease-hold.ts';

export interface LeaseOptions {
  readonly client: Pick<KubeClient, 'find' | 'create' | 'patch'>;
  readonly namespace: string;
  readonly name: string;
  /** Different for each candidate: the pod's name. */
  readonly identity: string;
  /** With which the Lease is to go; asked whenever it is written. */
  readonly owner?: () => OwnerReference | undefined;
  /** Gives up waiting; while leading, stops the work and then gives the lease back. */
  readonly signal: AbortSignal;
  readonly timing?: LeaseTiming;
  /** Told when another holder is seen, and when this candidate takes, gives back or loses the lease. */
  readonly onChange?: (event: 'following' | 'leading' | 'released' | 'lost', holder: string) => void;
  /** Told of failed reads and writes of the lease; they are retried. */
  readonly onTrouble?: (error: unknown) => void;
  /** Milliseconds on a clock that never jumps. */
  readonly clock?: () => number;
}

/** Milliseconds. */
export interface LeaseTiming {
  /** How long a record must stand still before another candidate takes the lease. */
  readonly duration: number;
  /** How long the leader goes on without a renewal. Shorter than `duration`: what lies between is for its last writes to end. */
  readonly renewDeadline: number;
  /** Between renewals that succeed. */
  readonly renewEvery: number;
  /** Between tries, both to take the lease and after a renewal that failed. */
  readonly retryEvery: number;
}

/** A crashed leader is replaced after 10 to 15.4 seconds, one that stops after 1.2 at most. */
const TIMING: LeaseTiming = { duration: 13_000, renewDeadline: 10_000, renewEvery: 3_000, retryEvery: 1_000 };

/** What runs while the lease is held. */
export type LeaderWork = (leading: AbortSignal, stillLeading: () => boolean) => Promise<void>;

/**
 * Waits for the lease, runs `work` while holding it, and gives it back when `work` has ended.
 *
 * `leading` is aborted when `options.signal` is, or when the lease is lost: always before another candidate can take
 * it, counted from the moment the last successful renewal was *sent*, on a monotonic clock; the candidates' clocks need
 * not agree. A process that was frozen learns of its loss only when its timers run again: `stillLeading` asks the clock
 * itself, and is for the moment before a write (FencedClient). While work that was told to stop ends, it leads on.
 *
 * Resolves once `work` has ended (also where it was told to stop), or `options.signal` is aborted before the lease
 * was had. Rejects with what `work` rejects with, with a LeaseLostError, or because the client was closed while it
 * waited; where `work` runs, only after it has ended, so a caller that must not wait for it exits on `leading` itself.
 */
export async function whileLeading(options: LeaseOptions, work: LeaderWork): Promise<void> {
  const candidate = new Candidate(options);
  const held = await candidate.acquire();
  if (held === undefined) return;
  // Told to stop in the moment of taking it.
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

  /** Undefined: the signal was aborted first. */
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
        // Another candidate was quicker: what it wrote is read next time. Anything else is worth a word.
        if (!isConflict(error) && !signal.aborted) this.#options.onTrouble?.(error);
      }
      // Spread, so that candidates do not come in step.
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
      // Work that ends because it was told to often does so by an AbortError: the reason says more.
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

  /** Gives the lease back, so that the next candidate need not wait for it to expire. */
  async release(lease: Lease): Promise<void> {
    const { identity, onChange, onTrouble } = this.#options;
    try {
      await this.#patch(lease, releasedSpec(new Date())).catch(async (error: unknown) => {
        // Changed since: by somebody's label, or by a renewal of ours whose answer was lost.
        const now = isConflict(error) ? await this.#read() : undefined;
        if (now === undefined || holderOf(now) !== identity) throw error;
        await this.#patch(now, releasedSpec(new Date()));
      });
      onChange?.('released', identity);
    } catch (error) {
      onTrouble?.(error);
    }
  }

  /** Until `done`, or the tenure is over. */
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
        this.#options.onTrouble?.(error);
        // Still ours, and known as it is now: no reason to wait long.
        wait = (await this.#scan(tenure, error)) ? this.#timing.retryEvery / 4 : this.#timing.retryEvery;
      }
    }
  }

  /** After a renewal that failed: whose lease is it now? True where it is seen to be ours still. */
  async #scan(tenure: LeaseHold, error: unknown): Promise<boolean> {
    // Deleted: another candidate may have made it anew already.
    if (isNotFound(error)) tenure.lose(error);
    if (!isConflict(error)) return false;
    try {
      const lease = await this.#read();
      const ours = lease !== undefined && holderOf(lease) === this.#options.identity;
      // Somebody touched the object (a label), or a renewal that looked like a failure was none.
      if (ours) tenure.follow(lease);
      else tenure.lose(error);
      return ours;
    } catch (cause) {
      this.#options.onTrouble?.(cause);
      return false;
    }
  }

  #mayTake(lease: Lease, observation: Observation): boolean {
    return mayTake(lease, this.#options.identity, observation, this.#clock(), this.#timing.duration);
  }

  #read(): Promise<Lease | undefined> {
    const { client, namespace, name } = this.#options;
    return this.#limited((signal) => client.find(leases, { namespace, name }, { signal }));
  }

  /** Takes or renews; the resourceVersion lets only one of several candidates succeed. */
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

  /** Also of one that was made without. */
  #owners(before: readonly OwnerReference[]): { readonly ownerReferences?: readonly OwnerReference[] } {
    const owner = this.#options.owner?.();
    return owner === undefined || before.some(({ uid }) => uid === owner.uid) ? {} : { ownerReferences: [...before, owner] };
  }

  /** A third of the deadline for each request: one on a dead connection leaves time for another. */
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
