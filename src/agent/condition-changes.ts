/** Changes of conditions that the leader of a site reported. */
import { limitTable } from '../limits/table.ts';
import type { AnyStatus } from '../site/observe/observe.ts';
import type { ResourceKey } from '../site/resources.ts';

export interface ConditionChange {
  /** RFC 3339. */
  readonly at: string;
  readonly kind: string;
  readonly name: string;
  readonly type: string;
  readonly status: string;
  /** Status before; null if there was no such condition. */
  readonly before: string | null;
  readonly reason: string;
  readonly message: string;
}

/** Conditions whose status or reason differs. Their messages alone may change all the time. */
export function listConditionChanges(
  before: ReadonlyMap<ResourceKey, AnyStatus>,
  now: ReadonlyMap<ResourceKey, AnyStatus>,
  at: string,
): readonly ConditionChange[] {
  const changes: ConditionChange[] = [];
  for (const [resource, { conditions = [] }] of now) {
    const earlier = before.get(resource)?.conditions ?? [];
    for (const { type, status, reason, message } of conditions) {
      const old = earlier.find((condition) => condition.type === type);
      if (old?.status === status && old.reason === reason) continue;
      const slash = resource.indexOf('/');
      const [kind, name] = [resource.slice(0, slash), resource.slice(slash + 1)];
      changes.push({ at, kind, name, type, status, before: old?.status ?? null, reason, message });
    }
  }
  return changes;
}

export interface ChangePage {
  /** The latest first. */
  readonly items: readonly ConditionChange[];
  /** Number of changes kept. */
  readonly total: number;
  /** Number of changes so far. */
  readonly latest: number;
}

/** The last changes. */
export class ConditionChanges {
  readonly #kept: ConditionChange[] = [];
  #added = 0;

  add(changes: readonly ConditionChange[]): void {
    this.#added += changes.length;
    this.#kept.push(...changes.slice(-MOST));
    if (this.#kept.length > MOST) this.#kept.splice(0, this.#kept.length - MOST);
  }

  /** @param number `latest` of an earlier page */
  after(number: number): ChangePage {
    const { length } = this.#kept;
    const fresh = Math.min(length, Math.max(0, this.#added - number));
    return { items: this.#kept.slice(length - fresh).toReversed(), total: length, latest: this.#added };
  }
}

const MOST = limitTable.conditionChanges.value;
