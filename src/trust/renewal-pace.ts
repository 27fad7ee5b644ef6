import { EarlyRenewalError } from '../identity/issued.ts';
import { limitTable } from '../limits/table.ts';

/** Minimum milliseconds between two renewals of a site. For certificates that last only minutes it is a sixteenth of the lifetime. */
const SPACING = limitTable.renewalSpacing.value;
const SHARE_OF_LIFE = 1 / 16;
/**
 * Maximum pause, as a multiple of the first. The pause doubles with each further renewal of one certificate, and of a site whose
 * certificate was not due.
 */
const MOST_SPACINGS = limitTable.repeatedRenewalPause.value;

/**
 * Limits how often certificates are renewed: each certificate once at a time, and those of a site one after the other. Other sites trigger
 * the cost (a signature, a line on disk, one more certificate to revoke). A renewed certificate is replaced by its successor. A second
 * request for it means a lost answer or a peer that collects certificates. A renewal before it is due is a rare manual request.
 */
export class RenewalPace {
  /** Returns monotonic milliseconds. */
  readonly #clock: () => number;
  readonly #running = new Set<string>();
  readonly #pauses = new Map<string, Pause>();
  #nextSweep = 0;

  constructor(clock: () => number = () => performance.now()) {
    this.#clock = clock;
  }

  /**
   * @param lifetime milliseconds for which the certificate was issued
   * @param isDue whether the certificate is due for renewal
   * @returns a handle to dispose of once the renewal has ended, with or without success
   * @throws EarlyRenewalError
   */
  begin(serial: string, siteId: string, lifetime: number, isDue: boolean): RenewalTurn {
    const now = this.#forget();
    const spacing = Math.min(SPACING, Math.max(lifetime, 0) * SHARE_OF_LIFE);
    // Separate pauses: they grow for repeated renewals of one certificate, and for renewals of a site that are not due.
    const repeated = [serial, ...(isDue ? [] : [`early ${siteId}`])];
    const parties = [...repeated, siteId];
    const until = Math.max(...parties.map((party) => this.#pauses.get(party)?.until ?? now));
    const underWay = parties.some((party) => this.#running.has(party));
    if (underWay || until > now) {
      const why = underWay ? 'a renewal of this certificate or site is in progress' : 'this certificate or site was renewed a moment ago';
      throw new EarlyRenewalError(why, Math.max(until - now, underWay ? spacing : 0));
    }
    const before = repeated.map((party) => [party, this.#pauses.get(party)] as const);
    for (const party of repeated) {
      const count = this.#pauses.get(party)?.count ?? 0;
      this.#pause(party, now, Math.min(2 ** count, MOST_SPACINGS) * spacing, count + 1, lifetime);
    }
    this.#pause(siteId, now, spacing, 0, 0);
    for (const party of parties) this.#running.add(party);
    return {
      undo: () => {
        for (const [party, pause] of before) {
          if (pause === undefined) this.#pauses.delete(party);
          else this.#pauses.set(party, pause);
        }
      },
      [Symbol.dispose]: () => {
        for (const party of parties) this.#running.delete(party);
      },
    };
  }

  /** @param kept milliseconds for which the count is kept after the pause */
  #pause(party: string, now: number, pause: number, count: number, kept: number): void {
    this.#pauses.set(party, { until: now + pause, forgotten: now + pause + kept, count });
  }

  /** Removes expired entries now and then, since their number has no bound. */
  #forget(): number {
    const now = this.#clock();
    if (now < this.#nextSweep) return now;
    this.#nextSweep = now + SPACING;
    for (const [party, { forgotten }] of this.#pauses) if (forgotten <= now) this.#pauses.delete(party);
    return now;
  }
}

export interface RenewalTurn extends Disposable {
  /** Reverts the pauses, except the site's own, after a failure that the requesting site cannot fix. */
  undo(): void;
}

interface Pause {
  readonly until: number;
  readonly forgotten: number;
  readonly count: number;
}
