import { LinkError } from './link-errors.ts';
import type { RequestHead, Stream, StreamHandler } from '../../http2/contract.ts';
import type { RouterId, RouterPath } from '../../routing/contract.ts';
import type { Link } from './link.ts';
import type { ShareOwner } from '../../limits/nested-fair-share.ts';

/** All links of a router, by ID. Two links between the same routers are two adjacencies. */
export class Links {
  readonly #links = new Map<string, Link>();

  get all(): IteratorObject<Link> {
    return this.#links.values();
  }

  get(id: string): Link | undefined {
    return this.#links.get(id);
  }

  add(link: Link): void {
    this.#links.set(link.id, link);
  }

  delete(link: Link): void {
    if (this.#links.get(link.id) === link) this.#links.delete(link.id);
  }

  /**
   * Whether a site has a link that is up and whose certificate is valid. Then older connections may outlive their own certificate: a client
   * connection continues as long as its site is still admitted.
   */
  vouchFor(siteId: string | undefined, dialed: boolean, now: number): boolean {
    if (siteId === undefined) return false;
    return this.#links
      .values()
      .some((link) => link.dialed === dialed && link.state === 'up' && link.peer.site.id === siteId && link.expires > now);
  }

  /** Opens a stream on the first link to the next router that accepts it, cheapest first. @throws LinkError if none does */
  openFirst(to: RouterPath, head: RequestHead, handler: StreamHandler, whose: ShareOwner): Stream {
    const links = to.links.map((id) => this.#links.get(id));
    return openFirst(links, head, handler, whose) ?? notUp(to.path[0] ?? to.router);
  }

  /** Least round trip in milliseconds of the links to an adjacent router, at the last pings; undefined before the first answer. */
  roundTripTo(next: RouterId): number | undefined {
    let least: number | undefined;
    for (const { router, roundTrip } of this.#links.values())
      if (router === next && roundTrip !== undefined) least = Math.min(least ?? Infinity, roundTrip);
    return least;
  }

  /**
   * Opens a stream to an adjacent router. Links that are not silent come first, then by cost, then by queued bytes.
   * @param leaves whether the request continues from that router's site to others
   * @throws LinkError
   */
  openTo(next: RouterId, leaves: boolean, head: RequestHead, handler: StreamHandler, whose: ShareOwner): Stream {
    const usable: Link[] = [];
    for (const link of this.#links.values()) {
      if (link.router === next && !(leaves && link.confined)) usable.push(link);
    }
    usable.sort((one, other) => Number(one.isSilent) - Number(other.isSilent) || one.cost - other.cost || one.queued - other.queued);
    return openFirst(usable, head, handler, whose) ?? notUp(next, leaves ? ' that leads beyond its site' : '');
  }
}

/** @returns undefined if none is up any more. @throws LinkError if those that are up have no room */
function openFirst(links: readonly (Link | undefined)[], head: RequestHead, handler: StreamHandler, whose: ShareOwner): Stream | undefined {
  let busy: LinkError | undefined;
  for (const link of links) {
    if (link?.state !== 'up') continue;
    try {
      return link.open(head, handler, whose);
    } catch (error) {
      if (!(error instanceof LinkError)) throw error;
      if (error.code === 'busy') busy = error;
      else if (error.code !== 'closed') throw error;
    }
  }
  if (busy !== undefined) throw busy;
  return undefined;
}

function notUp(next: RouterId, which = ''): never {
  throw new LinkError('closed', `There is no open link to ${next}${which}.`);
}
