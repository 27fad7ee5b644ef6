/** What a router in a cluster tells of the network, for tools and for the site's controller: pure. */
import type { SiteRecord } from '../../api/skupper/index.ts';
import type { RouterRecord, RouterState } from '../../router/contract.ts';
import type { SitePlan } from '../plan/plan.ts';
import type { ResourceKey } from '../resources.ts';
import { networkOf } from './network.ts';

/** What is told from. */
export interface NetworkSeen {
  readonly router: RouterState;
  readonly plan: Pick<SitePlan, 'config' | 'selectedPods'>;
}

/** As `Site.status.network` has them: of this site's own, servers and listeners have names. */
export function siteRecords({ router, plan }: NetworkSeen): readonly SiteRecord[] {
  const [own, ...others] = networkOf(router.network);
  return own === undefined ? [] : [ownRecord(own, router, plan), ...others];
}

/** This router is the first that it knows. */
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

/** The routing keys with a connector somewhere that begin with one of these and a dot: each is of one pod. */
export function podKeys(network: readonly RouterRecord[], exposed: readonly string[], kept: readonly string[] = []): readonly string[] {
  const beginnings = exposed.map((key) => `${key}.`);
  const seen = network.flatMap(({ keys: of }) => of.filter(({ connectors }) => connectors > 0).map(({ routingKey }) => routingKey));
  return [...new Set([...seen, ...kept])].filter((key) => beginnings.some((beginning) => key.startsWith(beginning))).toSorted();
}

/** In the form that tools of the other system read. Two sites are linked where the peer of one's link is an access of the other. */
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
/** Of a listener that takes connections at every address. */
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

/** @param seen of a router of this site; others tell only how many they have */
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
    // Routers know of a link's other end which site it is, and no more.
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

/** One entry a routing key, however many there are: a stranger's count is not worth more. */
function counted(keys: RouterRecord['keys'], what: 'listeners' | 'connectors', router: string): readonly object[] {
  return keys
    .filter((key) => key[what] > 0)
    .map(({ routingKey }) =>
      what === 'listeners'
        ? { name: routingKey, destHost: '', destPort: '', protocol: PROTOCOL, address: routingKey }
        : { destHost: router, destPort: '', address: routingKey, process: '', target: '' },
    );
}

/** All keys that a listener leads to. */
export function keysOf(destination: SitePlan['config']['listeners'][number]['destination']): readonly string[] {
  if (destination.kind === 'key') return [destination.routingKey];
  return destination.kind === 'priority' ? destination.routingKeys : Object.keys(destination.routingKeys);
}

/** Of `Link/east`: `east`. */
function nameIn(name: string): string {
  return name.slice(name.indexOf('/') + 1);
}
