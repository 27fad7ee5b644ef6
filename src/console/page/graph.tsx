/** The network as a graph. The tables of the same view say all that it shows. */
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { KeyPathView, LinkView, SiteView } from '../contract.ts';
import type { LayoutAnswer, LayoutRequest } from './graph-worker.ts';
import { byteRate, count } from './format.ts';
import { trafficOf } from './link.tsx';
import { Empty, Panel } from './parts.tsx';

/** Beyond this number, edge sites and sites with one link are counted at their neighbour. */
const MOST_NODES = 300;

interface Folded {
  readonly nodes: readonly SiteView[];
  readonly links: readonly LinkView[];
  /** Number of sites that are folded into a site. */
  readonly more: ReadonlyMap<string, number>;
}

/** @param kept IDs of sites that are not folded */
export function foldSites(sites: readonly SiteView[], links: readonly LinkView[], kept: ReadonlySet<string> = new Set()): Folded {
  const known = new Set(sites.map(({ id }) => id));
  const inside = links.filter(({ from, to }) => known.has(from) && known.has(to) && from !== to);
  if (sites.length <= MOST_NODES) return { nodes: sites, links: inside, more: new Map() };
  const neighbours = new Map<string, string[]>();
  for (const { from, to } of inside) {
    neighbours.getOrInsertComputed(from, () => []).push(to);
    neighbours.getOrInsertComputed(to, () => []).push(from);
  }
  const folds = (site: SiteView): boolean => !site.isThis && (site.edge || new Set(neighbours.get(site.id)).size <= 1);
  const nodes = sites
    .filter((site) => kept.has(site.id) || !folds(site))
    .toSorted((one, other) => Number(kept.has(other.id)) - Number(kept.has(one.id)) || other.links - one.links)
    .slice(0, MOST_NODES);
  const shown = new Set(nodes.map(({ id }) => id));
  const more = new Map<string, number>();
  for (const { id } of sites) {
    const at = shown.has(id) ? undefined : neighbours.get(id)?.find((each) => shown.has(each));
    if (at !== undefined) more.set(at, (more.get(at) ?? 0) + 1);
  }
  return { nodes, links: inside.filter(({ from, to }) => shown.has(from) && shown.has(to)), more };
}

export interface GraphProps {
  readonly sites: readonly SiteView[];
  readonly links: readonly LinkView[];
  /** Paths that are emphasized. */
  readonly paths: readonly KeyPathView[];
}

export function Graph({ sites, links, paths }: GraphProps): JSX.Element {
  const folded = foldSites(sites, links, new Set(paths.flatMap(({ path }) => path.map(({ id }) => id))));
  const places = useLayout(folded);
  if (sites.length === 0) return <Empty title="No site to draw." />;
  const box = boxOf(folded.nodes.map(({ id }) => places[id]));
  const label = `Graph of ${count(folded.nodes.length)} sites and ${count(folded.links.length)} links. The tables have the same facts.`;
  const roles = rolesOf(paths);
  return (
    <Panel title="Graph" aside={<Legend hasPaths={paths.length > 0} />}>
      <svg class="graph" viewBox={box} role="img" aria-label={label}>
        <Edges links={folded.links} places={places} paths={paths} />
        {folded.nodes.map((site) => {
          const place = places[site.id];
          if (place === undefined) return null;
          const more = folded.more.get(site.id);
          const role = roles.get(site.id);
          return (
            <g key={site.id} transform={`translate(${place[0]} ${place[1]})`} class={site.isThis ? 'node this' : 'node'}>
              {site.edge ? <rect x="-8" y="-8" width="16" height="16" rx="2" /> : <circle r="9" />}
              <text y="23">{more === undefined ? site.name : `${site.name} +${more}`}</text>
              {role !== undefined && (
                <text y="37" class="role">
                  {role}
                </text>
              )}
            </g>
          );
        })}
      </svg>
      {folded.more.size > 0 && (
        <p class="foot">Edge sites and sites with one link are counted at their neighbour: +{count(sum(folded.more))}.</p>
      )}
    </Panel>
  );
}

/** Roles of the sites at the ends of paths, by ID. */
function rolesOf(paths: readonly KeyPathView[]): ReadonlyMap<string, string> {
  const [from, to] = [new Set(paths.map((path) => path.from.id)), new Set(paths.flatMap((path) => path.to?.id ?? []))];
  return new Map([...from.union(to)].map((id) => [id, from.has(id) ? (to.has(id) ? 'listener, connector' : 'listener') : 'connector']));
}

/** Beyond this number, figures at links would cover the sites. */
const MOST_LABELLED = 60;

interface EdgesProps {
  readonly links: readonly LinkView[];
  readonly places: LayoutAnswer['places'];
  readonly paths: readonly KeyPathView[];
}

