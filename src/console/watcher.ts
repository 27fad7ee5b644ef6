/** Reads the sources of a console again and again, keeps facts and history, and reports changes. */
import { NotReadable } from '../errors/not-readable.ts';
import { NotAtRouter } from '../errors/router-answer-error.ts';
import { limitTable } from '../limits/table.ts';
import { overviewKinds, quietKinds } from '../site/overview.ts';
import { attempt, reportInternalError } from '../telemetry/boundary.ts';
import { percentilesOf } from '../telemetry/latency-steps.ts';
import { messageOf } from '../telemetry/log.ts';
import { printable } from '../text/printable.ts';
import { isRecord } from '../text/is-record.ts';
import { withoutUndefined } from '../text/untrusted-fields.ts';
import { pause } from '../work/pause.ts';
import { ChangeLog, type ChangeEvent } from './change-log.ts';
import type { KeyView, Missing, OverviewView, ProblemView, SiteDetailView, Topic } from './contract.ts';
import { lostList, staleExposure, viewExposure, type ExposureView } from './exposure-views.ts';
import { indexNetwork } from './network-index.ts';
import { LatestChanges } from './latest-changes.ts';
import {
  figuresOfLinks,
  itemsOf,
  noFacts,
  readKeys,
  readLinks,
  readRouter,
  readSites,
  versionOf,
  type Facts,
  type Figures,
} from './facts.ts';
import type { History, Point } from './history.ts';
import { addLinkRates, type LinkSample } from './link-rates.ts';
import { listProblems } from './problems.ts';
import { KeySamples } from './key-samples.ts';
import { mergeSamples, SampleReader, type KeySample, type Sample } from './samples.ts';
import type { ObservedSite } from './observed-site.ts';
import { SiteObserver } from './site-observer.ts';
import { addMissing } from './missing.ts';
import { readFigures } from './read-figures.ts';
import type { ConsoleSources, RecordedState } from './sources.ts';
import {
  keyEnds,
  keyViews,
  linkViews,
  overviewOf,
  problemsByKey,
  resourceRow,
  siteDetail,
  siteViews,
  totalsOf,
  type KeyFigures,
  type Place,
} from './views.ts';

/** Milliseconds between two reads of state and of figures. */
const EVERY = 1_000;
const FIGURES_EVERY = 5_000;
/** The API server lists about twelve kinds for each read of exposed objects. */
const EXPOSURE_EVERY = 10_000;
/** Milliseconds in which exposed objects are read after their last use by a page. A console without pages sends no such requests. */
const EXPOSURE_IDLE = 300_000;
const NOT_USED = 'no page has shown them for five minutes. They are read now';
/** The pause is this many times as long as the read before it, so that reading takes about a tenth of a core. */
const PAUSE_PER_READ = 9;
/** A router without an answer takes time but no CPU, and must not delay news of others. Milliseconds. */
const MOST_PAUSE = 5_000;
const MOST_FIGURES_PAUSE = 60_000;
/** Milliseconds in which the answer whether anything runs is awaited. A starting process takes longer. */
const PATIENCE = 1_500;
/** Recent figures are those of this many samples. */
const RECENT_SAMPLES = 12;

export interface WatcherOptions {
  readonly place: Place;
  readonly history: History;
  /** Reason why the history is not kept on disk, if it should be. */
  readonly historyProblem?: () => string | undefined;
}

/** Subscriber to changes. */
export type ChangeListener = (event: ChangeEvent) => void;

