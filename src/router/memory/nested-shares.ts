import { Shares } from './shares.ts';

/** Who has a part of something: a peer or a routing key; and of a peer, one of the routing keys that it asks for. */
export interface Whose {
  readonly owner: string;
  readonly key?: string | undefined;
}

/**
 * Shares of owners, and of what each of them may have, shares of its keys by the same rule: what one key of a site takes leaves room for the site's others, and
 * however many keys it has, it takes no more from other sites.
 */
export class NestedShares {
  readonly owners: Shares;
  readonly #keys = new Map<string, Shares>();

  /** @param most of all owners together */
  constructor(most: number) {
    this.owners = new Shares(most);
  }

  /** @param most where that changes */
  hasRoom({ owner, key }: Whose, amount: number, most: number = this.owners.most): boolean {
    const keys = key === undefined ? undefined : this.#keys.get(owner);
    const fits = (room: number): boolean => amount <= room && keys?.hasRoom(key ?? '', amount, true, keys.total + room) !== false;
    // Most of the time it ends here.
    return fits(most / 2 - this.owners.total) || fits(this.owners.room(owner, true, most));
  }

  /** @param amount below zero where less is held than before */
  change({ owner, key }: Whose, amount: number): void {
    this.owners.change(owner, amount);
    if (key === undefined) return;
    let keys = this.#keys.get(owner);
    if (keys === undefined) this.#keys.set(owner, (keys = new Shares(0)));
    keys.change(key, amount);
    if (keys.total === 0) this.#keys.delete(owner);
  }
}
