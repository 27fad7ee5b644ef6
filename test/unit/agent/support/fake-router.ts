import assert from 'node:assert/strict';
import type { IssuedCertificate, Router, RouterConfig, RouterHooks, RouterState } from '../../../../src/router/contract.ts';

/** A router that applies each configuration and reports success; the test sets what is reachable and linked. */
export class FakeRouter implements Router {
  readonly configs: RouterConfig[] = [];
  hooks: RouterHooks | undefined;
  drained = false;
  links: RouterState['links'] = {};
  /** Routers of other sites. */
  others: RouterState['network'] = [];
  linksOpened = 0;
  /** Reports of routers of container networks. */
  siblingParts: RouterState['siblingParts'];
  /** Answers of the other end of a link. */
  onRenew: (link: string, request: string) => Promise<IssuedCertificate> = () => Promise.reject(new Error('no link'));
  #reachable: ReadonlySet<string> = new Set();
  readonly #listeners = new Set<() => void>();

  /** Passed to code that starts routers. */
  readonly start = (config: RouterConfig, hooks: RouterHooks): Promise<Router> => {
    this.hooks = hooks;
    this.apply(config);
    return Promise.resolve(this);
  };

  get config(): RouterConfig {
    const config = this.configs.at(-1);
    assert.ok(config, 'the router has a config');
    return config;
  }

  get state(): RouterState {
    const { listeners, connectors, accesses, site, router } = this.config;
    return {
      listeners: Object.fromEntries(
        listeners.map(({ name, destination }) => {
          const isReachable = destination.kind === 'key' && this.#reachable.has(destination.routingKey);
          return [name, { listening: isReachable, reachableKeys: isReachable ? [destination.routingKey] : [] }];
        }),
      ),
      connectors: Object.fromEntries(connectors.map(({ name }) => [name, { matched: false }])),
      links: this.links,
      linksOpened: this.linksOpened,
      accesses: Object.fromEntries(accesses.map(({ name, port }) => [name, { listening: true, port }])),
      incoming: [],
      ...(this.siblingParts === undefined ? {} : { siblingParts: this.siblingParts }),
      network: [{ router, site, edge: false, links: [], keys: [] }, ...this.others],
    };
  }

  probe(): Promise<undefined> {
    return Promise.resolve(undefined);
  }

  observe(): Promise<undefined> {
    return Promise.resolve(undefined);
  }

  reach(...keys: readonly string[]): void {
    this.#reachable = new Set(keys);
    this.changed();
  }

  changed(): void {
    for (const listener of this.#listeners) listener();
  }

  apply(config: RouterConfig): void {
    this.configs.push(config);
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  renew(link: string, request: string): Promise<IssuedCertificate> {
    return this.onRenew(link, request);
  }

  leave(): void {}

  drain(): Promise<void> {
    this.drained = true;
    return Promise.resolve();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return Promise.resolve();
  }
}
