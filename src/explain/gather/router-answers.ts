/** Reads the answers of the router API (docs/reference/router-api.md), of any version. */
import { fieldsIn, numberIn, recordIn, recordsIn, textIn, withoutUndefined, type UntrustedFields } from '../../text/untrusted-fields.ts';
import { routerName } from '../connection/explain-record.ts';
import type { NamedRouter } from '../connection/object-problem.ts';
import type {
  IncomingFacts,
  LinkFacts,
  NetworkFacts,
  PastConnection,
  ProbeFacts,
  RouterFacts,
  SiteOfNetwork,
} from '../connection/site-facts.ts';

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
    links: recordsIn(item['links']).map((link) => ({ siteId: textOf(link, 'siteId'), cost: numberIn(link, 'cost') ?? 1 })),
    keys: bySite.get(textOf(item, 'id')) ?? [],
  }));
  return { sites };
}

/** Links that this site opens, from each router's `/v1/links`. A link works if one router has it. */
export function readLinks(answers: readonly unknown[]): ReadonlyMap<string, LinkFacts> {
  const links = answers.flatMap(itemsOf).map((item) => [textOf(item, 'name'), linkOf(item)] as const);
  // The last of several entries counts.
  return new Map([...links].toSorted(([, one], [, other]) => Number(one.operational) - Number(other.operational)));
}

function linkOf(item: UntrustedFields): LinkFacts {
  const problem = recordIn(item, 'problem');
  const optional = {
    endpoint: optionalText(item, 'endpoint'),
    siteId: optionalText(item, 'remoteSiteId'),
    siteName: optionalText(item, 'remoteSiteName'),
    cost: numberIn(item, 'cost'),
    silentSince: numberIn(item, 'silentSince'),
    problem: problem && { code: textOf(problem, 'code'), message: textOf(problem, 'message') },
  };
  return { operational: item['operational'] === true, ...withoutUndefined(optional) };
}

/** Links that other sites opened, from each router's `/v1/links`. The ended ones are last, unless the site has a link to another router. */
export function readIncoming(answers: readonly unknown[]): readonly IncomingFacts[] {
  const all = answers.map(fieldsIn);
  const up = all
    .flatMap(({ incoming }) => recordsIn(incoming))
    .map((item): IncomingFacts => ({
      ...peerOf(item),
      operational: true,
      ...withoutUndefined({ silentSince: numberIn(item, 'silentSince') }),
    }));
  const linked = new Set(up.map(({ siteId }) => siteId));
  const ended = all
    .flatMap(({ endedIncoming }) => recordsIn(endedIncoming))
    .map((item): IncomingFacts => ({
      ...peerOf(item),
      operational: false,
      ended: { at: numberIn(item, 'until') ?? 0, reason: textOf(item, 'reason') },
    }));
  return [...up, ...ended.filter(({ siteId }) => !linked.has(siteId))];
}

/** The router of `/v1/self`. */
export function readSelf(answer: unknown): RouterFacts {
  const fields = fieldsIn(answer);
  const contested = recordIn(fields, 'contested');
  return {
    router: textOf(fields, 'router'),
    startedAt: Date.parse(textOf(fields, 'startedAt')) || 0,
    ...withoutUndefined({
      eventLoopDelay: numberIn(fields, 'eventLoopDelay'),
      contested: contested && { count: numberIn(contested, 'count') ?? 0, last: numberIn(contested, 'last') ?? 0 },
    }),
  };
}

/** Connections of `/v1/connections` that ended or failed and began here. */
export function readPast(answer: unknown): readonly PastConnection[] {
  return itemsOf(answer)
    .filter((item) => Array.isArray(item['halves']) && item['halves'].includes('first'))
    .map((item) => ({
      ended: textOf(item, 'ended'),
      ...(item['state'] === 'failed' ? { failure: textOf(item, 'end'), by: refusedBy(item) } : {}),
    }));
}

function refusedBy(item: UntrustedFields): NamedRouter {
  const to = recordIn(item, 'to') ?? {};
  return { site: textOf(to, 'siteName') || textOf(to, 'site'), router: routerName(textOf(to, 'router')) };
}

/** Answer of `POST /v1/probe`. */
export function readProbe(answer: unknown): ProbeFacts {
  const fields = fieldsIn(answer);
  const hops = recordsIn(fields['hops'], MOST_HOPS).map((item) => ({
    site: textOf(item, 'site'),
    ...withoutUndefined({ clockAhead: numberIn(item, 'clockAhead'), waited: numberIn(item, 'waited') }),
    ...probedOf(item),
  }));
  const server = recordIn(fields, 'server');
  return { hops, ...(server === undefined ? {} : { server: probedOf(server) }) };
}

const probedOf = (item: UntrustedFields) => ({
  ok: item['ok'] === true,
  ...withoutUndefined({
    ms: numberIn(item, 'ms'),
    queued: numberIn(item, 'queued'),
    tls: numberIn(item, 'tls'),
    servers: numberIn(item, 'servers'),
    aside: numberIn(item, 'aside'),
    version: optionalText(item, 'version'),
    code: optionalText(item, 'code'),
    says: optionalText(item, 'says'),
  }),
});

const peerOf = (item: UntrustedFields): Pick<IncomingFacts, 'siteId' | 'siteName' | 'address'> => ({
  siteId: textOf(item, 'siteId'),
  siteName: textOf(item, 'siteName'),
  address: textOf(item, 'address'),
});

/** Sum of the counts by ID of the site. */
function countsOf(item: UntrustedFields, name: string): ReadonlyMap<string, number> {
  return new Map(recordsIn(item[name]).map((count) => [textOf(count, 'site'), numberIn(count, 'count') ?? 0]));
}

const itemsOf = (answer: unknown): readonly UntrustedFields[] => recordsIn(fieldsIn(answer)['items']);

/** Names and reasons come from peers. */
const optionalText = (fields: UntrustedFields, name: string): string | undefined => textIn(fields, name, MOST_CHARACTERS);
const textOf = (fields: UntrustedFields, name: string): string => optionalText(fields, name) ?? '';

const MOST_CHARACTERS = 1_024;
/** Routers on the longest path. */
const MOST_HOPS = 32;
