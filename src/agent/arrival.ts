import type { RouterConfig, RouterState } from '../router/contract.ts';
import { keysOf } from '../site/observe/network-status.ts';

/** Milliseconds: a link whose other end is gone must not keep a router from serving what it can. */
const PATIENCE = 10_000;

/**
 * Whether a router that has just started has arrived in the network. While others of its site serve clients it takes none off them before it
 * reaches what they reach; where it is the only one, no client is better off elsewhere. Once arrived it stays so, whatever goes down later.
 */
export class Arrival {
  readonly #clock: () => number;
  #since: number | undefined;
  #arrived = false;

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
    const missing = others.length === 0 ? undefined : missingIn(config, state, others);
    this.#arrived = missing === undefined || this.#clock() - this.#since >= PATIENCE;
    return this.#arrived ? undefined : missing;
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
  const beyond = others.flatMap((name) => siblings.get(name)?.links ?? []).find(({ siteId }) => !known.has(siteId));
  if (beyond !== undefined) return `starting: the site ${beyond.siteId}, to which others of this site are linked, is not reached yet`;
  // It knows who serves them a moment before they are open, and on a busy machine a long one.
  const served = new Set(
    state.network.flatMap(({ keys }) => keys.flatMap(({ routingKey, connectors }) => (connectors > 0 ? [routingKey] : []))),
  );
  const shut = listeners.find(({ name, destination }) => {
    const { listening, problem } = state.listeners[name] ?? { listening: false };
    return !listening && problem === undefined && keysOf(destination).some((key) => served.has(key));
  });
  return shut === undefined ? undefined : `starting: ${shut.name} does not listen yet`;
}
