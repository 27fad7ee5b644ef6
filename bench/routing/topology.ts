import { Random } from './random.ts';

/** Sites by number, and the links between them. */
export interface Topology {
  readonly sites: number;
  readonly links: readonly TopologyLink[];
  /** Sites that carry nothing for others. */
  readonly edge: ReadonlySet<number>;
}

export interface TopologyLink {
  readonly ends: readonly [number, number];
  readonly cost: number;
  /** Milliseconds, one way. */
  readonly delay: number;
}

export type Shape = 'tiers' | 'geometric';

export function makeTopology(shape: Shape, sites: number, seed: number): Topology {
  const random = new Random(seed);
  return shape === 'tiers' ? tiers(sites, random) : geometric(sites, random);
}

/** One site in a hundred in a full mesh, one in ten below two of those, all others edge sites below two of these. */
function tiers(sites: number, random: Random): Topology {
  const core = Math.max(2, Math.round(sites / 100));
  const middle = Math.max(2, Math.round(sites / 10));
  const links: TopologyLink[] = [];
  const link = (from: number, to: number, delay: number): void => {
    links.push({ ends: [from, to], cost: 1 + Math.floor(delay / 10), delay });
  };
  for (let site = 0; site < core; site += 1) for (let other = 0; other < site; other += 1) link(other, site, 10 + random.below(40));
  for (let site = core; site < sites; site += 1) {
    const [first, count] = site < core + middle ? [0, core] : [core, middle];
    const above = random.below(count);
    link(first + above, site, 2 + random.below(20));
    link(first + ((above + 1 + random.below(Math.max(1, count - 1))) % count), site, 2 + random.below(20));
  }
  return { sites, links, edge: new Set(Array.from({ length: sites - core - middle }, (_, index) => core + middle + index)) };
}

/** Points in a square, 80 ms across, each linked to its three nearest and to the nearest of those before it, so all hang together. */
function geometric(sites: number, random: Random): Topology {
  const points = Array.from({ length: sites }, () => [random.fraction(), random.fraction()] as const);
  const links = new Map<string, TopologyLink>();
  const distance = (from: number, to: number): number => {
    const [x1 = 0, y1 = 0] = points[from] ?? [];
    const [x2 = 0, y2 = 0] = points[to] ?? [];
    return Math.hypot(x1 - x2, y1 - y2);
  };
  for (let site = 0; site < sites; site += 1) {
    const others = points
      .map((_, index) => index)
      .filter((index) => index !== site)
      .sort((left, right) => distance(site, left) - distance(site, right));
    for (const other of [...others.slice(0, 3), ...others.filter((index) => index < site).slice(0, 1)]) {
      const [from, to] = site < other ? [site, other] : [other, site];
      const delay = 1 + distance(site, other) * 80;
      links.set(`${from} ${to}`, { ends: [from, to], cost: 1 + Math.floor(delay / 10), delay });
    }
  }
  return { sites, links: [...links.values()], edge: new Set() };
}
