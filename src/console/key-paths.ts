/** Paths that connections of a routing key take through the network (pure). */
import { followPath, reachSites, type PathSite, type ReachedSite } from '../explain/connection/network-paths.ts';
import { limitTable } from '../limits/table.ts';
import type { CandidateView, KeyPathView } from './contract.ts';
import type { Facts, KeyFacts } from './facts.ts';

const pathSites = ({ sites }: Facts): readonly PathSite[] => sites.map(({ id, edge, links }) => ({ id, isEdge: edge, links }));

/**
 * The sites with a connector for a key, nearest first. Routers choose the path with the least cost.
 * @param key its sites and counts
 */
export function candidatesOf(facts: Facts, key: KeyFacts): readonly CandidateView[] {
  const [own] = facts.sites;
  const paths = reachSites(pathSites(facts), new Set(own && [own.id]), 'from');
  const names = namesOf(facts);
  return key.connectors
    .map(({ site, count }): CandidateView => {
      const found = paths.get(site);
      const path = found === undefined ? [] : followPath(paths, site).toReversed();
      return {
        site,
        name: names.get(site) ?? site,
        connectors: count,
        ...(found === undefined ? {} : { cost: found.cost }),
        path: path.map((id) => names.get(id) ?? id),
      };
    })
    .toSorted((one, other) => (one.cost ?? Infinity) - (other.cost ?? Infinity));
}

/** From each site with a listener to the sites with a connector that cost least. Several ones share its connections. */
export function keyPaths(facts: Facts, key: KeyFacts): readonly KeyPathView[] {
  return pathsOf(facts, key).take(MOST_PATHS).toArray();
}

const MOST_PATHS = limitTable.consolePaths.value;

function* pathsOf(facts: Facts, { listeners, connectors }: KeyFacts): Generator<KeyPathView, void> {
  const names = namesOf(facts);
  const reached = reachSites(pathSites(facts), new Set(connectors.map(({ site }) => site)), 'to');
  const nearest = nearestStarts(reached);
  const viewOf = (id: string): KeyPathView['path'][number] => ({ id, name: names.get(id) ?? id });
  for (const { site } of listeners) {
    const cost = reached.get(site)?.cost;
    if (cost === undefined) yield { from: viewOf(site), path: [] };
    else
      for (const to of nearest.get(site) ?? []) {
        const path = followPath(reached, site, (next) => next.find((id) => nearest.get(id)?.has(to)));
        yield { from: viewOf(site), to: viewOf(to), cost, path: path.map(viewOf) };
      }
  }
}

/** By site, the starts at the ends of all its paths of least cost. @param reached the nearest first, so that each site follows its next ones */
function nearestStarts(reached: ReadonlyMap<string, ReachedSite>): ReadonlyMap<string, ReadonlySet<string>> {
  const found = new Map<string, ReadonlySet<string>>();
  for (const [site, { next }] of reached) {
    // Most sites have one next neighbour, and share its set.
    const sets = new Set(next.flatMap((id) => found.get(id) ?? []));
    const [only] = sets;
    if (only === undefined) found.set(site, new Set([site]));
    else found.set(site, sets.size === 1 ? only : new Set([...sets].flatMap((each) => [...each]).slice(0, MOST_PATHS)));
  }
  return found;
}

const namesOf = ({ sites }: Facts): ReadonlyMap<string, string> => new Map(sites.map(({ id, name }) => [id, name]));