function Edges({ links, places, paths }: EdgesProps): JSX.Element {
  const onPath = new Set(paths.flatMap(({ path }) => path.slice(1).map(({ id }, at) => pairOf(path[at]?.id ?? '', id))));
  // Links of each direction between two sites are drawn at one place.
  const pairs = Map.groupBy(links, ({ from, to }) => pairOf(from, to));
  const lines = [...pairs].flatMap(([pair, of]) => {
    const [first] = of;
    const [one, other] = [places[first?.from ?? ''], places[first?.to ?? '']];
    return one === undefined || other === undefined ? [] : [{ pair, of, one, other, traffic: sumOfTraffic(of) }];
  });
  return (
    <>
      {lines.flatMap(({ pair, of, one, other }) =>
        of.map(({ id, state }) => (
          <line key={id} class={`edge ${state}${onPath.has(pair) ? ' path' : ''}`} x1={one[0]} y1={one[1]} x2={other[0]} y2={other[1]} />
        )),
      )}
      {lines.length <= MOST_LABELLED &&
        lines.map(
          ({ pair, one, other, traffic }) =>
            traffic !== undefined && (
              <text key={pair} class="traffic" x={(one[0] + other[0]) / 2} y={(one[1] + other[1]) / 2 + 4}>
                {byteRate(traffic)}
              </text>
            ),
        )}
    </>
  );
}

const pairOf = (one: string, other: string): string => [one, other].toSorted().join(' ');

/** Undefined if no router of this site is at either end. */
function sumOfTraffic(links: readonly LinkView[]): number | undefined {
  const known = links.flatMap((link) => trafficOf(link) ?? []);
  return known.length === 0 ? undefined : known.reduce((total, each) => total + each, 0);
}

const sum = (numbers: ReadonlyMap<string, number>): number => [...numbers.values()].reduce((total, each) => total + each, 0);

function Legend({ hasPaths }: { readonly hasPaths: boolean }): JSX.Element {
  return (
    <span class="aside">
      ● this site, ○ others, □ edge sites; dashed links are silent or down{hasPaths ? '; bold ones are on a path' : ''}
    </span>
  );
}

function boxOf(places: readonly (readonly [number, number] | undefined)[]): string {
  const known = places.filter((place) => place !== undefined);
  if (known.length === 0) return '-100 -100 200 200';
  const [xs, ys] = [known.map(([x]) => x), known.map(([, y]) => y)];
  const [left, top] = [Math.min(...xs) - 60, Math.min(...ys) - 40];
  const [width, height] = [Math.max(...xs) + 60 - left, Math.max(...ys) + 50 - top];
  // A small network is not drawn larger than life.
  const [wide, high] = [Math.max(width, 900), Math.max(height, 340)];
  return `${left - (wide - width) / 2} ${top - (high - height) / 2} ${wide} ${high}`;
}

/** Asks the worker when sites or links come or go. Until it answers, the places before stay. */
function useLayout({ nodes, links }: Folded): LayoutAnswer['places'] {
  const [places, setPlaces] = useState<LayoutAnswer['places']>({});
  const ids = nodes.map(({ id }) => id).toSorted();
  const pairs = links.map(({ from, to }) => [from, to] as const).toSorted(([a, b], [c, d]) => `${a} ${b}`.localeCompare(`${c} ${d}`));
  const shape = JSON.stringify([ids, pairs]);
  useEffect(() => {
    const worker = startWorker();
    worker.addEventListener('message', ({ data }: MessageEvent<LayoutAnswer>) => setPlaces(data.places));
    const request: LayoutRequest = { number: 1, nodes: ids, links: pairs };
    worker.postMessage(request, []);
    return () => worker.terminate();
  }, [shape]);
  return places;
}

interface TrustedTypes {
  createPolicy(name: string, rules: { createScriptURL(url: string): string }): { createScriptURL(url: string): string };
}

/** The page's policy: no script but that of the graph, which is in the page's own folder. */
let policy: ReturnType<TrustedTypes['createPolicy']> | undefined;

function startWorker(): Worker {
  const file = document.documentElement.dataset['graphWorker'] ?? '';
  // Not every browser has Trusted Types, and the types of TypeScript lack them.
  const { trustedTypes } = globalThis as { readonly trustedTypes?: TrustedTypes };
  policy ??= trustedTypes?.createPolicy('earshot', {
    createScriptURL: (url) => {
      if (!/^assets\/graph-worker-\w+\.js$/.test(url)) throw new TypeError('this script is not part of the page');
      return url;
    },
  });
  return new Worker(policy?.createScriptURL(file) ?? file, { type: 'module' });
}
