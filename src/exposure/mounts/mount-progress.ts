import type { PodListeners } from '../../api/listeners/index.ts';
import type { ConditionReason } from '../../errors/condition-reason.ts';
import type { MountState } from './mount-answers.ts';
import type { Waiting } from './mount-plan.ts';

/** Most mounts wait for a moment only; what lasts longer than this many milliseconds is worth a write and an event. */
const PATIENCE = 1_500;
/** Where nothing is wrong as far as is known, and the controller itself is just not there yet. */
const LONG_PATIENCE = 10_000;
const stages: ReadonlySet<string> = new Set<ConditionReason>(['ListenerPending', 'VolumeNotFound', 'NoService', 'ServicePending']);

/** The Listener of a mount that was checked and labelled, and the pod's volumes that mount it. */
export interface Prepared {
  readonly listenerUid: string | undefined;
  readonly volumes: readonly string[];
}

interface Progress {
  /** When it began to wait, by the clock. */
  readonly since: number;
  readonly prepared?: Prepared;
}

/**
 * Mounts under way: how long each has waited, and what was prepared for it, so that it is not read and labelled again
 * while it waits for the address. One goes when it is complete or its request is gone, so they are bounded by what waits
 * in the cluster.
 */
export class MountProgress {
  /** Milliseconds, monotonic. */
  readonly #clock: () => number;
  /** By `uid/handle`. */
  readonly #underway = new Map<string, Progress>();

  constructor(clock: () => number) {
    this.#clock = clock;
  }

  /** What is prepared already; from the first call on the mount waits. */
  begin(request: PodListeners, handle: string): Prepared | undefined {
    return this.#of(idOf(request, handle)).prepared;
  }

  prepared(request: PodListeners, handle: string, prepared: Prepared): void {
    const id = idOf(request, handle);
    this.#underway.set(id, { ...this.#of(id), prepared });
  }

  forget(request: PodListeners): void {
    for (const handle of Object.keys(request.spec.mounts ?? {})) this.#underway.delete(idOf(request, handle));
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
      const id = idOf(request, state.handle);
      if ('entries' in state) {
        this.#underway.delete(id);
        shown.set(state.handle, undefined);
        continue;
      }
      const allowed = stages.has(state.waiting.reason) ? LONG_PATIENCE : PATIENCE;
      const left = (this.#underway.get(id)?.since ?? 0) + allowed - this.#clock();
      if (left > 0) next = Math.min(next ?? left, left);
      else shown.set(state.handle, state.waiting);
    }
    return { shown, next };
  }

  #of(id: string): Progress {
    const progress = this.#underway.get(id) ?? { since: this.#clock() };
    this.#underway.set(id, progress);
    return progress;
  }
}

function idOf(request: PodListeners, handle: string): string {
  return `${request.metadata.uid}/${handle}`;
}