export class Watcher {
  readonly #sources: ConsoleSources;
  readonly #options: WatcherOptions;
  readonly #listeners = new Set<ChangeListener>();
  readonly #versions = new Map<string, { readonly version: string; readonly items: readonly object[] }>();
  readonly #computed = new Map<string, { readonly from: readonly unknown[]; readonly value: unknown }>();
  readonly #changes = new LatestChanges();
  /** Times and links of the samples of `#keySamples`, except the oldest one. */
  readonly #linkSamples: LinkSample[] = [];
  readonly #keySamples = new KeySamples(RECENT_SAMPLES);
  #keyFigures: KeyFigures = noKeyFigures;
  readonly #observer: SiteObserver | undefined;
  readonly history: History;
  readonly log: ChangeLog;
  facts: Facts = noFacts;
  #exposure: ExposureView | undefined;
  figures: Figures | undefined;
  problems: readonly ProblemView[] = [];
  keys: readonly KeyView[] = [];
  /** Number of requests to other sites, for a router for each. */
  #asker = 0;
  /** Question whether anything runs, while it is open. */
  #advice: Promise<string> | undefined;
  /** First time at which each problem without a time of its own was seen. */
  #seen = new Map<string, string>();
  /** Routers without figures in the last sample. */
  #missingFigures: readonly Missing[] = [];
  /** Milliseconds since 1970. */
  #nextFigures = Number.NEGATIVE_INFINITY;
  /** Milliseconds of the last read that were for figures. */
  #figuresTook = 0;
  /** Time of the last use of exposed objects, in milliseconds since 1970. The start counts as one. */
  #exposureUsed: number;

