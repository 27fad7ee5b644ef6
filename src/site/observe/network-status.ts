/** Network data that a router in a cluster publishes, for tools and for the site's controller (pure). */
import type { SiteRecord } from '../../api/skupper/index.ts';
import type { RouterRecord, RouterState } from '../../router/contract.ts';
import type { SitePlan } from '../plan/plan.ts';
import type { ResourceKey } from '../resources.ts';
import { networkOf } from './network.ts';

/** Inputs of the published data. */
export interface NetworkSeen {
  readonly router: RouterState;
  readonly plan: Pick<SitePlan, 'config' | 'selectedPods'>;
}

/** Sites in the form of `Site.status.network`. Only the servers and listeners of this site have names. */
export function siteRecords({ router, plan }: NetworkSeen): readonly SiteRecord[] {
  const [own, ...others] = networkOf(router.network);
  return own === undefined ? [] : [ownRecord(own, router, plan), ...others];
}

/** The first record that a router has is its own. */
function ownRecord(record: SiteRecord, { links }: RouterState, { config }: NetworkSeen['plan']): SiteRecord {
  const connectors = Map.groupBy(config.connectors, ({ routingKey }) => routingKey);
  const listeners = Map.groupBy(
    config.listeners.flatMap(({ name, destination }) => keysOf(destination).map((key) => ({ key, name: nameIn(name) }))),
    ({ key }) => key,
  );
  const keys = [...new Set([...connectors.keys(), ...listeners.keys()])].toSorted();
  return {
    ...record,
    links: Object.entries(links).map(([name, { remoteSiteId, remoteSiteName, operational }]) => ({
      name: nameIn(name),
      ...(remoteSiteId === undefined ? {} : { remoteSiteId }),
      ...(remoteSiteName === undefined ? {} : { remoteSiteName }),
      operational,
    })),
    services: keys.map((routingKey) => ({
      routingKey,
      connectors: [...new Set((connectors.get(routingKey) ?? []).flatMap(({ hosts }) => hosts))],
      listeners: (listeners.get(routingKey) ?? []).map(({ name }) => name),
    })),
  };
}

/** Routing keys that begin with an exposed key and a dot and have a connector: each belongs to one pod. */
export function podKeys(network: readonly RouterRecord[], exposed: readonly string[], kept: readonly string[] = []): readonly string[] {
  const beginnings = exposed.map((key) => `${key}.`);
  const seen = network.flatMap(({ keys: of }) => of.filter(({ connectors }) => connectors > 0).map(({ routingKey }) => routingKey));
  return [...new Set([...seen, ...kept])].filter((key) => beginnings.some((beginning) => key.startsWith(beginning))).toSorted();
}

/** The form that Skupper's tools read. Two sites are linked if the peer of a link of one site is an access of the other. */
export function toolsStatus({ router, plan }: NetworkSeen): ToolsStatus {
  const own = router.network[0]?.site.id;
  const bySite = Map.groupBy(router.network, ({ site }) => site.id);
  return {
    addresses: addressesOf(router.network),
    siteStatus: [...bySite.values()].flatMap((routers) => {
      const [first] = routers;
      if (first === undefined) return [];
      const { id, name, namespace, platform, version } = first.site;
      return [
        {
          site: { identity: id, name, namespace, platform, siteVersion: version },
          routerStatus: routers.map((record) => routerStatus(record, id === own ? { router, plan } : undefined)),
        },
      ];
    }),
  };
}

export interface ToolsStatus {
  readonly addresses: readonly Readonly<Record<string, string | number>>[];
  readonly siteStatus: readonly {
    readonly site: Readonly<Record<string, string>>;
    readonly routerStatus: readonly Readonly<Record<string, unknown>>[];
  }[];
}

const PROTOCOL = 'tcp';
/** Host of a listener that accepts connections at every address. */
const ANY = '0.0.0.0';

