import type { TestNetwork } from './network.ts';

/** Expected answers of a router, computed from the network itself by trying every simple path. */
export interface Reference {
  /** Least cost to each router that can be reached, by id. */
  readonly costs: ReadonlyMap<string, number>;
}

export function referenceFor(network: TestNetwork, from: string): Reference {
  const costs = new Map<string, number>();
  const edges = new Map(network.names.map((name) => [name, edgesOf(network, name)]));
  const connected = new Set([from]);
  for (const name of connected) for (const { to } of edges.get(name) ?? []) connected.add(to);
  const edgeSites = new Set([...connected].filter((name) => network.factsOf(name).edge).map(siteOf));
  const walk = (at: string, visited: ReadonlySet<string>, cost: number, confined: boolean): void => {
    costs.set(network.id(at), Math.min(cost, costs.get(network.id(at)) ?? Infinity));
    const isOwn = siteOf(at) === siteOf(from);
    for (const edge of edges.get(at) ?? []) {
      if (visited.has(edge.to) || (edge.confinesHere && !isOwn)) continue;
      if ((confined || (edgeSites.has(siteOf(at)) && !isOwn)) && siteOf(edge.to) !== siteOf(at)) continue;
      walk(edge.to, new Set([...visited, edge.to]), cost + edge.cost, confined || (edge.confinesThere && siteOf(edge.to) !== siteOf(from)));
    }
  };
  walk(from, new Set([from]), 0, false);
  return { costs };
}

interface Edge {
  readonly to: string;
  readonly cost: number;
  /** Each end confines the other, or does not. */
  readonly confinesThere: boolean;
  readonly confinesHere: boolean;
}

function edgesOf(network: TestNetwork, at: string): readonly Edge[] {
  const others = new Set(network.links.flatMap(({ ends }) => (ends.includes(at) ? ends.filter((end) => end !== at) : [])));
  return [...others].map((to) => {
    const [there, here] = [listed(network, at, to), listed(network, to, at)];
    return { to, cost: Math.max(there.cost, here.cost), confinesThere: there.confines, confinesHere: here.confines };
  });
}

/** One end's view of all links between two: those that it does not confine come before the others. */
function listed(network: TestNetwork, by: string, other: string): { readonly cost: number; readonly confines: boolean } {
  const links = network.links.filter(({ ends }) => ends.includes(by) && ends.includes(other));
  const free = links.filter(({ confines }) => confines !== by || siteOf(by) === siteOf(other));
  return { cost: Math.min(...(free.length > 0 ? free : links).map(({ cost }) => cost)), confines: free.length === 0 };
}

/** All differences between what these routers answer of each other and what they should, in words. */
export function differences(network: TestNetwork, keys: readonly string[], names = network.names): string[] {
  const found: string[] = [];
  const ids = new Set(names.map((name) => network.id(name)));
  for (const name of names) {
    const { costs } = referenceFor(network, name);
    const routing = network.routing(name);
    const reached = routing
      .network()
      .map(({ site, router }) => `${site.id}/${router}`)
      .filter((id) => ids.has(id))
      .sort();
    const expected = [...costs.keys()].filter((id) => ids.has(id)).sort();
    if (reached.join() !== expected.join()) found.push(`${name} reaches ${reached.length} routers, not ${expected.length}`);
    for (const key of keys) {
      const should = network.names.flatMap((other) => {
        const cost = costs.get(network.id(other));
        const fact = network.factsOf(other).keys.find(({ routingKey }) => routingKey === key);
        return cost === undefined || fact === undefined
          ? []
          : [{ router: network.id(other), cost, connectors: fact.connectors, listeners: fact.listeners }];
      });
      const destinations = should
        .filter(({ connectors }) => connectors > 0)
        .sort((left, right) => left.cost - right.cost || (left.router < right.router ? -1 : 1));
      const answered = routing.destinations(key).map(({ router, cost, connectors }) => `${router} ${cost} ${connectors}`);
      const wanted = destinations.map(({ router, cost, connectors }) => `${router} ${cost} ${connectors}`);
      if (answered.join() !== wanted.join()) found.push(`${name} finds ${key} at [${answered.join()}], not [${wanted.join()}]`);
      if (routing.hasListener(key) !== should.some(({ listeners }) => listeners > 0))
        found.push(`${name} is wrong about a listener of ${key}`);
    }
  }
  return found;
}

/** Faults that no answer may have, for any age or error of the records: a router visited twice, or an inconsistent path. */
export function impossiblePaths(network: TestNetwork, keys: readonly string[]): string[] {
  const found: string[] = [];
  for (const name of network.names) {
    for (const key of keys) {
      for (const { router, path, links, cost } of network.routing(name).destinations(key)) {
        const visited = [network.id(name), ...path];
        if (new Set(visited).size !== visited.length) found.push(`${name} would visit a router twice: ${visited.join(' ')}`);
        if (visited.at(-1) !== router) found.push(`${name} has a path to ${String(visited.at(-1))} for ${router}`);
        if (path.length > 32 || cost < path.length) found.push(`${name} has a path of ${path.length} routers and cost ${cost}`);
        if ((path.length === 0) !== (links.length === 0)) found.push(`${name} has ${links.length} links for a path of ${path.length}`);
        const firsts = network.links.filter((link) => links.includes(link.name)).flatMap((link) => link.ends.filter((end) => end !== name));
        if (firsts.some((first) => network.id(first) !== path[0]))
          found.push(`${name} would leave by a link that does not lead to ${String(path[0])}`);
      }
    }
  }
  return found;
}

function siteOf(name: string): string {
  return name.split('/')[0] ?? name;
}

/**
 * All differences, in words, between the records of these routers about each other and their own state, where links between
 * them alone connect them. Other routers may announce anything.
 */
export function disagreements(network: TestNetwork, names: readonly string[]): string[] {
  const found: string[] = [];
  const links = network.links.filter(({ ends }) => ends.every((end) => names.includes(end)));
  for (const name of names) {
    const routing = network.routing(name);
    const known = new Map(routing.network().map((record) => [`${record.site.id}/${record.router}`, record]));
    const reached = new Set([name]);
    for (const at of reached) for (const { ends } of links) if (ends.includes(at)) for (const end of ends) reached.add(end);
    for (const other of reached) {
      const id = network.id(other);
      const record = known.get(id);
      const { keys } = network.factsOf(other);
      const linksOf = network.links.filter(({ ends }) => ends.includes(other)).map((link) => `${link.name} ${link.cost}`);
      if (record === undefined) found.push(`${name} does not know ${other}`);
      else if (describe(record.keys) !== describe(keys))
        found.push(`${name} holds [${describe(record.keys)}] of ${other}, not [${describe(keys)}]`);
      else if (
        record.links
          .map((link) => `${link.name} ${link.cost}`)
          .sort()
          .join() !== linksOf.sort().join()
      )
        found.push(`${name} holds other links of ${other}`);
      for (const { routingKey, connectors } of keys) {
        const destination = routing.destinations(routingKey).find(({ router }) => router === id);
        if (connectors > 0 && destination?.connectors !== connectors) found.push(`${name} does not find ${routingKey} at ${other}`);
      }
    }
  }
  return found;
}

function describe(keys: readonly { readonly routingKey: string; readonly connectors: number; readonly listeners: number }[]): string {
  return keys
    .map(({ routingKey, connectors, listeners }) => `${routingKey} ${connectors} ${listeners}`)
    .sort()
    .join();
}
