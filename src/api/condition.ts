/** metav1.Condition: how what is known now becomes what a status says, with the time since when it holds. */
import type { Condition } from '../kube/objects.ts';
import { printable } from '../text/printable.ts';

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
  return printable(message, MOST_CHARACTERS);
}
