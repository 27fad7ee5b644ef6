import type { RouterConfig, RouterRecord, RouterState } from '../router/contract.ts';
import { keysOf } from '../site/observe/network-status.ts';

/** Milliseconds after which a router serves what it can, even if the other end of a link is gone. */
const PATIENCE = 10_000;

/**
 * Decides whether a router that has just started is ready. While replicas of its site serve clients, it waits until it reaches the same
 * sites. A single router does not wait, since clients have no alternative. Once ready, it stays ready.
 */
export class ReadinessGate {
  readonly #clock: () => number;
  #since: number | undefined;
  #arrived = false;
  /**
   * Input of the last check. A check of a large network takes tens of milliseconds, and the probe port may receive many requests at once.
   */
  #seen: readonly unknown[] = [];
  #missing: string | undefined;

  /** @param clock returns milliseconds */
  constructor(clock: () => number) {
    this.#clock = clock;
  }

  /**
   * Returns what the router waits for; undefined once it is ready.
   * @param others names of the site's routers that serve clients
   */
  waitsFor(config: RouterConfig, state: RouterState, others: readonly string[]): string | undefined {
    if (this.#arrived) return undefined;
    this.#since ??= this.#clock();
    const missing = others.length === 0 ? undefined : this.#missingIn(config, state, others);
    this.#arrived = missing === undefined || this.#clock() - this.#since >= PATIENCE;
    if (this.#arrived) this.#seen = [];
    return this.#arrived ? undefined : missing;
  }

  #missingIn(config: RouterConfig, state: RouterState, others: readonly string[]): string | undefined {
    const looked = [config, state, state.network, ...others];
    if (looked.length !== this.#seen.length || looked.some((one, at) => one !== this.#seen[at])) {
      this.#seen = looked;
      this.#missing = missingIn(config, state, others);
    }
    return this.#missing;
  }
}

function missingIn({ site, links, listeners, revoked }: RouterConfig, state: RouterState, others: readonly string[]): string | undefined {
  const siblings = new Map(state.network.flatMap((record) => (record.site.id === site.id ? [[record.router, record] as const] : [])));
  const router = others.find((name) => !siblings.has(name));
  if (router !== undefined) return `starting: not linked to the site's router ${router} yet`;
  const link = links.find(({ name }) => state.links[name]?.operational !== true);
  if (link !== undefined) return `starting: the link ${link.name} is not up yet`;
  // A router's own record arrives before the records of others, and listeners open only once those have arrived.
  const known = new Set([...state.network.map((record) => record.site.id), ...revoked.sites]);
  const beyond = unreached(
    others.flatMap((name) => siblings.get(name) ?? []),
    state.network,
    known,
  );
  if (beyond !== undefined) return `starting: the site ${beyond}, which other routers of this site reach, is not reached yet`;
  // The router knows the connectors of a listener before the listener is open, which can take long on a busy machine.
  const shut = listeners.filter(({ name }) => state.listeners[name]?.listening !== true && state.listeners[name]?.problem === undefined);
  const desired = new Set(shut.flatMap(({ destination }) => keysOf(destination)));
  const served = new Set<string>();
  for (const { keys } of desired.size === 0 ? [] : state.network)
    for (const { routingKey, connectors } of keys) if (connectors > 0 && desired.has(routingKey)) served.add(routingKey);
  const first = shut.find(({ destination }) => keysOf(destination).some((key) => served.has(key)));
  return first === undefined ? undefined : `starting: ${first.name} does not listen yet`;
}

/** Finds a site that is linked to the given routers, directly or through others, and whose record has not arrived. */
function unreached(from: readonly RouterRecord[], network: readonly RouterRecord[], known: ReadonlySet<string>): string | undefined {
  const bySite = Map.groupBy(network, ({ site }) => site.id);
  const passed = new Set(from);
  for (const { links } of passed) {
    for (const { siteId } of links) {
      if (!known.has(siteId)) return siteId;
      for (const record of bySite.get(siteId) ?? []) passed.add(record);
    }
  }
  return undefined;
}
