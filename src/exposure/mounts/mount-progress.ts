import type { PodListeners } from '../../api/listeners/index.ts';
import type { ConditionReason } from '../../errors/condition-reason.ts';
import type { KeyString } from '../../kube/contract.ts';
import { keyOf } from '../../kube/key.ts';
import type { MountState } from './mount-answers.ts';
import type { Waiting } from './mount-plan.ts';

/** Most mounts wait for a moment only; what lasts longer than this many milliseconds is worth a write and an event. */
const PATIENCE = 1_500;
/** Where nothing is wrong as far as is known, and the controller itself is just not there yet. */
const LONG_PATIENCE = 10_000;
const stages: ReadonlySet<string> = new Set<ConditionReason>(['ListenerPending', 'VolumeNotFound', 'NoService', 'ServicePending']);
/** The node ends its wait by these, so they are written at once. */
const endings: ReadonlySet<string> = new Set<ConditionReason>(['PodEnding', 'PodNotFound']);

/** A mount whose pod, claim and volume say the same, and whose Listener is as it should be. */
export interface Prepared {
  readonly listenerUid: string | undefined;
  /** The pod's volumes that mount it. */
  readonly volumes: readonly string[];
  /** Whether volume and pod bear their labels. */
  readonly isLabelled: boolean;
}

interface Progress {
  /** When it began to wait, by the clock. */
  readonly since?: number;
  readonly prepared?: Prepared;
}

/**
 * Mounts under way: how long each has waited, and what was prepared for it, so that it is not read and labelled again
 * while it waits for the address. One goes when it is complete or its pod's request is gone, so they are bounded by what
 * waits in the cluster.
 */
export class MountProgress {
  /** Milliseconds, monotonic. */
  readonly #clock: () => number;
  /** By key of the PodListeners, then by handle. */
  readonly #underway = new Map<KeyString, Map<string, Progress>>();

  constructor(clock: () => number) {
    this.#clock = clock;
  }

  /** From the first call on the mount waits. */
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
   * Takes note of how the mounts of a request stand. `shown`, by handle: what has been waited for longer than a moment,
   * and undefined for what is complete. `next`: in how many milliseconds to look again at what has not.
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
