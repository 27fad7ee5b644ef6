import { Amounts } from './amounts.ts';
import { FairShare } from './fair-share.ts';

/** A peer or a routing key; and for a peer, one of the routing keys that it uses. */
export interface ShareOwner {
  readonly owner: string;
  readonly key?: string | undefined;
}

/**
 * Fair shares of owners, and within each owner, of its keys. An owner claims a third more than its keys hold, and `FairShare` divides the
 * claims. The additional third is for small keys, however many other owners arrive. Each of N keys may hold an equal part of it, and a
 * new key is admitted while any of it is free.
 *
 * Invariants:
 * - An owner's claim is what it holds, plus up to a third of what its keys hold.
 * - While each owner asks before it takes, the claims never exceed the total.
 * - While an owner has N keys and nothing else, 1 / (3 (N + 1)) of its claim is free for the next key, less the amount that each key was
 *   admitted with.
 */
export class NestedFairShare {
  /** Amounts of owners. */
  readonly owners = new Amounts();
  /** Amounts of keys, by owner. */
  readonly #keys = new Map<string, Amounts>();
  readonly #claims: FairShare;

  /** The parameters of a `FairShare`. */
  constructor(most: number, lends = false) {
    this.#claims = new FairShare(most, lends);
  }

  /** Amount for all owners together. */
  get most(): number {
    return this.#claims.most;
  }

  set most(most: number) {
    this.#claims.most = most;
  }

  hasRoom({ owner, key }: ShareOwner, amount: number): boolean {
    if (key === undefined) return amount <= this.room(owner);
    const keys = this.#keysOf(owner);
    const held = this.owners.of(owner) + amount;
    const ofKeys = keys.total + amount;
    const ofKey = keys.of(key);
    const free = this.#claimFor(owner, held, ofKeys) - held;
    if (ofKey === 0 && free >= 0) return true;
    return free >= ofKeys / 3 || (ofKey + amount) * keys.owners <= free;
  }

  /** Amount that the owner may take outside of its keys. */
  room(owner: string): number {
    return this.#claimFor(owner, Infinity, 0) - this.owners.of(owner);
  }

  /** @param amount below zero to hold less */
  change({ owner, key }: ShareOwner, amount: number): void {
    this.owners.change(owner, amount);
    if (key !== undefined) this.#changeKey(owner, key, amount);
    const held = this.owners.of(owner);
    const ofKeys = this.#keysOf(owner).total;
    const claim = Math.min(neededFor(held, ofKeys), this.#claimFor(owner, held, ofKeys));
    // An amount that was admitted may have grown beyond the claim.
    this.#claims.change(owner, Math.max(held, claim) - this.#claims.held.of(owner));
  }

  #changeKey(owner: string, key: string, amount: number): void {
    const keys = this.#keys.get(owner) ?? new Amounts();
    keys.change(key, amount);
    if (keys.total === 0) this.#keys.delete(owner);
    else this.#keys.set(owner, keys);
  }

  #keysOf(owner: string): Pick<Amounts, 'total' | 'owners' | 'of'> {
    return this.#keys.get(owner) ?? NONE;
  }

  /** Returns the owner's claim, or the claim that it may have once it holds these amounts. */
  #claimFor(owner: string, held: number, ofKeys: number): number {
    const claimed = this.#claims.held.of(owner);
    return Math.max(claimed, Math.min(neededFor(held, ofKeys), claimed + Math.floor(this.#claims.room(owner))));
  }
}

const NONE = new Amounts();

const neededFor = (held: number, ofKeys: number): number => held + Math.ceil(ofKeys / 3);
