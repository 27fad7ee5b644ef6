import { COST } from './costs.ts';
import type { ShareOwner } from '../../limits/nested-fair-share.ts';

/** What holds memory for somebody, and can be made to let go of it. */
export interface MemoryUser extends ShareOwner {
  /** For metrics. */
  readonly kind: keyof typeof COST;
  /** `site ID`, `certificate NAME`, `key NAME`, `listener NAME`: whose share it is part of. */
  readonly owner: string;
  /** Bytes, about, now. */
  readonly held: number;
  /** Ends it. It is gone, or will be soon. */
  letGo(reason: string): void;
}

/** With what it held at the last look. */
export type ChargedUser = readonly [MemoryUser, number];

/** All that hold memory, by owner: whoever looks for what one of them could let go of pays for what that one has. */
export class MemoryUsers {
  readonly #byOwner = new Map<string, { readonly charges: Map<MemoryUser, number>; ofConnections: number }>();

  /** @returns what it is charged */
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

  /** @returns what it was charged; undefined of one that is not there */
  delete(holder: MemoryUser): number | undefined {
    const own = this.#byOwner.get(holder.owner);
    const charge = own?.charges.get(holder);
    if (own === undefined || charge === undefined) return undefined;
    own.charges.delete(holder);
    if (holder.kind === 'connection') own.ofConnections -= charge;
    if (own.charges.size === 0) this.#byOwner.delete(holder.owner);
    return charge;
  }

  /** @param changed called for each that holds so much more than at the last look */
  look(changed: (holder: MemoryUser, amount: number) => void): void {
    for (const { charges } of this.#byOwner.values()) {
      for (const holder of charges.keys()) {
        const amount = this.lookAt(holder);
        if (amount !== 0) changed(holder, amount);
      }
    }
  }

  /** @returns how much more it holds than at the last look; nothing of one that is not there */
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

  /** What all connections of the owner are charged. */
  ofConnections(owner: string): number {
    return this.#byOwner.get(owner)?.ofConnections ?? 0;
  }

  /** What costs most first. */
  heaviestOf(owner: string): readonly ChargedUser[] {
    return [...(this.#byOwner.get(owner)?.charges ?? [])].sort(byWeight);
  }
}

/** What holds most besides what each of its kind costs comes first; of two that hold as much, the one that ends less. */
function byWeight([one, charge]: ChargedUser, [other, otherCharge]: ChargedUser): number {
  return otherCharge - COST[other.kind] - (charge - COST[one.kind]) || COST[one.kind] - COST[other.kind];
}
