import { isDeepStrictEqual } from 'node:util';
import type { KeyFiguresView, RecordsView, Router, RouterConfig, RouterHooks, RouterState } from '../router/contract.ts';
import type { Logger } from '../telemetry/log.ts';

export type StartRouter = (config: RouterConfig, hooks: RouterHooks, options: { readonly log: Logger }) => Promise<Router>;

export interface RunningRouterOptions {
  readonly start: StartRouter;
  readonly hooks: RouterHooks;
  readonly log: Logger;
  readonly onChange: () => void;
}

/** The site's router, which starts with the first config. Only a changed config is applied. */
export class RunningRouter {
  readonly #options: RunningRouterOptions;
  #router: Router | undefined;
  #config: RouterConfig | undefined;
  /** The router has applied the whole config. */
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

  get records(): RecordsView | undefined {
    return this.#router?.records;
  }

  get keyFigures(): KeyFiguresView | undefined {
    return this.#router?.keyFigures;
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

  /** Returns whether link ports or the set of open links changed since the last call. Only that needs another reconcile. */
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

/** Link ports, open links, and the number of links opened so far. The number reveals a link that went down and up between two calls. */
export function linksIn({ accesses = {}, links = {}, linksOpened }: Partial<RouterState> = {}): string {
  return JSON.stringify([
    Object.entries(accesses).map(([name, { listening, port }]) => [name, listening, port]),
    Object.entries(links).map(([name, { operational }]) => [name, operational]),
    linksOpened,
  ]);
}

/** Plans that are the same object are not compared in depth. */
function isSame(before: RouterConfig | undefined, now: RouterConfig): boolean {
  if (before === undefined || before.siteKey !== now.siteKey) return false;
  if (before.listeners !== now.listeners || before.connectors !== now.connectors) return false;
  if (before.links !== now.links || before.accesses !== now.accesses || before.edge !== now.edge) return false;
  return isDeepStrictEqual(
    [before.site, before.router, before.revoked, before.siblings, before.reachedAt, before.memoryParts],
    [now.site, now.router, now.revoked, now.siblings, now.reachedAt, now.memoryParts],
  );
}
