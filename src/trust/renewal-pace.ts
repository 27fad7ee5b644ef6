import { EarlyRenewalError } from '../identity/issued.ts';
import { limitTable } from '../limits/table.ts';

/** Milliseconds. Of a certificate that lasts for minutes only, a sixteenth of its life. */
const SPACING = limitTable.renewalSpacing.value;
const SHARE_OF_LIFE = 1 / 16;
/** Each further renewal of one certificate, and each further one of a site that was not due, waits twice as long as the one before, up to so many times the first. */
const MOST_SPACINGS = limitTable.repeatedRenewalPause.value;

/**
 * How often certificates are renewed: each at one time once, and a site's one after the other. What a renewal costs (a signature, a
 * line on disk, one more certificate that may have to be revoked) is asked for by others. One that was renewed is followed by its successor, so
 * whoever comes again with it has lost the answer, or wants certificates. One that is not due is what a person asks for, now and then.
 */
export class RenewalPace {
  /** Milliseconds, monotonic. */
  readonly #clock: () => number;
  readonly #running = new Set<string>();
  readonly #pauses = new Map<string, Pause>();
  #nextSweep = 0;

  constructor(clock: () => number = () => performance.now()) {
    this.#clock = clock;
  }

  /**
   * @param lifetime milliseconds for which the certificate was issued
   * @param isDue the certificate has to be renewed about now
   * @returns to be disposed of once the renewal is over, whatever came of it
   * @throws EarlyRenewalError
   */
  begin(serial: string, siteId: string, lifetime: number, isDue: boolean): RenewalTurn {
    const now = this.#forget();
    const spacing = Math.min(SPACING, Math.max(lifetime, 0) * SHARE_OF_LIFE);
    // Each with its own pauses: many of one certificate, and many that are not due, are further and further apart.
    const repeated = [serial, ...(isDue ? [] : [`early ${siteId}`])];
    const parties = [...repeated, siteId];
    const until = Math.max(...parties.map((party) => this.#pauses.get(party)?.until ?? now));
    const underWay = parties.some((party) => this.#running.has(party));
    if (underWay || until > now) {
      const why = underWay ? 'one of this certificate or site is under way' : 'one of this certificate or site was a moment ago';
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

  /** @param kept for how long it is remembered beyond its end */
  #pause(party: string, now: number, pause: number, count: number, kept: number): void {
    this.#pauses.set(party, { until: now + pause, forgotten: now + pause + kept, count });
  }

  /** Now and then, for all that has been asked for may be many. */
  #forget(): number {
    const now = this.#clock();
    if (now < this.#nextSweep) return now;
    this.#nextSweep = now + SPACING;
    for (const [party, { forgotten }] of this.#pauses) if (forgotten <= now) this.#pauses.delete(party);
    return now;
  }
}

export interface RenewalTurn extends Disposable {
  /** It could not be answered, which is nothing that whoever asked can help: the next one waits as if this had not been, but for the pause of its site. */
  undo(): void;
}

interface Pause {
  readonly until: number;
  readonly forgotten: number;
  readonly count: number;
}