  constructor(sources: ConsoleSources, options: WatcherOptions) {
    this.#sources = sources;
    this.#options = options;
    this.#exposureUsed = sources.now();
    const observe = sources.observe?.bind(sources);
    const atOnce = sources.observationsAtOnce;
    this.#observer =
      observe === undefined
        ? undefined
        : new SiteObserver({
            ask: async (site) => observe(this.#nextRouter(), site),
            now: () => sources.now(),
            ...(atOnce === undefined ? {} : { atOnce }),
          });
    this.history = options.history;
    this.log = new ChangeLog(
      { events: limitTable.consoleEvents.value, objects: limitTable.consoleChanges.value },
      sources.now().toString(36),
    );
  }

  /** Reads until the signal is aborted. */
  async run(until: AbortSignal): Promise<void> {
    await Promise.all([this.#runSite(until), this.#runExposure(until)]);
  }

  /** A loop of its own, since the API server may take seconds. */
  async #runExposure(until: AbortSignal): Promise<void> {
    if (this.#sources.exposure === undefined) return;
    while (!until.aborted) {
      const begun = performance.now();
      await attempt('look/console-exposure', () => this.readExposure());
      const took = performance.now() - begun;
      const every = this.#isExposureUsed ? EXPOSURE_EVERY : EVERY;
      await pause(Math.max(every - took, Math.min(took * PAUSE_PER_READ, MOST_FIGURES_PAUSE)), until).catch(() => undefined);
    }
  }

  async #runSite(until: AbortSignal): Promise<void> {
    while (!until.aborted) {
      const begun = performance.now();
      this.#figuresTook = 0;
      await attempt('look/console', () => this.read());
      const took = performance.now() - begun - this.#figuresTook;
      // Ends early, with an error, when the signal is aborted.
      await pause(Math.max(EVERY - took, Math.min(took * PAUSE_PER_READ, MOST_PAUSE), 50), until).catch(() => undefined);
    }
  }

  /** Calls the listener for each change, until disposal. */
  subscribe(listener: ChangeListener): Disposable {
    this.#listeners.add(listener);
    return { [Symbol.dispose]: () => void this.#listeners.delete(listener) };
  }

  /** To be called while a page may show exposed objects or their problems. */
  useExposure(): void {
    this.#exposureUsed = this.#sources.now();
  }

  get #isExposureUsed(): boolean {
    return this.#sources.now() - this.#exposureUsed < EXPOSURE_IDLE;
  }

  /** Reads what is exposed, unless no page has used it for minutes. The next read of the site reports its changes. */
  async readExposure(): Promise<void> {
    // The next page gets this view until the first read for it.
    if (!this.#isExposureUsed) return void (this.#exposure = staleExposure(this.#exposure, NOT_USED));
    try {
      const facts = await this.#sources.exposure?.();
      const lost = facts && lostList(this.#exposure, facts);
      this.#exposure = lost === undefined ? facts && viewExposure(facts) : staleExposure(this.#exposure, lost);
    } catch (error) {
      this.#exposure = staleExposure(this.#exposure, messageOf(error));
    }
  }

  /** Reads everything about the site once. */
  async read(): Promise<void> {
    const { resources, now } = this.#sources;
    const routers = (await this.#sources.routers()).toSorted();
    const partial: Missing[] = (this.#sources.notReadable?.() ?? []).map((why) => ({ router: '', why: printable(why, 512) }));
    const kinds = ['Site', ...overviewKinds, ...quietKinds] as const;
    const [state, about, notRunning, ...lists] = await Promise.all([
      this.#readRouters(routers, partial),
      resources.about(),
      routers.length > 0 ? undefined : this.#notRunning(),
      ...kinds.map((kind) => resources.list(kind)),
    ]);
    const fileProblems = about.problems
      .filter(isRecord)
      .map((each) => ({
        file: String(each['file'] ?? ''),
        message: String(each['message'] ?? ''),
        severity: String(each['severity'] ?? 'error'),
      }));
    const facts = {
      at: now(),
      ...state,
      index: this.#once('network', [state.sites, state.keys], () => indexNetwork(state)),
      objects: lists.flat(),
      fileProblems,
      ...(notRunning === undefined ? {} : { notRunning }),
      ...withoutUndefined({ exposure: this.#exposure, historyProblem: this.#options.historyProblem?.() }),
    };
    this.facts = { ...facts, partial: [...partial, ...this.#missingFigures] };
    this.#observer?.tick(this.facts.sites.slice(1).map(({ id }) => id));
    this.#publish();
    // After the state, which must not wait for figures of many keys.
    if (this.facts.at < this.#nextFigures) return;
    const begun = performance.now();
    await this.#sample(routers);
    this.facts = { ...facts, partial: [...partial, ...this.#missingFigures] };
    const took = performance.now() - begun;
    this.#figuresTook += took;
    this.#nextFigures = this.facts.at + Math.max(FIGURES_EVERY, Math.min(took * PAUSE_PER_READ, MOST_FIGURES_PAUSE));
    this.#publish();
  }

  /** The arguments are those that a user may see; default: all. */
  overview(facts: Facts = this.facts, problems: readonly ProblemView[] = this.problems): OverviewView {
    return overviewOf(facts, this.figures, problems, this.#options.place);
  }

  /** Figures that other sites share, by ID. */
  get observed(): ReadonlyMap<string, ObservedSite> {
    return this.#observer?.sites ?? NONE;
  }

  /** @returns undefined if the site is unreachable */
  site(id: string): SiteDetailView | undefined {
    this.#observer?.show(id);
    return siteDetail(id, this.facts, this.figures, this.observed);
  }

  /** Routers of this site ask other sites round-robin, so that one that fails does not hide all of them. */
  #nextRouter(): string {
    const { routers } = this.facts;
    this.#asker += 1;
    const router = routers[this.#asker % Math.max(1, routers.length)];
    if (router === undefined) throw new Error('no router of this site runs');
    return router.name;
  }

  async #readRouters(
    routers: readonly string[],
    partial: Missing[],
  ): Promise<Pick<Facts, 'routers' | 'sites' | 'keys' | 'links' | 'incoming' | 'changes'>> {
    const answers = await Promise.all(
      routers.map(async (router) => {
        try {
          const [self, network, keys, links] = await Promise.all([
            this.#sources.ask(router, '/v1/self'),
            this.#list(router, '/v1/network', (items) => readSites(items, limitTable.consoleSites.value)),
            this.#list(router, '/v1/keys', (items) => readKeys(items, limitTable.consoleKeys.value)),
            this.#sources.ask(router, '/v1/links'),
            this.#readChanges(router),
          ]);
          return { self: readRouter(router, self), network, keys, links };
        } catch (error) {
          addMissing(partial, router, error);
          return undefined;
        }
      }),
    );
    const answered = answers.filter((answer) => answer !== undefined);
    const recorded = answered.length > 0 ? undefined : await this.#sources.recorded?.();
    const found = recorded === undefined ? answered : [readRecorded(recorded)];
    // Each router knows the whole network, so the fullest view counts. A router that has just started knows less.
    const links = found.map((answer) => readLinks(answer.links, limitTable.consoleSites.value));
    const byName = new Map<string, Facts['links'][number]>();
    for (const link of links.flatMap((each) => each.links)) {
      const known = byName.get(link.name);
      if (known === undefined || (!known.operational && link.operational)) byName.set(link.name, link);
    }
    return {
      routers: recorded?.routers ?? answered.map(({ self }) => self),
      sites: longest(found.map(({ network }) => network)),
      keys: longest(found.map(({ keys }) => keys)),
      links: [...byName.values()],
      incoming: links.flatMap((each) => each.incoming),
      changes: this.#changes.items,
    };
  }

  /** An older router has no list of changes. */
  async #readChanges(router: string): Promise<void> {
    this.#changes.add(router, await this.#sources.ask(router, this.#changes.pathFor(router)).catch(() => undefined));
  }

  /** Asks for a list only if it has changed. */
  async #list<T extends object>(router: string, path: string, read: (items: unknown) => readonly T[]): Promise<readonly T[]> {
    // Each path has one type of items.
    const known = this.#versions.get(`${router}${path}`) as { readonly version: string; readonly items: readonly T[] } | undefined;
    const answer = await this.#sources.ask(router, known === undefined ? path : `${path}?since=${encodeURIComponent(known.version)}`);
    const fresh = itemsOf(answer);
    const items = fresh === undefined ? (known?.items ?? []) : read(fresh);
    const version = versionOf(answer);
    if (version !== undefined) this.#versions.set(`${router}${path}`, { version, items });
    return items;
  }

  async #notRunning(): Promise<string | undefined> {
    // The answer takes as long as a process starts, so at most one is awaited at a time.
    this.#advice ??= this.#sources.resources
      .notRunning()
      .then((advice) => advice ?? '')
      .finally(() => void (this.#advice = undefined));
    const advice = await Promise.race([this.#advice, pause(PATIENCE).then(() => 'A process that runs the namespace is starting.')]);
    return advice === '' ? undefined : printable(advice, 1024);
  }

  async #sample(routers: readonly string[]): Promise<void> {
    const answers = await Promise.allSettled(routers.map((router) => this.#sampleOf(router)));
    const missing: Missing[] = [];
    for (const [index, answer] of answers.entries())
      // A router that does not answer is missing from the state already.
      if (answer.status === 'rejected' && answer.reason instanceof NotReadable) addMissing(missing, routers[index] ?? '', answer.reason);
    this.#missingFigures = missing;
    const samples = answers.flatMap((answer) => (answer.status === 'fulfilled' ? [answer.value] : []));
    const { at } = this.facts;
    const [before] = this.#linkSamples;
    if (samples.length === 0) {
      this.figures = undefined;
      this.#keyFigures = noKeyFigures;
      this.#linkSamples.length = 0;
      this.#keySamples.clear();
      return;
    }
    const { keys, certificates, eventLoopDelay } = mergeSamples(samples);
    this.#keySamples.add({ keys });
    const counted = { at, links: figuresOfLinks(this.facts) };
    const links = addLinkRates(counted, this.#linkSamples);
    this.#linkSamples.push(counted);
    if (this.#linkSamples.length > RECENT_SAMPLES) this.#linkSamples.shift();
    const seconds = before === undefined ? 1 : (at - before.at) / 1000;
    this.#keyFigures = { changeOf: (key) => this.#keySamples.changeOf(key), seconds };
    this.figures = { totals: totalsOf(this.#keySamples.changes('oldest'), seconds, eventLoopDelay), certificates, links };
    if (before !== undefined) this.#remember(at);
  }

  async #sampleOf(router: string): Promise<Sample> {
    const figures = await this.#sources.ask(router, '/v1/figures').catch((error: unknown) => {
      if (error instanceof NotAtRouter || error instanceof NotReadable) return undefined;
      throw error;
    });
    return readFigures(figures, 2 * limitTable.consoleKeys.value) ?? (await this.#sampleOfMetrics(router));
  }

  /** Without latencies. In a cluster, metrics need other rights than the API. An older router has no figures in its API. */
  async #sampleOfMetrics(router: string): Promise<Sample> {
    const reader = new SampleReader(2 * limitTable.consoleKeys.value);
    await this.#sources.metrics(router, (text) => reader.read(text));
    return reader.sample;
  }

  /** Adds what was counted since the previous sample to the history. */
  #remember(at: number): void {
    const sum: Record<'opened' | 'failed' | 'open' | 'up' | 'down' | 'requests' | 'errors', number> = {
      opened: 0,
      failed: 0,
      open: 0,
      up: 0,
      down: 0,
      requests: 0,
      errors: 0,
    };
    for (const { key, sample } of this.#keySamples.changes('previous')) {
      for (const name of ['opened', 'failed', 'open', 'up', 'down', 'requests', 'errors'] as const) sum[name] += sample[name];
      this.history.add(`key:${key}`, at, pointOf(sample));
    }
    this.history.add('all', at, sum);
  }

  #publish(): void {
    const { facts, figures, observed } = this;
    this.problems = this.#timed(listProblems(facts));
    const { sites, keys, links, incoming, objects } = facts;
    const sick = JSON.stringify(this.problems.map(({ object }) => object));
    const ends = this.#once('ends of keys', [keys, sites], () => keyEnds(facts));
    this.keys = this.#once('keys', [ends, figures, sick], () =>
      keyViews(ends, this.#keyFigures, problemsByKey(facts, this.problems), this.keys),
    );
    const { problems: _, ...overview } = this.overview();
    this.#update('overview', new Map([['overview', { ...overview, asOf: undefined }]]));
    this.#update(
      'problems',
      byId(this.problems, ({ object, status }) => `${object} ${status}`),
    );
    this.#update(
      'sites',
      this.#once('sites', [sites, keys, figures, observed], () => byId(siteViews(facts, figures, observed), ({ id }) => id)),
    );
    this.#update(
      'links',
      this.#once('links', [sites, figures, observed, JSON.stringify([links, incoming]), objects], () =>
        byId(linkViews(facts, figures, observed), ({ id }) => id),
      ),
    );
    this.#update(
      'keys',
      this.#once('keys by ID', [this.keys], () => byId(this.keys, ({ key }) => key)),
    );
    this.#update(
      'resources',
      byId(
        facts.objects.map((object) => resourceRow(object, facts.at)),
        ({ kind, name }) => `${kind}/${name}`,
      ),
    );
  }

  /** Computes a view again only if what it is computed from has changed: a network of 10,000 keys mostly has not. */
  #once<T>(name: string, from: readonly unknown[], compute: () => T): T {
    const known = this.#computed.get(name);
    // Each name has one type of value.
    if (known !== undefined && known.from.every((each, at) => each === from[at])) return known.value as T;
    const value = compute();
    this.#computed.set(name, { from, value });
    return value;
  }

  /** Adds the time at which a problem was first seen, if it has none of its own. */
  #timed(problems: readonly ProblemView[]): readonly ProblemView[] {
    const now = new Date(this.facts.at).toISOString();
    const timed = problems.map((problem) => ({ since: this.#seen.get(`${problem.object} ${problem.status}`) ?? now, ...problem }));
    this.#seen = new Map(timed.map(({ object, status, since }) => [`${object} ${status}`, since]));
    return timed;
  }

  #update(topic: Topic, objects: ReadonlyMap<string, object>): void {
    const event = this.log.update(topic, objects, new Date(this.facts.at).toISOString());
    if (event === undefined) return;
    for (const listener of this.#listeners) {
      try {
        listener(event);
      } catch (error) {
        reportInternalError('look/console-change', error);
      }
    }
  }
}

const NONE: ReadonlyMap<string, ObservedSite> = new Map();

function readRecorded({ network, keys, links }: RecordedState) {
  const { consoleSites, consoleKeys } = limitTable;
  return { network: readSites(itemsOf(network), consoleSites.value), keys: readKeys(itemsOf(keys), consoleKeys.value), links };
}

function longest<T>(lists: readonly (readonly T[])[]): readonly T[] {
  return lists.toSorted((one, other) => other.length - one.length)[0] ?? [];
}

function byId<T extends object>(items: readonly T[], idOf: (item: T) => string): ReadonlyMap<string, T> {
  return new Map(items.map((item) => [idOf(item), item]));
}

const noKeyFigures: KeyFigures = { changeOf: () => undefined, seconds: 1 };

function pointOf(sample: KeySample): Point {
  const connect = sample.connect && percentilesOf(sample.connect);
  const { opened, failed, open, up, down, requests, errors } = sample;
  const counts = { opened, failed, open, up, down, requests, errors };
  return connect === undefined ? counts : { ...counts, connectP50: connect.p50, connectP95: connect.p95, connectP99: connect.p99 };
}
