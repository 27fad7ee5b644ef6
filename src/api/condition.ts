/** metav1.Condition: how what is known now becomes what a status says, with the time since when it holds. */
import type { Condition } from '../kube/objects.ts';

export type { Condition };

export type ConditionNow = Pick<Condition, 'type' | 'status' | 'reason' | 'message'>;

/** A message may have 32,768 characters; people read far less. */
const MOST_CHARACTERS = 1024;

/**
 * The new conditions, in order, with the time of change kept where the status did not change. Conditions of other types in `previous`
 * belong to others and stay.
 * @param at `now` as RFC 3339, and the generation that was looked at
 */
export function mergeConditions(
  previous: readonly Condition[],
  next: readonly ConditionNow[],
  { now, generation }: { readonly now: string; readonly generation: number | undefined },
): readonly Condition[] {
  const before = new Map(previous.map((condition) => [condition.type, condition]));
  const ours = next.map(({ type, status, reason, message }): Condition => {
    const old = before.get(type);
    before.delete(type);
    return {
      type,
      status,
      ...(generation === undefined ? {} : { observedGeneration: generation }),
      lastTransitionTime: old?.status === status ? old.lastTransitionTime : now,
      reason,
      message: statusMessage(message),
    };
  });
  return [...ours, ...before.values()];
}

/** On one line, without control characters, and bounded: the text may quote anything. */
export function statusMessage(message: string): string {
  // oxlint-disable-next-line no-control-regex -- control characters are what is looked for
  const clean = message.replaceAll(/[\u0000-\u001F\u007F-\u009F\u2028\u2029]+/g, ' ');
  return clean.length > MOST_CHARACTERS ? `${clean.slice(0, MOST_CHARACTERS - 1)}…` : clean;
}
