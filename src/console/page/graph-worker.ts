/** Places sites by their links, in a thread of its own. The same sites and links always get the same places. */
import { forceCollide, forceLink, forceManyBody, forceSimulation, forceX, forceY, type SimulationNodeDatum } from 'd3-force';

export interface LayoutRequest {
  readonly number: number;
  readonly nodes: readonly string[];
  readonly links: readonly (readonly [from: string, to: string])[];
}

export interface LayoutAnswer {
  readonly number: number;
  readonly places: Readonly<Record<string, readonly [x: number, y: number]>>;
}

interface Node extends SimulationNodeDatum {
  readonly id: string;
}

const TICKS = 200;

onmessage = ({ data }: MessageEvent<LayoutRequest>): void => {
  const nodes = data.nodes.map((id): Node => ({ id, ...beginning(id) }));
  const links = data.links.map(([source, target]) => ({ source, target }));
  const simulation = forceSimulation(nodes)
    .force(
      'link',
      forceLink<Node, { source: string; target: string }>(links)
        .id(({ id }) => id)
        .distance(120),
    )
    .force('charge', forceManyBody().strength(-260))
    .force('collide', forceCollide(26))
    .force('x', forceX(0).strength(0.06))
    .force('y', forceY(0).strength(0.09))
    .stop();
  simulation.tick(TICKS);
  const places = Object.fromEntries(nodes.map(({ id, x = 0, y = 0 }) => [id, [x, y] as const]));
  const answer: LayoutAnswer = { number: data.number, places };
  postMessage(answer, { transfer: [] });
};

/** A place that depends on the ID only (FNV-1a). */
function beginning(id: string): { readonly x: number; readonly y: number } {
  let hash = 0x811c9dc5;
  for (let at = 0; at < id.length; at += 1) hash = Math.imul(hash ^ id.charCodeAt(at), 0x01000193) >>> 0;
  const angle = (hash % 3600) / 573;
  const radius = 40 + ((hash >>> 12) % 260);
  return { x: Math.cos(angle) * radius, y: Math.sin(angle) * radius };
}
