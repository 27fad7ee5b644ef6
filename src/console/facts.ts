/** Facts about a site that the console shows, as its sources gave them. Everything from routers and peers is checked and bounded here (pure). */
import { printable } from '../text/printable.ts';
import { fieldsIn, numberIn, recordIn, recordsIn, textIn, withoutUndefined, type UntrustedFields } from '../text/untrusted-fields.ts';
import type { SiteObject } from '../site/resources.ts';
import type { ChangeView, Missing, TotalsView } from './contract.ts';
import type { ExposureView } from './exposure-views.ts';
import { noNetwork, type NetworkIndex } from './network-index.ts';
import type { Sample } from './samples.ts';

export interface SiteFacts {
  readonly id: string;
  readonly name: string;
  readonly namespace: string;
  readonly platform: string;
  readonly version: string;
  readonly edge: boolean;
  readonly routers: readonly string[];
  readonly links: readonly { readonly siteId: string; readonly siteName: string; readonly cost: number }[];
}

export interface KeyFacts {
  readonly key: string;
  readonly listeners: readonly { readonly site: string; readonly count: number }[];
  readonly connectors: readonly { readonly site: string; readonly count: number }[];
  readonly reachable: boolean;
}

/** Figures of a link that is up. */
export interface LinkFigureFacts {
  /** Milliseconds since 1970. */
  readonly since?: number;
  readonly certificateExpires?: number;
  /** Milliseconds. */
  readonly roundTrip?: number;
  readonly sent?: number;
  readonly received?: number;
  /** Bytes a second over the last minute, as far as it is known. */
  readonly rates?: { readonly sent: number; readonly received: number };
  readonly streams?: number;
  readonly queued?: number;
}

export interface LinkFacts {
  readonly name: string;
  readonly cost: number;
  readonly operational: boolean;
  readonly endpoint?: string;
  readonly remoteSiteId?: string;
  readonly remoteSiteName?: string;
  /** Milliseconds since 1970. */
  readonly silentSince?: number;
  readonly problem?: { readonly code: string; readonly message: string };
  readonly attempts?: number;
  /** `at` is in milliseconds since 1970. */
  readonly lastProblem?: { readonly message: string; readonly at: number };
  readonly figures: LinkFigureFacts;
}

export interface IncomingFacts {
  readonly siteId: string;
  readonly siteName: string;
  /** Serial number of its certificate. */
  readonly serial?: string;
  readonly address: string;
  readonly cost: number;
  readonly since?: number;
  readonly silentSince?: number;
  readonly figures: LinkFigureFacts;
  /** Why and when it ended. `at` is in milliseconds since 1970. */
  readonly ended?: { readonly reason: string; readonly at: number };
}

export interface RouterFacts {
  readonly name: string;
  readonly version: string;
  readonly ready: boolean;
  readonly why?: string;
}

/** Facts at one time. */
export interface Facts {
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly routers: readonly RouterFacts[];
  readonly sites: readonly SiteFacts[];
  readonly keys: readonly KeyFacts[];
  readonly index: NetworkIndex;
  readonly links: readonly LinkFacts[];
  readonly incoming: readonly IncomingFacts[];
  readonly changes: readonly ChangeView[];
  readonly objects: readonly SiteObject[];
  readonly fileProblems: readonly { readonly file: string; readonly message: string; readonly severity: string }[];
  /** Why nothing reconciles the resources, with advice. */
  readonly notRunning?: string;
  readonly partial: readonly Missing[];
  readonly exposure?: ExposureView;
  /** Reason why the history is not kept on disk. */
  readonly historyProblem?: string;
}

export const noFacts: Facts = {
  at: 0,
  routers: [],
  sites: [],
  keys: [],
  index: noNetwork,
  links: [],
  incoming: [],
  changes: [],
  objects: [],
  fileProblems: [],
  partial: [],
};

/** Figures since the samples before. */
export interface Figures extends Pick<Sample, 'certificates'> {
  readonly totals: TotalsView;
  /** By the ID of the link's view. Bytes change all the time, so a page gets them with the other figures. */
  readonly links: ReadonlyMap<string, LinkFigureFacts>;
}

/** Characters of a name or a message that is shown. */
const MOST_NAME = 253;
const MOST_MESSAGE = 1_024;

const textOf = (fields: UntrustedFields, name: string, most = MOST_NAME): string => textIn(fields, name, most) ?? '';

/** A list of the router API, or undefined if it has not changed since the last request. */
export function itemsOf(answer: unknown): unknown {
  const { unchanged, items } = fieldsIn(answer);
  return unchanged === true ? undefined : items;
}

export function versionOf(answer: unknown): string | undefined {
  const { version } = fieldsIn(answer);
  return typeof version === 'string' ? version : undefined;
}

