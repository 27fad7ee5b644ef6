import type { Destination } from '../contract.ts';
import type { RouteDestination, RouterId } from '../routing/contract.ts';

/** A router that may take a connection. */
export interface Candidate {
  readonly routingKey: string;
  /** With an empty path: a connector of this router. */
  readonly to: RouteDestination;
}

/** What is known at the time of a choice. */
export interface ChoiceView {
  destinations(routingKey: string): readonly RouteDestination[];
  /** Connections that this router has open to connectors of the key at that router. */
  load(routingKey: string, router: RouterId): number;
  /** It refused a moment ago, or its servers fail: it is tried after all others. */
  avoided(routingKey: string, to: RouteDestination): boolean;
  /** The way there is silent: other destinations come first, whatever their keys are. */
  isSilent(to: RouteDestination): boolean;
  /** From 0 to below 1. */
  random(): number;
}

/**
 * Where a connection may go, in the order of trying. Of one key: least path cost, then fewest connections for each
 * connector, ties by chance. Of several: by priority all of the first key that can be reached stand before the next; by
 * weight the first key is drawn, and the others follow as they would be drawn. Destinations that refused a moment ago come after all others, and
 * after these the ones that are reached over a silent link only.
 */
export function candidatesInOrder(destination: Destination, view: ChoiceView): readonly Candidate[] {
  const keys = keysInOrder(destination, view);
  const [only] = keys;
  if (only === undefined) return [];
  const ordered = keys.length === 1 ? candidatesOf(only, view) : keys.flatMap((key) => candidatesOf(key, view));
  const isAvoided = ({ routingKey, to }: Candidate): boolean => view.avoided(routingKey, to);
  const isSilent = ({ to }: Candidate): boolean => view.isSilent(to);
  if (!ordered.some((candidate) => isSilent(candidate) || isAvoided(candidate))) return ordered;
  const heard = ordered.filter((candidate) => !isSilent(candidate));
  return [...heard.filter((candidate) => !isAvoided(candidate)), ...heard.filter(isAvoided), ...ordered.filter(isSilent)];
}

/** All keys that a destination names, each once. */
export function keysOf(destination: Destination): readonly string[] {
  switch (destination.kind) {
    case 'key':
      return [destination.routingKey];
    case 'priority':
      return [...new Set(destination.routingKeys)];
    case 'weighted':
      return Object.keys(destination.routingKeys);
  }
}

/** The keys of it that have a connector which can be reached. */
export function reachableKeys(destination: Destination, view: Pick<ChoiceView, 'destinations'>): readonly string[] {
  return keysOf(destination).filter((key) => view.destinations(key).some(({ connectors }) => connectors > 0));
}

function keysInOrder(destination: Destination, view: ChoiceView): readonly string[] {
  if (destination.kind !== 'weighted') return keysOf(destination);
  const weights = reachableKeys(destination, view).map((key) => ({ key, weight: usableWeight(destination.routingKeys[key]) }));
  const sharing = drawn(
    weights.filter(({ weight }) => weight > 0),
    view,
  );
  const spare = drawn(
    weights.filter(({ weight }) => weight === 0).map(({ key }) => ({ key, weight: 1 })),
    view,
  );
  return [...sharing, ...spare];
}

const usableWeight = (weight: number | undefined): number => (weight !== undefined && weight > 0 && Number.isFinite(weight) ? weight : 0);

/** Draws without putting back, each time by weight. */
function drawn(weights: readonly { readonly key: string; readonly weight: number }[], view: ChoiceView): readonly string[] {
  const left = [...weights];
  const keys: string[] = [];
  while (left.length > 0) {
    const total = left.reduce((sum, { weight }) => sum + weight, 0);
    let rest = view.random() * total;
    let index = left.findIndex(({ weight }) => (rest -= weight) < 0);
    // The sum of the parts may fall short of the total by a rounding error.
    if (index === -1) index = left.length - 1;
    for (const { key } of left.splice(index, 1)) keys.push(key);
  }
  return keys;
}

function candidatesOf(routingKey: string, view: ChoiceView): readonly Candidate[] {
  const usable = view.destinations(routingKey).filter(({ connectors }) => connectors > 0);
  if (usable.length < 2) return usable.map((to) => ({ routingKey, to }));
  return usable
    .map((to) => ({ routingKey, to, load: view.load(routingKey, to.router) / to.connectors, tie: view.random() }))
    .sort((a, b) => a.to.cost - b.to.cost || a.load - b.load || a.tie - b.tie);
}
