export interface PlacesLimits {
  /** In all. */
  readonly most: number;
  /** For one group. */
  readonly mostOfGroup: number;
}

/**
 * A bounded number of places for what strangers hold open. A newcomer always gets one: where all are taken, the oldest of the group that
 * has most of them gives way, and where only those of its own group are taken, the oldest of that group. So nobody is kept out by those
 * who sit still, and who takes many places loses them first.
 */
export class FairPlaces<T> {
  readonly #limits: PlacesLimits;
  readonly #groupOf = new Map<T, string>();
  /** Of each group, the oldest first. */
  readonly #groups = new Map<string, Set<T>>();

  constructor(limits: PlacesLimits) {
    this.#limits = limits;
  }

  get size(): number {
    return this.#groupOf.size;
  }

  /** @returns who has lost its place to the newcomer */
  enter(newcomer: T, group: string): T | undefined {
    const own = this.#groups.get(group);
    const [oldest] =
      (own !== undefined && own.size >= this.#limits.mostOfGroup ? own : this.#isFull() ? this.#greediest() : undefined) ?? [];
    if (oldest !== undefined) this.leave(oldest);
    this.#groupOf.set(newcomer, group);
    const members = this.#groups.get(group);
    if (members === undefined) this.#groups.set(group, new Set([newcomer]));
    else members.add(newcomer);
    return oldest;
  }

  /** Also of who has none. */
  leave(member: T): void {
    const group = this.#groupOf.get(member);
    if (group === undefined) return;
    this.#groupOf.delete(member);
    const members = this.#groups.get(group);
    members?.delete(member);
    if (members?.size === 0) this.#groups.delete(group);
  }

  #isFull(): boolean {
    return this.#groupOf.size >= this.#limits.most;
  }

  #greediest(): Set<T> | undefined {
    let greediest: Set<T> | undefined;
    for (const members of this.#groups.values()) if (greediest === undefined || members.size > greediest.size) greediest = members;
    return greediest;
  }
}
