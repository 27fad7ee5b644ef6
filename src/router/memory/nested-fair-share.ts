import { Amounts } from './amounts.ts';
import { FairShare } from './fair-share.ts';

/** Who has a part of something: a peer or a routing key; and of a peer, one of the routing keys that it asks for. */
export interface ShareOwner {
  readonly owner: string;
  readonly key?: string | undefined;
}

/**
 * Shares of owners, and within those, shares of the keys that an owner asks for. An owner claims a third more than its keys have, and claims are
 * what has shares (`Shares`). What is claimed and not held is for those keys of the owner that have little, however many other owners come
 * meanwhile: of N keys each may have as much as an equal part of that, and one that has nothing is let in as long as there is any.
 *
 * Invariants: an owner's claim is what it holds, and up to a third more than that of what its keys hold. As long as each asks before it takes, claims
 * never exceed what there is; and while an owner has N keys and nothing else, 1 / (3 (N + 1)) of its claim, but for what each was let in with, or more,
 * is free for the next.
 */
export class NestedFairShare {
  /** What owners hold. */
  readonly owners = new Amounts();
  /** Of that, what their keys hold. */
  readonly #keys = new Map<string, Amounts>();
  readonly #claims: FairShare;

  /** As of `Shares`. */
  constructor(most: number, lends = false) {
    this.#claims = new FairShare(most, lends);
  }

  /** Of all owners together. */
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

  /** How much more the owner may have for what is no key's. */
  room(owner: string): number {
    return this.#claimFor(owner, Infinity, 0) - this.owners.of(owner);
  }

  /** @param amount below zero where less is held than before */
  change({ owner, key }: ShareOwner, amount: number): void {
    this.owners.change(owner, amount);
    if (key !== undefined) this.#changeKey(owner, key, amount);
    const held = this.owners.of(owner);
    const ofKeys = this.#keysOf(owner).total;
    const claim = Math.min(wantedFor(held, ofKeys), this.#claimFor(owner, held, ofKeys));
    // What was let in may have grown beyond it.
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

  /** What it claims, or may claim once it holds so much. */
  #claimFor(owner: string, held: number, ofKeys: number): number {
    const claimed = this.#claims.held.of(owner);
    return Math.max(claimed, Math.min(wantedFor(held, ofKeys), claimed + Math.floor(this.#claims.room(owner))));
  }
}

const NONE = new Amounts();

const wantedFor = (held: number, ofKeys: number): number => held + Math.ceil(ofKeys / 3);
