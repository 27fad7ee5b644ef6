/** Reads the answers of the router API (docs/reference/router-api.md), of any version. */
import { isRecord } from '../../text/is-record.ts';
import { printable } from '../../text/printable.ts';
import type { IncomingFacts, LinkFacts, NetworkFacts, PastConnection, ProbeFacts, SiteOfNetwork } from '../connection/site-facts.ts';

type Fields = Readonly<Record<string, unknown>>;

/** Sites of `/v1/network` with the routing keys of `/v1/keys`. */
export function readNetwork(network: unknown, keys: unknown): NetworkFacts {
  const byKey = itemsOf(keys).map((item) => ({
    key: textOf(item, 'key'),
    listeners: countsOf(item, 'listeners'),
    connectors: countsOf(item, 'connectors'),
  }));
  const bySite = new Map<string, SiteOfNetwork['keys'][number][]>();
  for (const { key, listeners, connectors } of byKey) {
    for (const site of new Set([...listeners.keys(), ...connectors.keys()])) {
      const entry = { key, listeners: listeners.get(site) ?? 0, connectors: connectors.get(site) ?? 0 };
      bySite.getOrInsertComputed(site, () => []).push(entry);
    }
  }
  const sites = itemsOf(network).map((item): SiteOfNetwork => ({
    id: textOf(item, 'id'),
    name: textOf(item, 'name'),
    version: textOf(item, 'version'),
    isEdge: item['edge'] === true,
    routers: Array.isArray(item['routers']) ? item['routers'].map(String) : [],
    links: listOf(item, 'links').map((link) => ({ siteId: textOf(link, 'siteId'), cost: numberOf(link, 'cost') ?? 1 })),
    keys: bySite.get(textOf(item, 'id')) ?? [],
  }));
  return { sites };
}

/** Links of `/v1/links` that this site opens. */
export function readLinks(answer: unknown): ReadonlyMap<string, LinkFacts> {
  return new Map(itemsOf(answer).map((item) => [textOf(item, 'name'), linkOf(item)]));
}

function linkOf(item: Fields): LinkFacts {
  const problem = isRecord(item['problem'])
    ? { code: textOf(item['problem'], 'code'), message: textOf(item['problem'], 'message') }
    : undefined;
  const optional = {
    endpoint: optionalText(item, 'endpoint'),
    siteId: optionalText(item, 'remoteSiteId'),
    siteName: optionalText(item, 'remoteSiteName'),
    cost: numberOf(item, 'cost'),
    silentSince: numberOf(item, 'silentSince'),
    problem,
  };
  return { operational: item['operational'] === true, ...defined(optional) };
}

/** Links of `/v1/links` that other sites opened, the ended ones last. */
export function readIncoming(answer: unknown): readonly IncomingFacts[] {
  const fields = isRecord(answer) ? answer : {};
  const up = listOf(fields, 'incoming').map((item): IncomingFacts => ({
    ...peerOf(item),
    operational: true,
    ...defined({ silentSince: numberOf(item, 'silentSince') }),
  }));
  const ended = listOf(fields, 'endedIncoming').map((item): IncomingFacts => ({
    ...peerOf(item),
    operational: false,
    ended: { at: numberOf(item, 'until') ?? 0, reason: textOf(item, 'reason') },
  }));
  return [...up, ...ended];
}

/** Connections of `/v1/connections` that ended or failed and began here. */
export function readPast(answer: unknown): readonly PastConnection[] {
  return itemsOf(answer)
    .filter((item) => Array.isArray(item['halves']) && item['halves'].includes('first'))
    .map((item) => ({ ended: textOf(item, 'ended'), ...(item['state'] === 'failed' ? { failure: textOf(item, 'end') } : {}) }));
}

/** Answer of `POST /v1/probe`. */
export function readProbe(answer: unknown): ProbeFacts {
  const fields = isRecord(answer) ? answer : {};
  const hops = listOf(fields, 'hops').map((item) => ({ site: textOf(item, 'site'), ...probedOf(item) }));
  return { hops, ...(isRecord(fields['server']) ? { server: probedOf(fields['server']) } : {}) };
}

const probedOf = (item: Fields) => ({
  ok: item['ok'] === true,
  ...defined({
    ms: numberOf(item, 'ms'),
    queued: numberOf(item, 'queued'),
    version: optionalText(item, 'version'),
    code: optionalText(item, 'code'),
    says: optionalText(item, 'says'),
  }),
});

const peerOf = (item: Fields): Pick<IncomingFacts, 'siteId' | 'siteName' | 'address'> => ({
  siteId: textOf(item, 'siteId'),
  siteName: textOf(item, 'siteName'),
  address: textOf(item, 'address'),
});

/** Sum of the counts by ID of the site. */
function countsOf(item: Fields, name: string): ReadonlyMap<string, number> {
  return new Map(listOf(item, name).map((count) => [textOf(count, 'site'), numberOf(count, 'count') ?? 0]));
}

function itemsOf(answer: unknown): readonly Fields[] {
  return isRecord(answer) ? listOf(answer, 'items') : [];
}

function listOf(fields: Fields, name: string): readonly Fields[] {
  const list = fields[name];
  return Array.isArray(list) ? list.filter(isRecord) : [];
}

/** Names and reasons come from peers. */
function textOf(fields: Fields, name: string): string {
  return optionalText(fields, name) ?? '';
}

function optionalText(fields: Fields, name: string): string | undefined {
  const text = fields[name];
  return typeof text === 'string' ? printable(text, MOST_CHARACTERS) : undefined;
}

const MOST_CHARACTERS = 1_024;

function numberOf(fields: Fields, name: string): number | undefined {
  const number = fields[name];
  return typeof number === 'number' && Number.isFinite(number) ? number : undefined;
}

type Defined<T> = { [K in keyof T]?: Exclude<T[K], undefined> };

/** Without the fields that are undefined. */
function defined<T extends object>(fields: T): Defined<T> {
  // Only undefined values were removed.
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Defined<T>;
}
