import type { Link } from '../../src/router/link/link.ts';
import type { Router } from '../../src/router/contract.ts';

/** What a router has that its users do not see: to look at, and for whoever misuses it. */
export interface Inside {
  readonly links: { readonly all: Iterable<Link>; add(link: Link): void };
  readonly relayed: { readonly open: number; readonly total: number };
  /** Asked of each peer that is about to be let in. */
  isRevoked(party: object): boolean;
  routingMessage(link: Link, message: Buffer): void;
}

// The one that `startRouter` returns.
export const inside = (router: Router): Inside => router as unknown as Inside;
