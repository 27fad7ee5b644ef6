import { COST } from './costs.ts';
import type { ShareOwner } from '../limits/nested-fair-share.ts';

/** An object that holds memory for an owner and can be made to release it. */
export interface MemoryUser extends ShareOwner {
  /** Label of the metrics. */
  readonly kind: keyof typeof COST;
  /** Owner whose fair share is charged: `site ID`, `certificate NAME`, `key NAME` or `listener NAME`. */
  readonly owner: string;
  /** Approximate number of bytes held now. */
  readonly held: number;
  /** Ends the user. Its memory is released now or soon. */
  evict(reason: string): void;
}

/** A user, and the bytes that it held at the last scan. */
export type ChargedUser = readonly [MemoryUser, number];

/** All memory users by owner, so that a search within one owner costs time in proportion to that owner's users. */
export class MemoryUsers {
  readonly #byOwner = new Map<string, { readonly charges: Map<MemoryUser, number>; ofConnections: number }>();

  /** @returns the bytes charged */
  add(holder: MemoryUser): number {
    const { owner, held } = holder;
    const known = this.#byOwner.get(owner);
    const own = known ?? { charges: new Map<MemoryUser, number>(), ofConnections: 0 };
    if (known === undefined) this.#byOwner.set(owner, own);
    own.charges.set(holder, held);
    if (holder.kind === 'connection') own.ofConnections += held;
    return held;
  }

  has(holder: MemoryUser): boolean {
    return this.#byOwner.get(holder.owner)?.charges.has(holder) === true;
  }

  /** @returns the bytes that were charged; undefined if absent */
  delete(holder: MemoryUser): number | undefined {
    const own = this.#byOwner.get(holder.owner);
    const charge = own?.charges.get(holder);
    if (own === undefined || charge === undefined) return undefined;
    own.charges.delete(holder);
    if (holder.kind === 'connection') own.ofConnections -= charge;
    if (own.charges.size === 0) this.#byOwner.delete(holder.owner);
    return charge;
  }

  /** Scans all users. @param changed called for each user whose bytes changed since the last scan, with the difference */
  look(changed: (holder: MemoryUser, amount: number) => void): void {
    for (const { charges } of this.#byOwner.values()) {
      for (const holder of charges.keys()) {
        const amount = this.lookAt(holder);
        if (amount !== 0) changed(holder, amount);
      }
    }
  }

  /** @returns the change in bytes since the last scan; 0 if absent */
  lookAt(holder: MemoryUser): number {
    const own = this.#byOwner.get(holder.owner);
    const charge = own?.charges.get(holder);
    if (own === undefined || charge === undefined) return 0;
    const { held, kind } = holder;
    if (held === charge) return 0;
    own.charges.set(holder, held);
    if (kind === 'connection') own.ofConnections += held - charge;
    return held - charge;
  }

  /** Bytes charged for all connections of the owner. */
  ofConnections(owner: string): number {
    return this.#byOwner.get(owner)?.ofConnections ?? 0;
  }

  /** Returns the owner's users, the heaviest first. */
  heaviestOf(owner: string): readonly ChargedUser[] {
    return [...(this.#byOwner.get(owner)?.charges ?? [])].sort(byWeight);
  }
}

/** Orders by the bytes held beyond the base cost of the kind; of equal users, the kind with the lower cost comes first. */
function byWeight([one, charge]: ChargedUser, [other, otherCharge]: ChargedUser): number {
  return otherCharge - COST[other.kind] - (charge - COST[one.kind]) || COST[one.kind] - COST[other.kind];
}
