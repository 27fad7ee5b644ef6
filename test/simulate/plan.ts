/** Parts of a world: drawn from its seed, as plain data. */
import type { Random } from './random.ts';

export interface LinkPlan {
  readonly name: string;
  readonly from: number;
  readonly to: number;
  readonly cost: number;
  readonly role: 'inter-router' | 'edge';
  /** An endpoint before that of the other site: an unused address, one without a listener, or one of this site. */
  readonly decoy?: Decoy;
}

export type Decoy = 'nobody' | 'closed' | 'self';

/** Properties of a routing key, at all sites that have it. */
export interface KeyPlan {
  /** Its listeners take the next key as well. */
  readonly destination?: 'priority' | 'weighted';
  readonly observer?: 'auto' | 'http1' | 'http2';
  /** Its connectors have one host more, which does not exist. */
  readonly deadHost?: true;
}

export interface SitePlan {
  readonly edge: boolean;
  /** Numbers of routing keys. */
  readonly listeners: readonly number[];
  readonly connectors: readonly number[];
  /** Another router of the same site; its own name, and seconds from the world's begin until the first certificate ends that it shows the other. */
  readonly sibling?: {
    readonly index: number;
    readonly router: string;
    readonly ends?: number;
    /** On the same machine, with the same ports: the first is ready for the second from the start, or not. */
    readonly shares?: 'expected' | 'unexpected';
  };
  /** It moves to other ports now and then, and announces that to its links. */
  readonly moves?: true;
  /** Its announcements of the network are false. */
  readonly lies?: true;
  /** Its machine has other work to do. */
  readonly slow?: true;
}

/** Certificates of links that are renewed over their links. */
export interface RenewalPlan {
  /** Seconds for which such certificates are issued. */
  readonly lifetime: number;
  /** By the names of their links: seconds from the world's begin until the first of each ends. */
  readonly ends: Readonly<Record<string, number>>;
  /** A site that renews none: it lacks the authority that issued them. */
  readonly foreign?: number;
}

export interface SlowPaths {
  /** Milliseconds one way. */
  readonly delay: number;
  /** Nothing ever passes again between the two ends of one link. */
  readonly part: boolean;
}

export interface WorldPlan {
  readonly sites: readonly SitePlan[];
  readonly links: readonly LinkPlan[];
  readonly keys: number;
  readonly sharesReads: boolean;
  /** Factor by which the bytes that a link may hold unconsumed are smaller than usual. */
  readonly scarcity: number;
  /** Bytes of memory that each router may use, where that is little. */
  readonly memory?: number;
  /** The link whose certificate a visitor has, which talks through the access at its other end. */
  readonly visitor?: string;
  /** By the numbers of keys. */
  readonly special?: readonly KeyPlan[];
  /** Number of earlier certificates by which a connection may have begun. */
  readonly priorRevisions?: number;
  readonly renewal?: RenewalPlan;
  /** Slow and unreliable paths between machines, and routers with their real times. Left out: fast paths, and short times. */
  readonly slowPaths?: SlowPaths;
  /** Keys whose listeners have TLS, and those whose servers have. */
  readonly tls: { readonly listeners: readonly number[]; readonly servers: readonly number[] };
}

