/** Views of the console API, from facts and figures (pure). */
import { printerColumns } from '../api/skupper/columns.ts';
import { EXPIRES_SOON } from '../explain/connection/bundle-steps.ts';
import { isPast, isReady } from '../site/overview.ts';
import { nameOf, type SiteObject } from '../site/resources.ts';
import { sortActiveFirst } from '../site/surplus-sites.ts';
import { percentilesOf } from '../telemetry/latency-steps.ts';
import { printable } from '../text/printable.ts';
import { withoutUndefined } from '../text/untrusted-fields.ts';
import type {
  Expiry,
  KeyView,
  LinkView,
  OverviewView,
  Percentiles,
  ProblemView,
  Rates,
  ResourceRow,
  RouterView,
  SiteDetailView,
  SiteView,
  TotalsView,
} from './contract.ts';
import { isEqual } from './change-log.ts';
import { countExposure } from './exposure-views.ts';
import { type Facts, type Figures, idOfIncoming, idOfLink, type KeyFacts, type LinkFigureFacts } from './facts.ts';
import { pairId, type LinkBetween } from './network-index.ts';
import type { AdjacentSite } from '../router/contract.ts';
import type { ObservedSite } from './observed-site.ts';
import { conditionsOf, headlineOf } from './problems.ts';
import type { KeySample, SampleOfKey } from './samples.ts';

export interface Place {
  readonly where: string;
  readonly namespace: string;
  readonly isMachine: boolean;
  readonly version: string;
}

export function overviewOf(facts: Facts, figures: Figures | undefined, problems: readonly ProblemView[], place: Place): OverviewView {
  const [site] = sortActiveFirst(facts.objects.filter((object) => object.kind === 'Site'));
  // Those between other sites are listed while they are up.
  const links = ownLinkViews(facts, figures);
  const up = links.filter(({ state }) => state === 'up').length;
  const keys = facts.keys.map(keyState);
  const own = facts.sites[0];
  return {
    asOf: new Date(facts.at).toISOString(),
    ...place,
    ...(site === undefined
      ? {}
      : {
          site: {
            name: printable(nameOf(site), 253),
            id: own?.id ?? '',
            status: facts.notRunning === undefined ? (site.status?.status ?? 'Pending') : 'Stopped',
            headline: facts.notRunning === undefined ? headlineOf(facts, site.status?.status ?? 'Pending') : 'Stopped',
            message: printable(site.status?.message ?? '', 1024),
          },
        }),
    routers: facts.routers,
    problems,
    sites: facts.sites.length,
    links: { up: up + facts.index.between.size, down: links.length - up },
    keys: {
      total: keys.length,
      withoutConnector: keys.filter((state) => state === 'no-connector').length,
      withoutListener: keys.filter((state) => state === 'no-listener').length,
    },
    expiring: expiringOf(figures),
    changes: facts.changes,
    totals: figures?.totals ?? {},
    partial: facts.partial,
    ...(facts.exposure === undefined ? {} : { exposure: countExposure(facts.exposure) }),
  };
}

function expiringOf(figures: Figures | undefined): readonly Expiry[] {
  return [...(figures?.certificates ?? [])]
    .filter(([, days]) => days <= EXPIRES_SOON)
    .map(([certificate, days]) => ({ certificate: printable(certificate, 253), days }))
    .toSorted((one, other) => one.days - other.days);
}

/** @param changes of all keys in these seconds */
export function totalsOf(changes: Iterable<SampleOfKey>, seconds: number, eventLoopDelay: number | undefined): TotalsView {
  const sum = { open: 0, opened: 0, failed: 0, up: 0, down: 0 };
  const latencies = new Map<number, number>();
  for (const { sample } of changes) {
    const rates = ratesOf(sample, seconds);
    sum.open += sample.open;
    for (const name of RATES) sum[name] += rates[name];
    for (const [bound, count] of sample.connect ?? []) latencies.set(bound, (latencies.get(bound) ?? 0) + count);
  }
  const connect = percentilesOf(latencies);
  return {
    open: sum.open,
    rates: { opened: round(sum.opened), failed: round(sum.failed), up: round(sum.up), down: round(sum.down) },
    ...(connect === undefined ? {} : { connect: rounded(connect) }),
    ...(eventLoopDelay === undefined ? {} : { eventLoopDelay: round(eventLoopDelay * 1000) }),
  };
}

const RATES = ['opened', 'failed', 'up', 'down'] as const;