function addressesOf(network: readonly RouterRecord[]): ToolsStatus['addresses'] {
  const counts = new Map<string, { listenerCount: number; connectorCount: number }>();
  for (const { routingKey, connectors, listeners } of network.flatMap(({ keys }) => keys)) {
    const count = counts.getOrInsertComputed(routingKey, () => ({ listenerCount: 0, connectorCount: 0 }));
    count.listenerCount += listeners;
    count.connectorCount += connectors;
  }
  return [...counts].map(([name, count]) => ({ name, protocol: PROTOCOL, ...count, startTime: 0, endTime: 0 }));
}

/** @param seen state of a router of this site; routers of other sites announce only counts */
function routerStatus({ router, site, edge, links, keys }: RouterRecord, seen: NetworkSeen | undefined): Readonly<Record<string, unknown>> {
  return {
    router: {
      name: router,
      namespace: site.namespace,
      mode: edge ? 'edge' : 'interior',
      imageName: 'earshot',
      imageVersion: site.version,
      hostname: router,
    },
    links: seen === undefined ? links.filter(({ siteId }) => siteId !== site.id).map(linkUp) : ownLinks(seen),
    // Routers know only the site at the other end of a link.
    routerAccess: [{ identity: site.id }],
    listeners: seen === undefined ? counted(keys, 'listeners', router) : ownListeners(seen.plan),
    connectors: seen === undefined ? counted(keys, 'connectors', router) : ownConnectors(seen.plan),
  };
}

function linkUp({ name, siteId, cost }: RouterRecord['links'][number]): object {
  return { name, linkCost: cost, status: 'up', role: 'inter-router', peer: siteId };
}

function ownLinks({ router, plan: { config } }: NetworkSeen): readonly object[] {
  return config.links.map(({ name, cost }) => {
    const { operational = false, remoteSiteId = '' } = router.links[name] ?? {};
    return {
      name: nameIn(name),
      linkCost: cost,
      status: operational ? 'up' : 'down',
      role: config.edge ? 'edge' : 'inter-router',
      peer: remoteSiteId,
    };
  });
}

function ownListeners({ config }: NetworkSeen['plan']): readonly object[] {
  return config.listeners.flatMap(({ name, host, port, destination }) =>
    keysOf(destination).map((address) => ({
      name: nameIn(name),
      destHost: host ?? ANY,
      destPort: String(port),
      protocol: PROTOCOL,
      address,
    })),
  );
}

function ownConnectors({ config, selectedPods }: NetworkSeen['plan']): readonly object[] {
  return config.connectors.flatMap(({ name, hosts, port, routingKey }) => {
    // Names of planned connectors are keys of their resources.
    const pods = new Map(selectedPods.get(name as ResourceKey)?.map(({ name: pod, ip }) => [ip, pod]));
    return hosts.map((host) => {
      const pod = pods.get(host) ?? '';
      return { destHost: host, destPort: String(port), address: routingKey, process: pod, target: pod };
    });
  });
}

/** One entry for each routing key, whatever count another site claims. */
function counted(keys: RouterRecord['keys'], what: 'listeners' | 'connectors', router: string): readonly object[] {
  return keys
    .filter((key) => key[what] > 0)
    .map(({ routingKey }) =>
      what === 'listeners'
        ? { name: routingKey, destHost: '', destPort: '', protocol: PROTOCOL, address: routingKey }
        : { destHost: router, destPort: '', address: routingKey, process: '', target: '' },
    );
}

/** All routing keys that a listener forwards to. */
export function keysOf(destination: SitePlan['config']['listeners'][number]['destination']): readonly string[] {
  if (destination.kind === 'key') return [destination.routingKey];
  return destination.kind === 'priority' ? destination.routingKeys : Object.keys(destination.routingKeys);
}

/** `east` for `Link/east`. */
function nameIn(name: string): string {
  return name.slice(name.indexOf('/') + 1);
}
