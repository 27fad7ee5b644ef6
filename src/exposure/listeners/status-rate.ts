import type { Listener, ListenerStatus } from '../../api/listeners/index.ts';
import { differInNodesOnly } from './listener-status.ts';

/** Minimum time in milliseconds between two such status writes. */
const PAUSE = 500;

/**
 * Limits how often a status follows its endpoints. A Listener that a thousand pods share has a new status for each pod that
 * starts or stops, and every watcher receives it. A change is written at once; changes soon after are coalesced. Other changes
 * never wait, and neither does the first address.
 */
export class StatusRate {
  /** Clock in milliseconds, monotonic. */
  readonly #clock: () => number;
  /** Time of status writes within the last `PAUSE` by UID, oldest first. */
  readonly #written = new Map<string | undefined, number>();

  constructor(clock: () => number) {
    this.#clock = clock;
  }

  /** Milliseconds until the status may replace that of `listener`; 0 means now. */
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
