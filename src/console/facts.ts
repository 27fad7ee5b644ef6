/** Facts about a site that the console shows, as its sources gave them. Everything from routers and peers is checked and bounded here (pure). */
import { isRecord } from '../text/is-record.ts';
import { printable } from '../text/printable.ts';
import type { SiteObject } from '../site/resources.ts';
import type { Missing } from './contract.ts';
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
}

export interface IncomingFacts {
  readonly siteId: string;
  readonly siteName: string;
  readonly address: string;
  readonly cost: number;
  readonly since?: number;
  readonly silentSince?: number;
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
  readonly links: readonly LinkFacts[];
  readonly incoming: readonly IncomingFacts[];
  readonly objects: readonly SiteObject[];
  readonly fileProblems: readonly { readonly file: string; readonly message: string; readonly severity: string }[];
  /** Why nothing reconciles the resources, with advice. */
  readonly notRunning?: string;
  readonly partial: readonly Missing[];
}

export const noFacts: Facts = {
  at: 0,
  routers: [],
  sites: [],
  keys: [],
  links: [],
  incoming: [],
  objects: [],
  fileProblems: [],
  partial: [],
};

/** Figures since the samples before. */
export interface Figures {
  readonly sample: Sample;
  /** Counts of the last seconds, by role and key. */
  readonly recent: Sample['keys'];
  readonly seconds: number;
}

/** Characters of a name or a message that is shown. */
const MOST_NAME = 253;
const MOST_MESSAGE = 1_024;

const textIn = (record: Fields, name: string, most = MOST_NAME): string => {
  const value = record[name];
  return typeof value === 'string' ? printable(value, most) : '';
};
const numberIn = (record: Fields, name: string): number | undefined => {
  const value = record[name];
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined;
};
type Fields = Readonly<Record<string, unknown>>;

const recordsIn = (value: unknown, most: number): readonly Fields[] => (Array.isArray(value) ? value.slice(0, most).filter(isRecord) : []);

/** A list of the router API, or undefined if it has not changed since the last request. */
export function itemsOf(answer: unknown): unknown {
  return isRecord(answer) && answer['unchanged'] !== true ? answer['items'] : undefined;
}

export function versionOf(answer: unknown): string | undefined {
  return isRecord(answer) && typeof answer['version'] === 'string' ? answer['version'] : undefined;
}

export function readSites(items: unknown, most: number): readonly SiteFacts[] {
  return recordsIn(items, most).map((site) => ({
    id: textIn(site, 'id'),
    name: textIn(site, 'name'),
    namespace: textIn(site, 'namespace'),
    platform: textIn(site, 'platform'),
    version: textIn(site, 'version'),
    edge: site['edge'] === true,
    routers: (Array.isArray(site['routers']) ? site['routers'] : []).map((name) => printable(String(name), MOST_NAME)),
    links: recordsIn(site['links'], most).map((link) => ({
      siteId: textIn(link, 'siteId'),
      siteName: textIn(link, 'siteName'),
      cost: numberIn(link, 'cost') ?? 1,
    })),
  }));
}

export function readKeys(items: unknown, most: number): readonly KeyFacts[] {
  const counts = (value: unknown): KeyFacts['listeners'] =>
    recordsIn(value, most).map((entry) => ({ site: textIn(entry, 'site'), count: numberIn(entry, 'count') ?? 0 }));
  return recordsIn(items, most).map((entry) => ({
    // Not shortened: it identifies the key.
    key: textIn(entry, 'key', MOST_MESSAGE),
    listeners: counts(entry['listeners']),
    connectors: counts(entry['connectors']),
    reachable: entry['reachable'] === true,
  }));
}

export function readLinks(answer: unknown, most: number): Pick<Facts, 'links' | 'incoming'> {
  const { items, incoming } = isRecord(answer) ? { items: answer['items'], incoming: answer['incoming'] } : {};
  return { links: recordsIn(items, most).map(linkOf), incoming: recordsIn(incoming, most).map(incomingOf) };
}

function linkOf(link: Fields): LinkFacts {
  const { problem, endpoint } = link;
  const silentSince = numberIn(link, 'silentSince');
  return {
    name: textIn(link, 'name'),
    cost: numberIn(link, 'cost') ?? 1,
    operational: link['operational'] === true,
    ...(endpoint === undefined ? {} : { endpoint: textIn(link, 'endpoint') }),
    ...(link['remoteSiteId'] === undefined ? {} : { remoteSiteId: textIn(link, 'remoteSiteId') }),
    ...(link['remoteSiteName'] === undefined ? {} : { remoteSiteName: textIn(link, 'remoteSiteName') }),
    ...(silentSince === undefined ? {} : { silentSince }),
    ...(isRecord(problem) ? { problem: { code: textIn(problem, 'code'), message: textIn(problem, 'message', MOST_MESSAGE) } } : {}),
  };
}

function incomingOf(link: Fields): IncomingFacts {
  const [since, silentSince] = [numberIn(link, 'since'), numberIn(link, 'silentSince')];
  return {
    siteId: textIn(link, 'siteId'),
    siteName: textIn(link, 'siteName'),
    address: textIn(link, 'address'),
    cost: numberIn(link, 'cost') ?? 1,
    ...(since === undefined ? {} : { since }),
    ...(silentSince === undefined ? {} : { silentSince }),
  };
}

export function readRouter(name: string, answer: unknown): RouterFacts {
  const record = isRecord(answer) ? answer : {};
  const why = textIn(record, 'unready', MOST_MESSAGE);
  return { name, version: textIn(record, 'version'), ready: record['ready'] === true, ...(why === '' ? {} : { why }) };
}
