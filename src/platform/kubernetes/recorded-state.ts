/** State of a site from its resources, in the form of its routers' answers (docs/reference/router-api.md), for users without their API. Pure. */
import type { Link, Site, SiteRecord } from '../../api/skupper/index.ts';

interface RecordedLink {
  readonly siteId: string;
  readonly siteName: string;
  readonly cost: number;
}

/** Lists as `/v1/network`, `/v1/keys` and `/v1/links` have them. The resources have costs of this site's links only; others count as 1. */
export function recordedState(site: Site | undefined, links: readonly Link[]) {
  const records = sortOwnFirst(site);
  return {
    network: { items: networkOf(records, links) },
    keys: { items: keysOf(records) },
    links: { items: links.map(linkOf), incoming: incomingOf(site) },
  };
}

/** @param site the active one */
function sortOwnFirst(site: Site | undefined): readonly SiteRecord[] {
  const { name, namespace } = site?.metadata ?? {};
  const isOwn = (record: SiteRecord): boolean => record.name === name && record.namespace === namespace;
  return (site?.status?.network ?? []).toSorted((one, other) => Number(isOwn(other)) - Number(isOwn(one)));
}

/** A record has the links that the site opens. Routers report each link at both ends. */
function networkOf(records: readonly SiteRecord[], links: readonly Link[]): readonly object[] {
  const names = new Map(records.map(({ id = '', name = '' }) => [id, name]));
  const costs = new Map(links.map((link) => [link.metadata.name, link.spec.cost ?? 1]));
  const bySite = new Map<string, Map<string, RecordedLink>>(records.map(({ id = '' }) => [id, new Map()]));
  for (const [index, { id = '', links: opened = [] }] of records.entries()) {
    for (const { name, remoteSiteId = '', operational } of opened) {
      if (operational === false || !names.has(remoteSiteId)) continue;
      const cost = index === 0 ? (costs.get(name) ?? 1) : 1;
      for (const [from, to] of [
        [id, remoteSiteId],
        [remoteSiteId, id],
      ] as const)
        bySite.get(from)?.set(to, { siteId: to, siteName: names.get(to) ?? '', cost });
    }
  }
  return records.map(({ id = '', name = '', namespace = '', platform = '', version = '' }) => ({
    id,
    name,
    namespace,
    platform,
    version,
    edge: false,
    routers: [],
    links: [...(bySite.get(id)?.values() ?? [])],
  }));
}

function keysOf(records: readonly SiteRecord[]): readonly object[] {
  const byKey = new Map<string, { readonly listeners: object[]; readonly connectors: object[] }>();
  for (const { id: site = '', services = [] } of records) {
    for (const { routingKey = '', listeners = [], connectors = [] } of services) {
      const entry = byKey.getOrInsertComputed(routingKey, () => ({ listeners: [], connectors: [] }));
      if (listeners.length > 0) entry.listeners.push({ site, count: listeners.length });
      if (connectors.length > 0) entry.connectors.push({ site, count: connectors.length });
    }
  }
  return [...byKey]
    .map(([key, entry]) => ({ key, ...entry, reachable: entry.connectors.length > 0 }))
    .toSorted((one, other) => (one.key < other.key ? -1 : 1));
}

function linkOf({ metadata, spec, status = {} }: Link): object {
  const { remoteSiteId, remoteSiteName, message = '', conditions = [] } = status;
  const operational = conditions.some((condition) => condition.type === 'Operational' && condition.status === 'True');
  const problem = operational ? {} : { problem: { code: '', message } };
  return { name: metadata.name, cost: spec.cost ?? 1, operational, remoteSiteId, remoteSiteName, ...problem };
}

function incomingOf(site: Site | undefined): readonly object[] {
  return (site?.status?.incomingLinks ?? [])
    .filter(({ operational }) => operational === true)
    .map(({ siteId, siteName, address, cost, since = '' }) => ({
      siteId,
      siteName,
      address,
      cost,
      ...(since === '' ? {} : { since: Date.parse(since) }),
    }));
}
