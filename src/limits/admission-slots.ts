export interface AdmissionLimits {
  /** Number of members. */
  readonly most: number;
  /** Number of members of one group. */
  readonly mostOfGroup: number;
}

interface Group<T> {
  /** The oldest first. */
  readonly members: Set<T>;
  /** Members that had sent nothing when they were checked last. */
  readonly silent: Set<T>;
}

/**
 * Bounded slots for unauthenticated connections. New connections are always admitted. When all slots are taken, the oldest member of the
 * largest group is evicted. When the slots of its own group are taken, the oldest member of that group is evicted.
 *
 * Among groups of equal size, silent members are evicted first while they are at least half of all. So silent connections from many
 * addresses take at most half of the slots. Active ones cannot take all, since each new connection is silent at first.
 */
export class AdmissionSlots<T> {
  readonly #limits: AdmissionLimits;
  readonly #hasSent: (member: T) => boolean;
  readonly #groupOf = new Map<T, string>();
  readonly #groups = new Map<string, Group<T>>();
  /** Number of silent members of all groups. */
  #silent = 0;

  /** @param hasSent whether the member has sent anything */
  constructor(limits: AdmissionLimits, hasSent: (member: T) => boolean = () => false) {
    this.#limits = limits;
    this.#hasSent = hasSent;
  }

  get size(): number {
    return this.#groupOf.size;
  }

  /** Whether a new member takes a free slot, or one of a group that keeps at least as many as the group of the new member then has. */
  hasFairSlot(group: string): boolean {
    if (!this.#isFull()) return true;
    const own = this.#groups.get(group)?.members.size ?? 0;
    return this.#groups.values().some(({ members }) => members.size > own + 1);
  }

  /** @returns the member that is evicted for it */
  enter(member: T, group: string): T | undefined {
    const own = this.#groups.get(group);
    const isMuch = own !== undefined && own.members.size >= this.#limits.mostOfGroup;
    const oldest = isMuch ? firstOf(own.members) : this.#isFull() ? this.#greediest() : undefined;
    if (oldest !== undefined) this.leave(oldest);
    this.#groupOf.set(member, group);
    const { members, silent } = this.#groups.get(group) ?? this.#add(group);
    members.add(member);
    silent.add(member);
    this.#silent += 1;
    return oldest;
  }

  /** No-op if absent. */
  leave(member: T): void {
    const group = this.#groupOf.get(member);
    if (group === undefined) return;
    this.#groupOf.delete(member);
    const of = this.#groups.get(group);
    of?.members.delete(member);
    if (of?.silent.delete(member) === true) this.#silent -= 1;
    if (of?.members.size === 0) this.#groups.delete(group);
  }

  #add(name: string): Group<T> {
    const created = { members: new Set<T>(), silent: new Set<T>() };
    this.#groups.set(name, created);
    return created;
  }

  #isFull(): boolean {
    return this.#groupOf.size >= this.#limits.most;
  }

  #greediest(): T | undefined {
    for (;;) {
      const areSilent = this.#silent * 2 >= this.#groupOf.size;
      const group = this.#greediestGroup(areSilent);
      if (group === undefined || !areSilent || group.silent.size === 0) return firstOf(group?.members ?? []);
      const silent = this.#silentOf(group);
      if (silent !== undefined) return silent;
      // The whole group has sent something by now, and other groups may have: after all are checked, another group may be the largest.
      for (const each of this.#groups.values()) this.#silentOf(each);
    }
  }

  #greediestGroup(areSilent: boolean): Group<T> | undefined {
    const isOne = ({ members, silent }: Group<T>): boolean => (areSilent ? silent.size > 0 : silent.size < members.size);
    let greediest: Group<T> | undefined;
    for (const group of this.#groups.values()) {
      const more = group.members.size - (greediest?.members.size ?? 0);
      if (greediest === undefined || more > 0 || (more === 0 && isOne(group) && !isOne(greediest))) greediest = group;
    }
    return greediest;
  }

  #silentOf({ silent }: Group<T>): T | undefined {
    for (const member of silent) {
      if (!this.#hasSent(member)) return member;
      silent.delete(member);
      this.#silent -= 1;
    }
    return undefined;
  }
}

function firstOf<T>(all: Iterable<T>): T | undefined {
  const [first] = all;
  return first;
}