export function readSites(items: unknown, most: number): readonly SiteFacts[] {
  return recordsIn(items, most).map((site) => ({
    id: textOf(site, 'id'),
    name: textOf(site, 'name'),
    namespace: textOf(site, 'namespace'),
    platform: textOf(site, 'platform'),
    version: textOf(site, 'version'),
    edge: site['edge'] === true,
    routers: (Array.isArray(site['routers']) ? site['routers'] : []).map((name) => printable(String(name), MOST_NAME)),
    links: recordsIn(site['links'], most).map((link) => ({
      siteId: textOf(link, 'siteId'),
      siteName: textOf(link, 'siteName'),
      cost: numberIn(link, 'cost') ?? 1,
    })),
  }));
}

export function readKeys(items: unknown, most: number): readonly KeyFacts[] {
  // Tens of thousands of entries name a thousand sites.
  const sites = new Map<string, string>();
  const siteOf = (entry: UntrustedFields): string => {
    const site = textOf(entry, 'site');
    return sites.getOrInsert(site, site);
  };
  const counts = (value: unknown): KeyFacts['listeners'] =>
    recordsIn(value, most).map((entry) => ({ site: siteOf(entry), count: numberIn(entry, 'count') ?? 0 }));
  return recordsIn(items, most).map((entry) => ({
    // Not shortened: it identifies the key.
    key: textOf(entry, 'key', MOST_MESSAGE),
    listeners: counts(entry['listeners']),
    connectors: counts(entry['connectors']),
    reachable: entry['reachable'] === true,
  }));
}

export function readLinks(answer: unknown, most: number): Pick<Facts, 'links' | 'incoming'> {
  const { items, incoming, endedIncoming } = fieldsIn(answer);
  const ended = recordsIn(endedIncoming, most).map((link) => ({
    ...incomingOf(link),
    ended: { reason: textOf(link, 'reason', MOST_MESSAGE), at: numberIn(link, 'until') ?? 0 },
  }));
  return { links: recordsIn(items, most).map(linkOf), incoming: [...recordsIn(incoming, most).map(incomingOf), ...ended] };
}

function linkOf(link: UntrustedFields): LinkFacts {
  const [problem, last] = [recordIn(link, 'problem'), recordIn(link, 'lastProblem')];
  return {
    name: textOf(link, 'name'),
    cost: numberIn(link, 'cost') ?? 1,
    operational: link['operational'] === true,
    ...withoutUndefined({
      endpoint: textIn(link, 'endpoint', MOST_NAME),
      remoteSiteId: textIn(link, 'remoteSiteId', MOST_NAME),
      remoteSiteName: textIn(link, 'remoteSiteName', MOST_NAME),
      silentSince: numberIn(link, 'silentSince'),
      problem: problem && { code: textOf(problem, 'code'), message: textOf(problem, 'message', MOST_MESSAGE) },
      attempts: numberIn(link, 'attempts'),
      lastProblem: last && { message: textOf(last, 'message', MOST_MESSAGE), at: numberIn(last, 'at') ?? 0 },
    }),
    figures: linkFiguresOf(link),
  };
}

function linkFiguresOf(link: UntrustedFields): LinkFigureFacts {
  const figures = fieldsIn(link['figures']);
  const bytes = fieldsIn(figures['bytes']);
  return withoutUndefined({
    since: numberIn(figures, 'since'),
    certificateExpires: numberIn(figures, 'certificateExpires'),
    roundTrip: numberIn(figures, 'roundTrip'),
    sent: numberIn(bytes, 'sent'),
    received: numberIn(bytes, 'received'),
    streams: numberIn(figures, 'streams'),
    queued: numberIn(figures, 'queued'),
  });
}

/** IDs of the views of links. */
export const idOfLink = ({ name }: LinkFacts): string => `out/${name}`;
export const idOfIncoming = ({ siteId }: IncomingFacts, index: number): string => `in/${siteId}/${index}`;

export function figuresOfLinks({ links, incoming }: Facts): Figures['links'] {
  return new Map([
    ...links.map((link) => [idOfLink(link), link.figures] as const),
    ...incoming.map((link, index) => [idOfIncoming(link, index), link.figures] as const),
  ]);
}

function incomingOf(link: UntrustedFields): IncomingFacts {
  return {
    siteId: textOf(link, 'siteId'),
    siteName: textOf(link, 'siteName'),
    address: textOf(link, 'address'),
    cost: numberIn(link, 'cost') ?? 1,
    ...withoutUndefined({
      serial: textIn(link, 'serial', MOST_NAME),
      since: numberIn(link, 'since'),
      silentSince: numberIn(link, 'silentSince'),
    }),
    figures: linkFiguresOf(link),
  };
}

export function readRouter(name: string, answer: unknown): RouterFacts {
  const record = fieldsIn(answer);
  const why = textOf(record, 'unready', MOST_MESSAGE);
  return { name, version: textOf(record, 'version'), ready: record['ready'] === true, ...(why === '' ? {} : { why }) };
}
