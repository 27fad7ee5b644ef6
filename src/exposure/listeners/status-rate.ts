import type { Listener, ListenerStatus } from '../../api/listeners/index.ts';
import { differInNodesOnly } from './listener-status.ts';

/** Milliseconds. */
const PAUSE = 500;

/**
 * How often a status follows the endpoints: a Listener that a thousand pods share has one whole status for each pod that
 * comes or goes, and all who watch it get each. A change is written at once, and what follows soon after is written together.
 * Nothing else waits, and never the first address.
 */
export class StatusRate {
  /** Milliseconds, monotonic. */
  readonly #clock: () => number;
  /** By uid, when a status was written in the last `PAUSE`; oldest first. */
  readonly #written = new Map<string | undefined, number>();

  constructor(clock: () => number) {
    this.#clock = clock;
  }

  /** In how many milliseconds the status may be written over that of `listener`; 0: now. */
  wait(listener: Listener, status: ListenerStatus): number {
    if (!differInNodesOnly(listener.status ?? {}, status)) return 0;
    const last = this.#written.get(listener.metadata.uid) ?? Number.NEGATIVE_INFINITY;
    return Math.max(0, last + PAUSE - this.#clock());
  }

  wrote(listener: Listener): void {
    const now = this.#clock();
    for (const [uid, at] of this.#written) {
      if (at + PAUSE > now) break;
      this.#written.delete(uid);
    }
    const { uid } = listener.metadata;
    this.#written.delete(uid);
    this.#written.set(uid, now);
  }
}