export function drawPlan(random: Random): WorldPlan {
  const count = random.pick([2, 2, 3, 3, 3, 3, 3, 4, 4, 5, 6]);
  const keys = random.int(1, 3);
  const drawn = links(count, random.pick(['chain', 'ring', 'star', 'tree']), random);
  const edges = new Set<number>();
  for (let site = 0; site < count; site += 1) {
    // A site that others link to stays no edge: it would cut them off.
    const isLeaf = !drawn.some(({ to }) => to === site);
    if (isLeaf && random.chance(0.25)) edges.add(site);
  }
  const guest = random.chance(0.3) ? addGuest(drawn, count, random) : undefined;
  if (guest !== undefined) edges.add(guest);
  const sites = Array.from({ length: count }, (_, site) => ({
    edge: edges.has(site),
    listeners: some(keys, 0.6, random),
    connectors: [] as number[],
  }));
  // Few, so that most connections cross some link.
  for (let key = 0; key < keys; key += 1) {
    const holders = new Set(Array.from({ length: random.pick([1, 1, 1, 2]) }, () => random.int(0, count - 1)));
    for (const holder of holders) sites[holder]?.connectors.push(key);
  }
  // At least one site has a listener.
  sites[0]?.listeners.push(...(sites[0].listeners.includes(0) ? [] : [0]));
  const planned: Omit<WorldPlan, 'sites' | 'tls'> = {
    links: drawn.map((link) => ({
      ...link,
      role: link.from === guest || (edges.has(link.from) && random.chance(0.5)) ? 'edge' : 'inter-router',
    })),
    keys,
    sharesReads: random.chance(0.8),
    scarcity: random.pick([1, 8, 32, 64]),
  };
  // Last, so that all other worlds are what they were.
  const all = { sites, ...planned, ...(random.chance(0.25) ? withSibling(sites, planned.links, random) : {}) };
  const tls = random.chance(0.4)
    ? { listeners: some(keys, 0.6, random), servers: some(keys, 0.4, random) }
    : { listeners: [], servers: [] };
  const moving = random.chance(0.3) ? withMoving(all, random) : all.sites;
  const lying = random.chance(0.1) ? withLiar(moving, random) : moving;
  const slow = random.chance(0.15) ? withSlow(lying, random) : lying;
  const created = { ...all, sites: slow, tls };
  const shared = random.chance(0.5) ? withShared(created, random) : created;
  const scarce = random.chance(0.12) ? withLittleMemory(shared, random) : shared;
  const visited = random.chance(0.2) ? withVisitor(scarce, random) : scarce;
  const decoyed = random.chance(0.1) ? withDecoys(visited, random) : visited;
  const special = random.chance(0.2) ? withSpecialKeys(decoyed, random) : decoyed;
  const revised = random.chance(special.visitor === undefined ? 0.05 : 0.25) ? { ...special, priorRevisions: random.int(0, 1) } : special;
  const renewed = random.chance(0.25) ? withRenewal(revised, random) : revised;
  return random.chance(0.05) ? withSlowPaths(renewed, random) : renewed;
}

/** Nothing else happens there: what is found is what paths do. */
function withSlowPaths(plan: WorldPlan, random: Random): WorldPlan {
  if (plan.sites.some(({ sibling }) => sibling !== undefined)) return plan;
  const { keys, sharesReads, tls } = plan;
  const sites = plan.sites.map(({ edge, listeners, connectors }) => ({ edge, listeners, connectors }));
  const [slowest, part] = [random.int(50, 1_500), random.chance(0.3)];
  // If paths only pause, links open between two pauses.
  const slowPaths = { delay: random.chance(0.4) ? random.int(5, 60) : slowest, part };
  const plain = plan.links.map(({ name, from, to, cost, role }) => ({ name, from, to, cost, role }));
  return { sites, links: plain, keys, sharesReads, scarcity: 1, tls, slowPaths };
}

/** Seconds: the least that a site may have. */
const LIFETIME = 10;

/** Some links' certificates end soon. What a visitor shows is its own to renew. */
function withRenewal(plan: WorldPlan, random: Random): WorldPlan {
  const chosen = plan.links.filter(({ name }) => name !== plan.visitor && random.chance(0.8));
  // They are due from when half of their time is left: about when most else happens.
  const ends = Object.fromEntries(chosen.map(({ name }) => [name, LIFETIME / 2 + random.int(1, 4)]));
  const foreign = random.chance(0.1) ? { foreign: random.int(0, plan.sites.length - 1) } : {};
  return chosen.length === 0 ? plan : { ...plan, renewal: { lifetime: LIFETIME, ends, ...foreign } };
}

/** The two routers of a site run on one machine, and have all of its links. */
function withShared(plan: WorldPlan, random: Random): WorldPlan {
  const shares = random.pick(['expected', 'unexpected'] as const);
  const sites = plan.sites.map((site) => {
    if (site.sibling === undefined) return site;
    const { index, router } = site.sibling;
    return { ...site, sibling: { index, router, shares } };
  });
  return { ...plan, sites, links: plan.links.filter(({ from }) => sites[from]?.sibling?.router !== 'second') };
}

function withVisitor(plan: WorldPlan, random: Random): WorldPlan {
  const link = random.pick(plan.links);
  return link === undefined ? plan : { ...plan, visitor: link.name };
}

function withDecoys(plan: WorldPlan, random: Random): WorldPlan {
  const drawDecoy = (): Decoy => random.pick(['nobody', 'closed', 'self']);
  return { ...plan, links: plan.links.map((link) => (random.chance(0.6) ? { ...link, decoy: drawDecoy() } : link)) };
}

function withSpecialKeys(plan: WorldPlan, random: Random): WorldPlan {
  const drawKey = (): KeyPlan => ({
    ...(random.chance(0.5) ? { destination: random.pick(['priority', 'weighted'] as const) } : {}),
    ...(random.chance(0.5) ? { observer: random.pick(['auto', 'http1', 'http2'] as const) } : {}),
    ...(random.chance(0.3) ? { deadHost: true } : {}),
  });
  return { ...plan, special: Array.from({ length: plan.keys }, drawKey) };
}

