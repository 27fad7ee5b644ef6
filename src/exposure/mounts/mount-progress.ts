import type { PodListeners } from '../../api/listeners/index.ts';
import type { ConditionReason } from '../../errors/condition-reason.ts';
import type { KeyString } from '../../kube/contract.ts';
import { keyOf } from '../../kube/key.ts';
import type { MountState } from './mount-answers.ts';
import type { Waiting } from './mount-plan.ts';

/** Milliseconds after which waiting is reported by a write and an event. Most mounts wait only for a moment. */
const PATIENCE = 1_500;
/** The same for reasons that are no error: the controller has not finished yet. */
const LONG_PATIENCE = 10_000;
const stages: ReadonlySet<string> = new Set<ConditionReason>(['ListenerPending', 'VolumeNotFound', 'NoService', 'ServicePending']);
/** Reasons that end the wait on the node, so they are written at once. */
const endings: ReadonlySet<string> = new Set<ConditionReason>(['PodEnding', 'PodNotFound']);

/** A mount whose pod, claim and volume agree, and whose Listener is up to date. */
export interface Prepared {
  readonly listenerUid: string | undefined;
  /** Names of the pod's volumes that mount it. */
  readonly volumes: readonly string[];
  /** Whether volume and pod have their labels. */
  readonly isLabelled: boolean;
}

interface Progress {
  /** Time at which it began to wait, by the clock. */
  readonly since?: number;
  readonly prepared?: Prepared;
}

/**
 * Mounts in progress: how long each has waited, and what was prepared for it. So objects are not read and labelled again while it
 * waits for the address. An entry is removed when the mount is complete or its request is deleted. So their number is bounded by
 * the waiting mounts in the cluster.
 */
export class MountProgress {
  /** Clock in milliseconds, monotonic. */
  readonly #clock: () => number;
  /** By key of the PodListeners, then by handle. */
  readonly #underway = new Map<KeyString, Map<string, Progress>>();

  constructor(clock: () => number) {
    this.#clock = clock;
  }

  /** Starts the waiting time at the first call. */
  begin(request: PodListeners, handle: string): void {
    const progress = this.#of(request, handle);
    this.#set(request, handle, { ...progress, since: progress.since ?? this.#clock() });
  }

  prepared(request: PodListeners, handle: string): Prepared | undefined {
    return this.#of(request, handle).prepared;
  }

  setPrepared(request: PodListeners, handle: string, prepared: Prepared): void {
    this.#set(request, handle, { ...this.#of(request, handle), prepared });
  }

  forget(key: KeyString): void {
    this.#underway.delete(key);
  }

  /**
   * Updates the states of a request's mounts. `shown`, by handle: reasons that lasted longer than a moment, and undefined for
   * complete mounts. `next`: milliseconds until the next check of the others.
   */
  update(
    request: PodListeners,
    states: readonly MountState[],
  ): { shown: ReadonlyMap<string, Waiting | undefined>; next: number | undefined } {
    const shown = new Map<string, Waiting | undefined>();
    let next: number | undefined;
    for (const state of states) {
      if ('entries' in state) {
        this.#delete(request, state.handle);
        shown.set(state.handle, undefined);
        continue;
      }
      const { reason } = state.waiting;
      const allowed = endings.has(reason) ? 0 : stages.has(reason) ? LONG_PATIENCE : PATIENCE;
      const left = (this.#of(request, state.handle).since ?? 0) + allowed - this.#clock();
      if (left > 0) next = Math.min(next ?? left, left);
      else shown.set(state.handle, state.waiting);
    }
    return { shown, next };
  }

  #of(request: PodListeners, handle: string): Progress {
    return this.#underway.get(keyOf(request))?.get(handle) ?? {};
  }

  #set(request: PodListeners, handle: string, progress: Progress): void {
    const key = keyOf(request);
    this.#underway.set(key, (this.#underway.get(key) ?? new Map<string, Progress>()).set(handle, progress));
  }

  #delete(request: PodListeners, handle: string): void {
    const key = keyOf(request);
    const ofRequest = this.#underway.get(key);
    ofRequest?.delete(handle);
    if (ofRequest?.size === 0) this.#underway.delete(key);
  }
}
