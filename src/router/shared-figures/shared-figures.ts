import { performance } from 'node:perf_hooks';
import type { Fields, Stream, StreamHandler } from '../../http2/contract.ts';
import type { Party } from '../../identity/revocation.ts';
import type { ShareOwner } from '../../limits/nested-fair-share.ts';
import type { Memory } from '../../memory/memory.ts';
import type { Routing } from '../../routing/contract.ts';
import type { ObservedRouter, RouterConfig, RouterFigures, RouterState } from '../contract.ts';
import { eventLoopDelay } from '../link/link-metrics.ts';
import type { Links } from '../link/links.ts';
import { refuse } from '../link/refusal.ts';
import type { LocalSide } from '../local/local-side.ts';
import type { OpenRequest } from '../route-request.ts';
import { collectFigures, isShared } from './collect-figures.ts';
import { FiguresServer } from './figures-server.ts';
import { NOT_SHARED, observeSite } from './observe-site.ts';

export interface SharedFiguresOptions {
  /** `SITE-ID/ROUTER`. */
  readonly self: string;
  readonly config: () => Pick<RouterConfig, 'site' | 'observe'>;
  readonly state: () => Pick<RouterState, 'links' | 'network'>;
  readonly links: Links;
  readonly local: Pick<LocalSide, 'keyMetrics'>;
  readonly routing: Pick<Routing, 'pathTo'>;
  readonly memory: Pick<Memory, 'add' | 'delete'>;
  readonly open: OpenRequest;
}

/** Gives the figures of this router to others as the site's setting permits, and asks routers of other sites for theirs. */
export class SharedFigures {
  readonly #options: SharedFiguresOptions;
  readonly #server: FiguresServer;
  readonly #startedAt = performance.now();

  constructor(options: SharedFiguresOptions) {
    this.#options = options;
    this.#server = new FiguresServer({ collect: () => this.#collect(), memory: options.memory });
  }

  /** @param from the sender of the request, whose hello proved its site */
  answer(stream: Stream, fields: Fields, from: Party, whose: ShareOwner): StreamHandler {
    const { observe = 'site', site } = this.#options.config();
    if (isShared(observe, from, fields, site.id)) return this.#server.answer(stream, whose);
    return this.refuse(stream);
  }

  refuse(stream: Stream): StreamHandler {
    return refuse(stream, 403, 'http_request_denied', `${NOT_SHARED}: this site does not share its figures with yours (settings.observe)`);
  }

  /** @returns undefined if no router of the site is reachable */
  observe(siteId: string): Promise<readonly ObservedRouter[] | undefined> {
    const { self, config, state, routing, open } = this.#options;
    return observeSite(siteId, {
      self,
      open,
      ownSite: config().site.id,
      network: state().network,
      pathTo: (router) => routing.pathTo(router),
      collect: () => this.#collect(),
    });
  }

  #collect(): RouterFigures {
    const { config, state, links, local } = this.#options;
    const { site } = config();
    const up = links.all.filter(({ state: now, peer }) => now === 'up' && peer.site.id !== site.id);
    return collectFigures({
      version: site.version,
      uptime: performance.now() - this.#startedAt,
      keys: local.keyMetrics,
      links: up.map(({ peer, isSilent, cost, roundTrip }) => ({ site: peer.site.id, isSilent, cost, roundTrip })),
      configured: Object.values(state().links),
      eventLoopDelay: eventLoopDelay(),
    });
  }
}