export function ratesOf({ opened, failed, up, down }: KeySample, seconds: number): Rates {
  const each = Math.max(1, seconds);
  return { opened: round(opened / each), failed: round(failed / each), up: Math.round(up / each), down: Math.round(down / each) };
}

const round = (value: number): number => (value >= 100 ? Math.round(value) : Math.round(value * 100) / 100);
const rounded = ({ p50, p95, p99 }: Percentiles): Percentiles => ({ p50: round(p50), p95: round(p95), p99: round(p99) });

/** @param observed what other sites share, by ID */
export function siteViews(facts: Facts, figures?: Figures, observed: ReadonlyMap<string, ObservedSite> = new Map()): readonly SiteView[] {
  return facts.sites.map(({ id, name, namespace, platform, version, edge, routers, links }, index) => ({
    id,
    name,
    namespace,
    platform,
    version,
    edge,
    isThis: index === 0,
    routers: routers.length,
    links: links.length,
    keys: facts.index.keysOfSites.get(id) ?? 0,
    ...(index === 0 ? ownFigures(facts, figures) : sharedFigures(observed.get(id))),
  }));
}

function ownFigures({ partial }: Facts, figures: Figures | undefined): Pick<SiteView, 'figures'> {
  if (figures === undefined) return {};
  const { open, rates, eventLoopDelay } = figures.totals;
  return { figures: { ...withoutUndefined({ open, rates, eventLoopDelay }), missing: partial.length } };
}

function sharedFigures({ figures, noFigures }: Partial<ObservedSite> = {}): Pick<SiteView, 'figures' | 'noFigures'> {
  if (figures !== undefined) return { figures };
  return noFigures === undefined ? {} : { noFigures };
}

/** One site, if it is reachable. */
export function siteDetail(
  site: string,
  facts: Facts,
  figures: Figures | undefined,
  observed: ReadonlyMap<string, ObservedSite>,
): SiteDetailView | undefined {
  const view = siteViews(facts, figures, observed).find(({ id }) => id === site);
  if (view === undefined) return undefined;
  const countAt = (entries: KeyFacts['listeners']): number => entries.find((entry) => entry.site === site)?.count ?? 0;
  return {
    ...view,
    routerList: view.isThis
      ? facts.routers.map(({ name, version, why }) => ({ name, version, ...(why === undefined ? {} : { why }) }))
      : routerViews(facts, site, observed.get(site)),
    linkList: linkViews(facts, figures, observed).filter(({ from, to }) => from === site || to === site),
    keyList: facts.keys
      .map(({ key, listeners, connectors }) => ({ key, listeners: countAt(listeners), connectors: countAt(connectors) }))
      .filter(({ listeners, connectors }) => listeners + connectors > 0),
  };
}

function routerViews({ sites }: Facts, site: string, observed: ObservedSite | undefined): readonly RouterView[] {
  const answers = new Map((observed?.routers ?? []).map((answer) => [answer.router, answer]));
  return (sites.find(({ id }) => id === site)?.routers ?? []).map((name) => {
    const answer = answers.get(name);
    if (answer === undefined) return { name, ...withoutUndefined({ why: observed?.noFigures }) };
    if ('code' in answer) return { name, why: answer.message };
    const { version, uptime, open, eventLoopDelay } = answer.figures;
    return { name, version, uptime, open, ...withoutUndefined({ eventLoopDelay }) };
  });
}

/** Links of this site with their state, and those between other sites. */
export function linkViews(
  facts: Facts,
  figures: Figures | undefined,
  observed: ReadonlyMap<string, ObservedSite> = new Map(),
): readonly LinkView[] {
  return [...ownLinkViews(facts, figures), ...linksBetweenOthers(facts, observed)];
}

