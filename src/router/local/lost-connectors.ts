import type { LostSite } from '../contract.ts';
import type { RouteDestination } from '../routing/contract.ts';

/** What is known of a site, when the last of its connectors of a key can no longer be reached. */
export interface SiteView {
  destinations(routingKey: string): readonly RouteDestination[];
  /** Undefined for a site of which nothing is known. */
  site(siteId: string): { readonly name: string; readonly isReachable: boolean } | undefined;
  /** Why the last link with the site ended, while none is up. */
  linkEnd(siteId: string): string | undefined;
}

/** Sites that one key may name, and keys that are followed: bounds what peers can make us hold. */
const MOST_SITES = 8;
const MOST_KEYS = 4_096;

interface Known {
  readonly present: Set<string>;
  readonly lost: Map<string, LostSite>;
}

/** Remembers which sites had connectors of the routing keys that listeners here lead to, and why they no longer do. */
export class LostConnectors {
  readonly #ownSite: string;
  readonly #view: SiteView;
  readonly #byKey = new Map<string, Known>();

  constructor(ownSite: string, view: SiteView) {
    this.#ownSite = ownSite;
    this.#view = view;
  }

  /** @param routingKeys those of all listeners; what is known of others is forgotten */
  update(routingKeys: ReadonlySet<string>, now: number): void {
    for (const key of this.#byKey.keys()) if (!routingKeys.has(key)) this.#byKey.delete(key);
    for (const key of routingKeys) {
      const known = this.#byKey.get(key) ?? this.#follow(key);
      if (known !== undefined) this.#updateKey(key, known, now);
    }
  }

  /** Sites that had connectors of the key and have none now, the most recent first. */
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
    return { siteName, reason: end === undefined ? 'No path leads to the site any more.' : `The link with the site ended: ${end}` };
  }
}
