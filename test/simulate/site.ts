import type { ConnectorConfig, Router, RouterConfig } from '../../src/router/contract.ts';
import { startRouter } from '../../src/router/router.ts';
import type { Logger } from '../../src/telemetry/log.ts';
import { hostOf, testBundle, testSite, type TestBundle } from './certificates.ts';
import type { Machine } from './network.ts';
import type { LinkPlan, SitePlan, WorldPlan } from './plan.ts';

export const ACCESS_PORT = 55_671;
export const EDGE_PORT = 45_671;
const SIBLING_PORT = 5_671;
const LISTENER_PORT = 9_000;
const SERVER_PORT = 8_000;

export const accessPort = ({ role }: LinkPlan): number => (role === 'edge' ? EDGE_PORT : ACCESS_PORT);
export const listenerPort = (key: number): number => LISTENER_PORT + key;
export const serverPort = (key: number): number => SERVER_PORT + key;
export const routingKey = (key: number): string => `key-${key}`;

/** A link as its site wants it now. */
export interface LinkWish extends LinkPlan {
  generation: number;
  /** Seconds from the world's begin until its certificate ends. */
  ends: number | undefined;
  deleted: boolean;
  wishedCost: number;
}

/** A site: what it wants, its machine, and the router that runs there, if any. */
export class Site {
  readonly index: number;
  readonly machine: Machine;
  readonly id: string;
  readonly plan: SitePlan;
  readonly links: readonly LinkWish[];
  readonly listeners: Set<number>;
  readonly connectors: Set<number>;
  readonly revokedSites = new Set<string>();
  readonly revokedSerials = new Set<string>();
  accessGeneration = 0;
  siblingGeneration = 0;
  /** Seconds from the world's begin until the certificate ends that it shows its sibling. */
  siblingEnds: number | undefined;
  saysEdge: boolean;
  /** Others may link to it. */
  hasAccess = true;
  router: Router | undefined;
  /** Listeners of which the router has been told last. */
  served: ReadonlySet<number> = new Set();
  readonly tls: WorldPlan['tls'];
  /** Whose key it has. */
  readonly #site: number;
  readonly #log: Logger;

  constructor(index: number, machine: Machine, plan: SitePlan, { links, tls }: WorldPlan, log: Logger) {
    this.index = index;
    this.machine = machine;
    this.plan = plan;
    this.siblingEnds = plan.sibling?.ends;
    this.saysEdge = plan.edge;
    this.#site = plan.sibling?.router === 'second' ? plan.sibling.index : index;
    this.id = testSite(this.#site).id;
    this.links = links
      .filter(({ from }) => from === index)
      .map((link) => ({ ...link, generation: 0, ends: undefined, deleted: false, wishedCost: link.cost }));
    this.listeners = new Set(plan.listeners);
    this.connectors = new Set(plan.connectors);
    this.tls = tls;
    this.#log = log;
  }

  /** It came in by ports for edge sites only. */
  get isGuest(): boolean {
    return this.plan.edge && this.links.length > 0 && this.links.every(({ role }) => role === 'edge');
  }

  get accessBundle(): TestBundle {
    return testBundle(this.index, 100 + this.accessGeneration, undefined, this.#site);
  }

  bundleOf({ generation, ends }: LinkWish): TestBundle {
    return testBundle(this.index, generation, ends, this.#site);
  }

  /** What its servers show. */
  get serverBundle(): TestBundle {
    return testBundle(this.index, 300, undefined, this.#site);
  }

  get name(): string {
    return this.plan.sibling?.router ?? 'main';
  }

  isSiblingOf(other: Site): boolean {
    return other !== this && other.id === this.id;
  }

  /** Runs a router from now on. */
  start(): void {
    this.#soon(() => {
      void startRouter(this.config(), {}, { log: this.#log }).then((router) => {
        this.router = router;
      });
    });
  }

  apply(): void {
    this.#soon(() => this.router?.apply(this.config()));
  }

  /** Closes what it has within so many milliseconds. */
  drain(deadline: number): void {
    const { router } = this;
    this.router = undefined;
    this.#soon(() => void router?.drain(deadline));
  }

  #siblings(): Pick<RouterConfig, 'siblings'> {
    const { sibling } = this.plan;
    if (sibling === undefined) return {};
    const tls = testBundle(this.index, 200 + this.siblingGeneration, this.siblingEnds, this.#site);
    const others = [{ router: sibling.router === 'main' ? 'second' : 'main', host: hostOf(sibling.index), port: SIBLING_PORT }];
    return { siblings: { kind: 'tls', port: SIBLING_PORT, tls, others } };
  }

  /** Whoever is asked of the router is asked in a turn of its machine. */
  #soon(run: () => void): void {
    this.machine.network.loop.soon(this.machine, run);
  }

  config(): RouterConfig {
    this.served = new Set(this.listeners);
    const { name: bundle, cert, key: privateKey, ca } = this.serverBundle;
    const { id, key } = testSite(this.#site);
    const name = `site-${this.#site}`;
    return {
      site: { id, name, namespace: name, platform: 'linux', version: '0.0.0' },
      siteKey: key,
      router: this.name,
      ...this.#siblings(),
      edge: this.saysEdge,
      listeners: [...this.listeners]
        .sort()
        .map((number) => ({
          name: `Listener/${number}`,
          host: '127.0.0.1',
          port: listenerPort(number),
          destination: { kind: 'key', routingKey: routingKey(number) },
          observer: 'none',
          ...(this.tls.listeners.includes(number) ? { tls: { name: bundle, cert, key: privateKey } } : {}),
        })),
      connectors: [...this.connectors]
        .sort()
        .map((number): ConnectorConfig => ({
          name: `Connector/${number}`,
          routingKey: routingKey(number),
          hosts: ['127.0.0.1'],
          port: serverPort(number),
          ...(this.tls.servers.includes(number) ? { tls: { bundle: { name: bundle, ca }, verifyHostname: false } } : {}),
        })),
      links: this.links
        .filter(({ deleted }) => !deleted)
        .map((link) => ({
          name: link.name,
          endpoints: [{ host: hostOf(link.to), port: accessPort(link) }],
          cost: link.wishedCost,
          tls: this.bundleOf(link),
        })),
      accesses: this.hasAccess
        ? [
            { name: 'access', port: ACCESS_PORT, tls: this.accessBundle, role: 'inter-router' },
            { name: 'edge', port: EDGE_PORT, tls: this.accessBundle, role: 'edge' },
          ]
        : [],
      revoked: { sites: [...this.revokedSites], serials: [...this.revokedSerials] },
    };
  }
}
