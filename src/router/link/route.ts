/** Source routing: decides about a CONNECT by the routers that it still has to visit. Pure. */
import type { RouterId } from '../../routing/contract.ts';
import { LONGEST_PATH } from '../../routing/limits.ts';
import { isRouterId, siteOf } from '../../routing/names.ts';

export type RouteStep =
  /** Without a route, this router chooses the path. */
  | { readonly kind: 'enter' }
  /** This router is the last of the route. */
  | { readonly kind: 'accept' }
  | { readonly kind: 'forward'; readonly next: RouterId; readonly rest: string }
  | { readonly kind: 'refuse'; readonly status: 400 | 421 | 502 | 508; readonly reason: string };

/** Length of a route of 32 routers with the longest names. */
const MOST_CHARACTERS = LONGEST_PATH * 101;

/**
 * The first router of the field must be this one and is removed. A router in the field twice is an error, so that no connection visits a
 * router twice, whatever its sender wrote.
 * @param from ID of the site that sent the request
 */
export function nextStep(route: string | undefined, self: RouterId, edge: boolean, from?: string): RouteStep {
  if (route === undefined) return { kind: 'enter' };
  // The common case: no other router follows.
  if (route === self) return { kind: 'accept' };
  if (route.length > MOST_CHARACTERS) return refuse(508, 'the route is too long');
  const routers = route.split(' ');
  if (routers.length > LONGEST_PATH) return refuse(508, `the route has more than ${LONGEST_PATH} routers`);
  if (!routers.every(isRouterId)) return refuse(400, 'the route is malformed');
  if (new Set(routers).size !== routers.length) return refuse(508, 'the route visits a router twice');
  if (routers[0] !== self) return refuse(421, 'the route begins with another router');
  const next = routers[1];
  if (next === undefined) return { kind: 'accept' };
  const own = siteOf(self);
  // Routers of an edge site carry the site's own connections for each other.
  if (edge && from !== own && !routers.every((router) => siteOf(router) === own))
    return refuse(502, 'an edge site does not forward connections between other sites');
  return { kind: 'forward', next, rest: route.slice(self.length + 1) };
}

const refuse = (status: 400 | 421 | 502 | 508, reason: string): RouteStep => ({ kind: 'refuse', status, reason });