function ownLinkViews(facts: Facts, figures: Figures | undefined): readonly LinkView[] {
  const [own] = facts.sites;
  const [ownId, ownName] = [own?.id ?? '', own?.name ?? 'this site'];
  const changed = new Map(facts.objects.filter(({ kind }) => kind === 'Link').map((link) => [nameOf(link), operationalSince(link)]));
  const sinceOf = (name: string): Partial<LinkView> => {
    const since = changed.get(name);
    return since === undefined ? {} : { since };
  };
  const outgoing = facts.links.map((link): LinkView => {
    const { name, cost, operational, silentSince, remoteSiteId = '', remoteSiteName = '', endpoint, problem, attempts, lastProblem } = link;
    const begun = silentSince ?? (operational ? link.figures.since : undefined);
    return {
      id: idOfLink(link),
      name,
      from: ownId,
      fromName: ownName,
      to: remoteSiteId,
      toName: remoteSiteName,
      direction: 'outgoing',
      state: stateOf(operational, silentSince),
      cost,
      ...(problem === undefined || operational ? {} : { message: problem.message }),
      ...(begun === undefined ? sinceOf(name) : { since: timestamp(begun) }),
      ...(endpoint === undefined ? {} : { address: endpoint }),
      ...(attempts === undefined ? {} : { attempts }),
      ...(lastProblem === undefined ? {} : { lastProblem: lastProblem.message, lastProblemAt: timestamp(lastProblem.at) }),
      ...figuresOfLink(figures?.links.get(idOfLink(link))),
    };
  });
  const linked = new Set(facts.incoming.flatMap(({ siteId, ended }) => (ended === undefined ? [siteId] : [])));
  const incoming = facts.incoming.flatMap((link, index): readonly LinkView[] => {
    const { siteId, siteName, address, serial, cost, since, silentSince, ended } = link;
    // Another router of this site may have the link now.
    if (ended !== undefined && linked.has(siteId)) return [];
    const begun = ended?.at ?? silentSince ?? since;
    const view: LinkView = {
      id: idOfIncoming(link, index),
      name: `from ${siteName}`,
      from: siteId,
      fromName: siteName,
      to: ownId,
      toName: ownName,
      direction: 'incoming',
      state: stateOf(ended === undefined, silentSince),
      ...(ended === undefined ? {} : { message: ended.reason }),
      cost,
      address,
      ...(serial === undefined ? {} : { serial }),
      ...(begun === undefined ? {} : { since: timestamp(begun) }),
      ...figuresOfLink(figures?.links.get(idOfIncoming(link, index))),
    };
    return [view];
  });
  return [...outgoing, ...incoming];
}

function figuresOfLink({ certificateExpires, roundTrip, sent, received, rates, streams, queued }: LinkFigureFacts = {}): Partial<LinkView> {
  return withoutUndefined({
    certificateExpires: certificateExpires === undefined ? undefined : timestamp(certificateExpires),
    roundTripMs: roundTrip === undefined ? undefined : round(roundTrip),
    sent,
    received,
    rates,
    streams,
    queuedBytes: queued,
  });
}

/** RFC 3339; empty for a time that no date has. */
function timestamp(time: number): string {
  const date = new Date(time);
  return Number.isNaN(date.getTime()) ? '' : date.toISOString();
}

/** Time at which a Link came up or went down. */
function operationalSince(link: SiteObject): string | undefined {
  return conditionsOf(link).find(({ type }) => type === 'Operational')?.since;
}

function stateOf(operational: boolean, silentSince: number | undefined): LinkView['state'] {
  if (!operational) return 'down';
  return silentSince === undefined ? 'up' : 'silent';
}

/** A link that is down is known from what its sites share. */
function linksBetweenOthers({ sites, index }: Facts, observed: ReadonlyMap<string, ObservedSite>): readonly LinkView[] {
  const { siteNames, between } = index;
  const own = sites[0]?.id;
  const down = new Map<string, LinkBetween>();
  for (const [from, { links }] of observed) {
    for (const { site: to, state } of links.values()) {
      const [id, fromName, toName] = [pairId(from, to), siteNames.get(from), siteNames.get(to)];
      if (state !== 'down' || from === own || to === own || fromName === undefined || toName === undefined) continue;
      if (!between.has(id) && !down.has(id)) down.set(id, { id, from, fromName, to, toName });
    }
  }
  return [...between.values(), ...down.values()].map((link) => {
    const { from, to } = link;
    const reports = [observed.get(from)?.links.get(to), observed.get(to)?.links.get(from)].filter((each) => each !== undefined);
    const times = reports.flatMap(({ roundTrip }) => roundTrip ?? []);
    const roundTrip = times.length === 0 ? {} : { roundTripMs: round(Math.min(...times)) };
    return { ...link, name: '', direction: 'between', state: worstOf(reports), ...roundTrip };
  });
}

function worstOf(reports: readonly AdjacentSite[]): LinkView['state'] {
  return (['down', 'silent'] as const).find((state) => reports.some((report) => report.state === state)) ?? 'up';
}

export function keyState({ listeners, connectors }: KeyFacts): KeyView['state'] {
  if (connectors.length === 0) return 'no-connector';
  return listeners.length === 0 ? 'no-listener' : 'reachable';
}

