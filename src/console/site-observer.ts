/** Decides when each other site is asked for its figures, and keeps what it answered. It never delays what the console reads itself. */
import { NotReadable } from '../errors/not-readable.ts';
import { limitTable } from '../limits/table.ts';
import { detached } from '../telemetry/boundary.ts';
import { messageOf } from '../telemetry/log.ts';
import { printable } from '../text/printable.ts';
import { backoffDelay } from '../work/backoff.ts';
import { observedSite, readObserved, unknownSite, type ObservedSite } from './observed-site.ts';

export interface SiteObserverOptions {
  /** Answer of `POST /v1/observe`. Rejects after some seconds without one. */
  readonly ask: (site: string) => Promise<unknown>;
  /** Most requests at once. */
  readonly atOnce?: number;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** From 0 to below 1. Tests replace it. */
  readonly random?: () => number;
}

/** Milliseconds between two requests to a site, each 20 % shorter or longer: while it shares figures, and while it does not. */
const [EVERY, REFUSED_EVERY, SPREAD] = [15_000, 60_000, 0.2];
/** Milliseconds between two requests to a site that a page shows, and until a page counts as gone. */
const [SHOWN_EVERY, SHOWN_FOR] = [2_000, 10_000];
const SILENT = { first: EVERY, max: 240_000 };
/** These answers change only with a setting or an update. */
const LASTING: ReadonlySet<string> = new Set(['not-shared', 'no-figures']);

/** Characters of a reason. */
const MOST_REASON = 300;

interface Schedule {
  /** Time of the next request. */
  due: number;
  /** Time of the last request. */
  asked: number;
  isAsking: boolean;
  /** Consecutive requests without an answer. */
  failures: number;
}

/** Invariant: at most one request to each site is open, and a bounded number to all. */
export class SiteObserver {
  readonly #options: SiteObserverOptions;
  readonly #schedules = new Map<string, Schedule>();
  readonly #shownUntil = new Map<string, number>();
  /** Sites that are due, the first one last. */
  #queue: string[] = [];
  #asking = 0;
  readonly #found = new Map<string, ObservedSite>();
  /** Copy of `#found`; undefined after a change. */
  #sites: ReadonlyMap<string, ObservedSite> | undefined;

  constructor(options: SiteObserverOptions) {
    this.#options = options;
  }

  /** By ID. Another map after each change. */
  get sites(): ReadonlyMap<string, ObservedSite> {
    this.#sites ??= new Map(this.#found);
    return this.#sites;
  }

  /** Notes that a page shows the site. */
  show(site: string): void {
    if (this.#schedules.has(site)) this.#shownUntil.set(site, this.#options.now() + SHOWN_FOR);
  }

  /** Asks the sites that are due. Call it about once a second. @param reachable IDs of the other sites, the nearest first */
  tick(reachable: readonly string[]): void {
    const now = this.#options.now();
    const chosen = new Set(reachable.slice(0, limitTable.consoleObservedSites.value));
    this.#forget(chosen, now);
    for (const site of chosen) this.#schedules.getOrInsertComputed(site, () => ({ due: now, asked: 0, isAsking: false, failures: 0 }));
    this.#queue = [...this.#schedules]
      .filter(([site, schedule]) => !schedule.isAsking && this.#dueOf(site, schedule) <= now)
      .toSorted(([one, first], [other, second]) => this.#dueOf(one, first) - this.#dueOf(other, second))
      .map(([site]) => site)
      .toReversed();
    this.#start();
  }

  #forget(chosen: ReadonlySet<string>, now: number): void {
    for (const site of this.#schedules.keys()) if (!chosen.has(site)) this.#schedules.delete(site);
    for (const [site, until] of this.#shownUntil) if (until < now || !chosen.has(site)) this.#shownUntil.delete(site);
    for (const site of this.#found.keys()) {
      if (chosen.has(site)) continue;
      this.#found.delete(site);
      this.#sites = undefined;
    }
  }

  #dueOf(site: string, { due, asked }: Schedule): number {
    return this.#shownUntil.has(site) ? Math.min(due, asked + SHOWN_EVERY) : due;
  }

  #start(): void {
    const { atOnce = limitTable.consoleObservations.value } = this.#options;
    while (this.#asking < atOnce) {
      const site = this.#queue.pop();
      if (site === undefined) return;
      const schedule = this.#schedules.get(site);
      if (schedule !== undefined && !schedule.isAsking) this.#ask(site, schedule);
    }
  }

  #ask(site: string, schedule: Schedule): void {
    schedule.isAsking = true;
    schedule.asked = this.#options.now();
    this.#asking += 1;
    const work = async (): Promise<void> => {
      const found = await this.#answerOf(site);
      // It may have been forgotten meanwhile, and be known again.
      if (this.#schedules.get(site) === schedule) this.#keep(site, schedule, found);
    };
    const end = (): void => {
      schedule.isAsking = false;
      this.#asking -= 1;
      this.#start();
    };
    detached('look/console-site', () => work().finally(end));
  }

  async #answerOf(site: string): Promise<ObservedSite> {
    try {
      return observedSite(readObserved(await this.#options.ask(site)), this.#found.get(site)?.routers);
    } catch (error) {
      const why = error instanceof NotReadable ? error.message : `the router of this site gave no answer: ${messageOf(error)}`;
      return unknownSite(printable(why, MOST_REASON));
    }
  }

  #keep(site: string, schedule: Schedule, found: ObservedSite): void {
    const { now, random = Math.random } = this.#options;
    const isAnswer = found.figures !== undefined || LASTING.has(found.code ?? '');
    schedule.failures = isAnswer ? 0 : schedule.failures + 1;
    const every = found.figures === undefined ? REFUSED_EVERY : EVERY;
    schedule.due = now() + (isAnswer ? every * (1 - SPREAD + 2 * SPREAD * random()) : backoffDelay(SILENT, schedule.failures, random()));
    this.#found.set(site, found);
    this.#sites = undefined;
  }
}
