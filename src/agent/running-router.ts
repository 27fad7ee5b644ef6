import { isDeepStrictEqual } from 'node:util';
import type { Router, RouterConfig, RouterHooks, RouterState } from '../router/contract.ts';
import type { Logger } from '../telemetry/log.ts';

export type StartRouter = (config: RouterConfig, hooks: RouterHooks, options: { readonly log: Logger }) => Promise<Router>;

export interface RunningRouterOptions {
  readonly start: StartRouter;
  readonly hooks: RouterHooks;
  readonly log: Logger;
  readonly onChange: () => void;
}

/** The site's router, once there was a config to start it with. It is told what differs from before. */
export class RunningRouter {
  readonly #options: RunningRouterOptions;
  #router: Router | undefined;
  #config: RouterConfig | undefined;
  /** It has taken the config in whole. */
  #isApplied = false;
  #notified = '';

  constructor(options: RunningRouterOptions) {
    this.#options = options;
  }

  get running(): Router | undefined {
    return this.#router;
  }

  get config(): RouterConfig | undefined {
    return this.#config;
  }

  get state(): RouterState | undefined {
    return this.#router?.state;
  }

  async apply(config: RouterConfig): Promise<void> {
    if (this.#router !== undefined) {
      if (this.#isApplied && isSame(this.#config, config)) return;
      this.#config = config;
      this.#isApplied = false;
      this.#router.apply(config);
      this.#isApplied = true;
      return;
    }
    const { start, hooks, log, onChange } = this.#options;
    this.#config = config;
    this.#router = await start(config, hooks, { log });
    this.#isApplied = true;
    this.#router.onChange(onChange);
  }

  /** Whether what listens for links, or which links are up, is another since this was asked last: only that makes another pass. */
  linksChanged(): boolean {
    const now = linksIn(this.state);
    if (now === this.#notified) return false;
    this.#notified = now;
    return true;
  }

  leave(): void {
    this.#router?.leave();
  }

  async drain(deadline: number): Promise<void> {
    await this.#router?.drain(deadline);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#router?.[Symbol.asyncDispose]();
  }
}

/** What listens for links, which are up, and how often one has come up: a pass may have looked in the moment in which one was down. */
export function linksIn({ accesses = {}, links = {}, linksOpened }: Partial<RouterState> = {}): string {
  return JSON.stringify([
    Object.entries(accesses).map(([name, { listening, port }]) => [name, listening, port]),
    Object.entries(links).map(([name, { operational }]) => [name, operational]),
    linksOpened,
  ]);
}

/** Of two plans that are one object nothing is compared. */
function isSame(before: RouterConfig | undefined, now: RouterConfig): boolean {
  if (before === undefined || before.siteKey !== now.siteKey) return false;
  if (before.listeners !== now.listeners || before.connectors !== now.connectors) return false;
  if (before.links !== now.links || before.accesses !== now.accesses || before.edge !== now.edge) return false;
  return isDeepStrictEqual(
    [before.site, before.router, before.revoked, before.siblings, before.reachedAt],
    [now.site, now.router, now.revoked, now.siblings, now.reachedAt],
  );
}