/** Fields of a key's view that change only with the network. */
export type KeyEnds = Pick<KeyView, 'key' | 'state' | 'listeners' | 'connectors' | 'reachable'>;

export function keyEnds({ sites, keys }: Pick<Facts, 'sites' | 'keys'>): readonly KeyEnds[] {
  const names = new Map(sites.map(({ id, name }) => [id, name]));
  const counts = (of: KeyFacts['listeners']): KeyView['listeners'] =>
    of.map(({ site, count }) => ({ site, name: names.get(site) ?? site, count }));
  return keys.map((key) => ({
    key: key.key,
    state: keyState(key),
    listeners: counts(key.listeners),
    connectors: counts(key.connectors),
    reachable: key.reachable,
  }));
}

export interface KeyFigures {
  /** Counts of a key in these seconds. */
  readonly changeOf: (key: string) => SampleOfKey | undefined;
  readonly seconds: number;
}

/** @param before earlier views; unchanged ones are used again */
export function keyViews(
  ends: readonly KeyEnds[],
  { changeOf, seconds }: KeyFigures,
  problems: ReadonlyMap<string, readonly ProblemView[]>,
  before: readonly KeyView[],
): readonly KeyView[] {
  return ends.map((end, at) => {
    const view = { ...end, ...figuresOf(changeOf(end.key), seconds), problems: problems.get(end.key)?.length ?? 0 };
    const old = before[at];
    return old?.key === end.key && isEqual(old, view) ? old : view;
  });
}

function figuresOf(chosen: SampleOfKey | undefined, seconds: number): Partial<KeyView> {
  if (chosen === undefined) return {};
  const { role, sample } = chosen;
  const [connect, request] = [sample.connect, sample.request].map((counts) => counts && percentilesOf(counts));
  const failures = Object.fromEntries(sample.failures ?? []);
  return {
    figuresOf: role,
    open: sample.open,
    rates: ratesOf(sample, seconds),
    ...(connect === undefined ? {} : { connect: rounded(connect) }),
    ...(request === undefined ? {} : { request: rounded(request), requests: round(sample.requests / Math.max(1, seconds)) }),
    ...(Object.keys(failures).length === 0 ? {} : { failures }),
  };
}

/** Problems of the resources that use a key. */
export function problemsByKey(facts: Facts, problems: readonly ProblemView[]): ReadonlyMap<string, readonly ProblemView[]> {
  const byObject = new Map(problems.map((problem) => [problem.object, problem]));
  const found = new Map<string, ProblemView[]>();
  for (const object of facts.objects) {
    const problem = byObject.get(`${object.kind}/${nameOf(object)}`);
    if (problem !== undefined) for (const key of keysOfObject(object)) found.getOrInsertComputed(key, () => []).push(problem);
  }
  return found;
}

/** The routing keys that a resource names. */
export function keysOfObject(object: SiteObject): readonly string[] {
  switch (object.kind) {
    case 'Listener':
    case 'Connector':
    case 'AttachedConnectorBinding':
      return object.spec.routingKey === undefined ? [] : [object.spec.routingKey];
    case 'MultiKeyListener': {
      const { priority, weighted } = object.spec.strategy ?? {};
      return [...(priority?.routingKeys ?? []), ...Object.keys(weighted?.routingKeys ?? {})];
    }
    default:
      return [];
  }
}

/** Lists the resources of a kind with the columns that commands print. */
export function resourceRow(object: SiteObject, now: number): ResourceRow {
  const since = conditionsOf(object)
    .map((condition) => condition.since)
    .toSorted()
    .at(-1);
  const columns = printerColumns[object.kind]
    .filter(({ name }) => name !== 'Status' && name !== 'Message')
    .map(({ name, jsonPath }) => [name, textAt(object, jsonPath)] as const);
  return {
    kind: object.kind,
    name: printable(nameOf(object), 253),
    status: printable(object.status?.status ?? 'Pending', 63),
    message: printable(object.status?.message ?? '', 1024),
    ready: isReady(object),
    past: isPast(object, now),
    ...(since === undefined ? {} : { since }),
    columns: Object.fromEntries(columns.filter(([, text]) => text !== '')),
  };
}

/** Text at a path of plain names. */
function textAt(object: object, jsonPath: string): string {
  let value: unknown = object;
  for (const name of jsonPath.split('.').slice(1)) {
    if (typeof value !== 'object' || value === null) return '';
    value = Reflect.get(value, name);
  }
  return value === undefined || value === null || typeof value === 'object' ? '' : printable(String(value), 253);
}