/** One part is kept for each owner that can open a link (`Shares`). */
const MEMORY_OF_OWNER = 3_300_000;

/** Routers have room for their links, and not for all connections. */
function withLittleMemory(plan: WorldPlan, random: Random): WorldPlan {
  const { sites, links: all } = plan;
  const most = Math.max(...sites.map((_, site) => all.filter(({ from, to }) => from === site || to === site).length));
  // All links of a site are one owner's, whichever of its routers opens them, and both of a machine do.
  const siteOf = (index: number): number => (sites[index]?.sibling?.router === 'second' ? sites[index].sibling.index : index);
  const areOfOne = (one: LinkPlan, other: LinkPlan): boolean => siteOf(one.from) === siteOf(other.from) && one.to === other.to;
  const ofPair = Math.max(...all.map((one) => all.filter((other) => areOfOne(one, other)).length));
  const routers = sites.some(({ sibling }) => sibling?.shares !== undefined) ? 2 : 1;
  return { ...plan, memory: (most + plan.keys + 3) * ofPair * routers * MEMORY_OF_OWNER * random.pick([1, 1.5, 2]) };
}

function withSlow(sites: readonly SitePlan[], random: Random): readonly SitePlan[] {
  return sites.map((site) => (random.chance(0.5) ? { ...site, slow: true } : site));
}

/** One of those that others may pass through, and that have one router only. */
function withLiar(sites: readonly SitePlan[], random: Random): readonly SitePlan[] {
  const chosen = random.int(0, sites.length - 1);
  return sites.map((site, index) =>
    index === chosen && !site.edge && site.sibling === undefined && site.moves === undefined ? { ...site, lies: true } : site,
  );
}

/** Some of those to which others link, and which have one router only. */
function withMoving({ sites, links: drawn }: Pick<WorldPlan, 'sites' | 'links'>, random: Random): readonly SitePlan[] {
  return sites.map((site, index) =>
    site.sibling === undefined && drawn.some(({ to }) => to === index) && random.chance(0.6) ? { ...site, moves: true } : site,
  );
}

/** One of the sites has two routers, on two machines. */
function withSibling(sites: readonly SitePlan[], drawn: readonly LinkPlan[], random: Random): Pick<WorldPlan, 'sites' | 'links'> {
  const first = random.int(0, sites.length - 1);
  const one = sites[first];
  if (one === undefined || one.edge) return { sites, links: drawn };
  const second = sites.length;
  const ends = (): { readonly ends?: number } => (random.chance(0.5) ? { ends: random.int(5, 9) } : {});
  const other: SitePlan = {
    edge: false,
    listeners: one.listeners,
    connectors: random.chance(0.5) ? one.connectors : [],
    sibling: { index: first, router: 'second', ...ends() },
  };
  const both = sites.map((site, index) => (index === first ? { ...site, sibling: { index: second, router: 'main', ...ends() } } : site));
  const to = random.int(0, second - 1);
  const link: LinkPlan = { name: `link-${drawn.length}`, from: second, to, cost: 1, role: 'inter-router' };
  return { sites: [...both, other], links: to === first || random.chance(0.5) ? drawn : [...drawn, link] };
}

/** A site without incoming links gets a second link: a path between others, if edge links allowed transit. */
function addGuest(drawn: LinkPlan[], count: number, random: Random): number | undefined {
  const guests = Array.from({ length: count }, (_, site) => site).filter((site) => !drawn.some(({ to }) => to === site));
  const guest = random.pick(guests);
  if (guest === undefined) return undefined;
  const others = Array.from({ length: count }, (_, site) => site).filter(
    (site) => site !== guest && !drawn.some(({ from, to }) => from === guest && to === site),
  );
  const to = random.pick(others);
  if (to !== undefined) drawn.push({ name: `link-${drawn.length}`, from: guest, to, cost: 1, role: 'edge' });
  return guest;
}

type Shape = 'chain' | 'ring' | 'star' | 'tree';

function links(count: number, shape: Shape, random: Random): LinkPlan[] {
  const created: LinkPlan[] = [];
  const link = (one: number, other: number): void => {
    const [from, to] = random.chance(0.5) ? [one, other] : [other, one];
    created.push({ name: `link-${created.length}`, from, to, cost: random.int(1, 3), role: 'inter-router' });
  };
  for (let site = 1; site < count; site += 1) link(site, shape === 'star' ? 0 : shape === 'tree' ? random.int(0, site - 1) : site - 1);
  if (shape === 'ring') link(0, count - 1);
  if (random.chance(0.3)) link(random.int(0, count - 2), count - 1);
  return created;
}

function some(count: number, probability: number, random: Random): number[] {
  return Array.from({ length: count }, (_, number) => number).filter(() => random.chance(probability));
}
