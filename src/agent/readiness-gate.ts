import type { RouterConfig, RouterRecord, RouterState } from '../router/contract.ts';
import { keysOf } from '../site/observe/network-status.ts';

/** Milliseconds: a link whose other end is gone must not keep a router from serving what it can. */
const PATIENCE = 10_000;

/**
 * Whether a router that has just started has arrived in the network. While others of its site serve clients it takes none off them before it
 * reaches what they reach; where it is the only one, no client is better off elsewhere. Once arrived it stays so, whatever goes down later.
 */
export class ReadinessGate {
  readonly #clock: () => number;
  #since: number | undefined;
  #arrived = false;
  /** What was looked at last: a large network takes tens of milliseconds, and whoever reaches the port for probes may ask a hundred times at once. */
  #seen: readonly unknown[] = [];
  #missing: string | undefined;

  /** @param clock milliseconds */
  constructor(clock: () => number) {
    this.#clock = clock;
  }

  /**
   * What it waits for; undefined once it has arrived.
   * @param others the routers of the site that serve
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
  // What a router says of itself comes before what it knows of others, and only by that listeners are opened.
  const known = new Set([...state.network.map((record) => record.site.id), ...revoked.sites]);
  const beyond = unreached(
    others.flatMap((name) => siblings.get(name) ?? []),
    state.network,
    known,
  );
  if (beyond !== undefined) return `starting: the site ${beyond}, which others of this site reach, is not reached yet`;
  // It knows who serves them a moment before they are open, and on a busy machine a long one.
  const shut = listeners.filter(({ name }) => state.listeners[name]?.listening !== true && state.listeners[name]?.problem === undefined);
  const wanted = new Set(shut.flatMap(({ destination }) => keysOf(destination)));
  const served = new Set<string>();
  for (const { keys } of wanted.size === 0 ? [] : state.network)
    for (const { routingKey, connectors } of keys) if (connectors > 0 && wanted.has(routingKey)) served.add(routingKey);
  const first = shut.find(({ destination }) => keysOf(destination).some((key) => served.has(key)));
  return first === undefined ? undefined : `starting: ${first.name} does not listen yet`;
}

/** A site to which the routers are linked, directly or over others, and whose record has not arrived. */
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
