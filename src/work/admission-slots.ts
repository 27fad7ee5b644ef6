export interface AdmissionLimits {
  /** In all. */
  readonly most: number;
  /** For one group. */
  readonly mostOfGroup: number;
}

interface Group<T> {
  /** The oldest first. */
  readonly members: Set<T>;
  /** Those of them who had said nothing when they were looked at last. */
  readonly silent: Set<T>;
}

/**
 * A bounded number of places for what strangers hold open. A newcomer always gets one: where all are taken, the oldest of the group that
 * has most of them gives way, and where only those of its own group are taken, the oldest of that group. So nobody is kept out by those
 * who sit still, and who takes many places loses them first.
 *
 * Of groups that have as many, one gives way whose member has said nothing, while half of all are such: who comes fast from a great many
 * addresses, and says nothing, has half of the places, and not those of all who are in the midst of something. Nor do these have all, as each newcomer is silent
 * at first.
 */
export class AdmissionSlots<T> {
  readonly #limits: AdmissionLimits;
  readonly #hasSaid: (member: T) => boolean;
  readonly #groupOf = new Map<T, string>();
  readonly #groups = new Map<string, Group<T>>();
  /** Members of all groups that count as silent. */
  #silent = 0;

  /** @param hasSaid whether anything has come of it */
  constructor(limits: AdmissionLimits, hasSaid: (member: T) => boolean = () => false) {
    this.#limits = limits;
    this.#hasSaid = hasSaid;
  }

  get size(): number {
    return this.#groupOf.size;
  }

  /** @returns who has lost its place to the newcomer */
  enter(newcomer: T, group: string): T | undefined {
    const own = this.#groups.get(group);
    const isMuch = own !== undefined && own.members.size >= this.#limits.mostOfGroup;
    const oldest = isMuch ? firstOf(own.members) : this.#isFull() ? this.#greediest() : undefined;
    if (oldest !== undefined) this.leave(oldest);
    this.#groupOf.set(newcomer, group);
    const { members, silent } = this.#groups.get(group) ?? this.#add(group);
    members.add(newcomer);
    silent.add(newcomer);
    this.#silent += 1;
    return oldest;
  }

  /** Also of who has none. */
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
    const made = { members: new Set<T>(), silent: new Set<T>() };
    this.#groups.set(name, made);
    return made;
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
      // It has spoken since, and so may all others have: each is seen to have once, and then it may be another's turn.
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
      if (!this.#hasSaid(member)) return member;
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
