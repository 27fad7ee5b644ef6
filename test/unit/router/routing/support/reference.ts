import type { TestNetwork } from './network.ts';

/** What a router should answer, worked out from the network itself by trying every simple path. */
export interface Reference {
  /** Least cost to each router that can be reached, by id. */
  readonly costs: ReadonlyMap<string, number>;
}

export function referenceFor(network: TestNetwork, from: string): Reference {
  const costs = new Map<string, number>();
  const edges = new Map<string, { readonly to: string; readonly cost: number }[]>(network.names.map((name) => [name, []]));
  for (const {
    ends: [left, right],
    cost,
  } of network.links) {
    edges.get(left)?.push({ to: right, cost });
    edges.get(right)?.push({ to: left, cost });
  }
  const connected = new Set([from]);
  for (const name of connected) for (const { to } of edges.get(name) ?? []) connected.add(to);
  const edgeSites = new Set([...connected].filter((name) => network.factsOf(name).edge).map(siteOf));
  const walk = (at: string, visited: ReadonlySet<string>, cost: number): void => {
    costs.set(network.id(at), Math.min(cost, costs.get(network.id(at)) ?? Infinity));
    const confined = edgeSites.has(siteOf(at)) && siteOf(at) !== siteOf(from);
    for (const edge of edges.get(at) ?? []) {
      if (visited.has(edge.to) || (confined && siteOf(edge.to) !== siteOf(at))) continue;
      walk(edge.to, new Set([...visited, edge.to]), cost + edge.cost);
    }
  };
  walk(from, new Set([from]), 0);
  return { costs };
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

/** What no answer may ever do, however old or wrong the records are: visit a router twice, or hang together wrongly. */
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
