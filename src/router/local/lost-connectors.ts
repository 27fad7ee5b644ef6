import type { LostSite } from '../contract.ts';
import type { RouteDestination } from '../../routing/contract.ts';

/** View of routing and links when the last connector of a key at a site becomes unreachable. */
export interface SiteView {
  destinations(routingKey: string): readonly RouteDestination[];
  /** Undefined if the site is unknown. */
  site(siteId: string): { readonly name: string; readonly isReachable: boolean } | undefined;
  /** Returns why the last link with the site ended. Undefined while a link is up. */
  linkEnd(siteId: string): string | undefined;
}

/** Maximum number of sites for one key, and of tracked keys: bounds what peers can make this router hold. */
const MOST_SITES = 8;
const MOST_KEYS = 4_096;

interface Known {
  readonly present: Set<string>;
  readonly lost: Map<string, LostSite>;
}

/** Tracks which sites had connectors of the keys of this router's listeners, and why they no longer have them. */
export class LostConnectors {
  readonly #ownSite: string;
  readonly #view: SiteView;
  readonly #byKey = new Map<string, Known>();

  constructor(ownSite: string, view: SiteView) {
    this.#ownSite = ownSite;
    this.#view = view;
  }

  /** @param routingKeys keys of all listeners; other keys are forgotten */
  update(routingKeys: ReadonlySet<string>, now: number): void {
    for (const key of this.#byKey.keys()) if (!routingKeys.has(key)) this.#byKey.delete(key);
    for (const key of routingKeys) {
      const known = this.#byKey.get(key) ?? this.#follow(key);
      if (known !== undefined) this.#updateKey(key, known, now);
    }
  }

  /** Returns the sites that had connectors of the key and have none now, the most recent first. */
  of(routingKey: string): readonly LostSite[] {
    return [...(this.#byKey.get(routingKey)?.lost.values() ?? [])].toReversed();
  }

  #follow(key: string): Known | undefined {
    if (this.#byKey.size >= MOST_KEYS) return undefined;
    const known: Known = { present: new Set(), lost: new Map() };
    this.#byKey.set(key, known);
    return known;
  }

  #updateKey(routingKey: string, { present, lost }: Known, now: number): void {
    const sites = new Set<string>();
    for (const { router, connectors } of this.#view.destinations(routingKey)) {
      const site = router.slice(0, router.indexOf('/'));
      if (connectors > 0 && site !== this.#ownSite) sites.add(site);
    }
    for (const siteId of present) {
      if (sites.has(siteId)) continue;
      present.delete(siteId);
      lost.delete(siteId);
      lost.set(siteId, { routingKey, siteId, since: now, ...this.#describe(siteId) });
      if (lost.size > MOST_SITES) for (const oldest of lost.keys().take(1)) lost.delete(oldest);
    }
    for (const siteId of sites) {
      lost.delete(siteId);
      if (present.size < MOST_SITES) present.add(siteId);
    }
  }

  #describe(siteId: string): Pick<LostSite, 'siteName' | 'reason'> {
    const site = this.#view.site(siteId);
    const siteName = site?.name ?? siteId;
    if (site?.isReachable === true) return { siteName, reason: 'The site no longer has a connector of this routing key.' };
    const end = this.#view.linkEnd(siteId);
    return { siteName, reason: end === undefined ? 'The site is no longer reachable.' : `The link with the site ended: ${end}` };
  }
}
