import type { Destination } from '../contract.ts';
import type { RouteDestination, RouterId } from '../../routing/contract.ts';

/** A router that may take a connection. */
export interface Candidate {
  readonly routingKey: string;
  /** Destination; an empty path is a connector of this router. */
  readonly to: RouteDestination;
}

/** Inputs of a choice. */
export interface ChoiceView {
  destinations(routingKey: string): readonly RouteDestination[];
  /** Returns the number of connections that this router has open to connectors of the key at that router. */
  load(routingKey: string, router: RouterId): number;
  /** Whether the destination refused a moment ago, or its servers fail. It is tried after all others. */
  avoided(routingKey: string, to: RouteDestination): boolean;
  /** Whether the path is silent. Destinations with other paths come first, whatever their keys. */
  isSilent(to: RouteDestination): boolean;
  /** Returns a random number from 0 to below 1. */
  random(): number;
}

/**
 * Returns the candidates for a connection in the order of trying. Within one key: least path cost, then fewest connections for each
 * connector, then at random. Several keys by priority: all reachable candidates of one key precede the next key. Several keys by weight:
 * the order is drawn at random. Destinations that refused a moment ago come after all others, and those with only silent paths come last.
 */
export function candidatesInOrder(destination: Destination, view: ChoiceView): readonly Candidate[] {
  const keys = keysInOrder(destination, view);
  const [only] = keys;
  if (only === undefined) return [];
  const ordered = keys.length === 1 ? candidatesOf(only, view) : keys.flatMap((key) => candidatesOf(key, view));
  if (!ordered.some(({ routingKey, to }) => view.isSilent(to) || view.avoided(routingKey, to))) return ordered;
  const isAvoided = ({ routingKey, to }: Candidate): boolean => view.avoided(routingKey, to);
  const isSilent = ({ to }: Candidate): boolean => view.isSilent(to);
  const heard = ordered.filter((candidate) => !isSilent(candidate));
  return [...heard.filter((candidate) => !isAvoided(candidate)), ...heard.filter(isAvoided), ...ordered.filter(isSilent)];
}

/** Returns all keys that a destination names, each once. */
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

/** Returns the keys of the destination that have a reachable connector. */
export function reachableKeys(destination: Destination, view: Pick<ChoiceView, 'destinations'>): readonly string[] {
  return keysOf(destination).filter((key) => view.destinations(key).some(hasConnectors));
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

/** Draws without replacement, each time by weight. */
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
  const all = view.destinations(routingKey);
  const usable = all.every(hasConnectors) ? all : all.filter(hasConnectors);
  if (usable.length < 2) return usable.map((to) => ({ routingKey, to }));
  return usable
    .map((to) => ({ routingKey, to, load: view.load(routingKey, to.router) / to.connectors, tie: view.random() }))
    .sort((a, b) => a.to.cost - b.to.cost || a.load - b.load || a.tie - b.tie);
}

const hasConnectors = ({ connectors }: RouteDestination): boolean => connectors > 0;
