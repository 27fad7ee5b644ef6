import type { Link } from '../../src/router/link/link.ts';
import type { Router } from '../../src/router/contract.ts';
import type { MemoryUser } from '../../src/memory/memory-users.ts';
import type { Memory } from '../../src/memory/memory.ts';

/** Internals of a router that its users do not see: for inspection, and for misuse. */
export interface Inside {
  readonly links: { readonly all: Iterable<Link>; add(link: Link): void };
  readonly relayed: { readonly open: number; readonly total: number };
  /** Asked of each peer that is about to be let in. */
  isRevoked(party: object): boolean;
  routingMessage(link: Link, message: Buffer): void;
  readonly memory: Memory;
}

// The one that `startRouter` returns.
export const inside = (router: Router): Inside => router as unknown as Inside;

/** The usage charged to one owner's share of its memory, from now on. */
export interface Account {
  readonly holders: ReadonlySet<MemoryUser>;
  /** Bytes charged to owners without holders. */
  readonly charged: number;
}

export function accountOf(router: Router): Account {
  const { memory } = inside(router);
  const holders = new Set<MemoryUser>();
  const account = { holders, charged: 0 };
  const add = memory.add.bind(memory);
  memory.add = (holder) => {
    holders.add(holder);
    add(holder);
  };
  const remove = memory.delete.bind(memory);
  memory.delete = (holder) => {
    holders.delete(holder);
    remove(holder);
  };
  const charge = memory.charge.bind(memory);
  memory.charge = (whose, bytes) => {
    account.charged += bytes;
    charge(whose, bytes);
  };
  return account;
}
