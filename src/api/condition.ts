/** metav1.Condition: merges the current findings into the conditions of a status, with the time of the last transition. */
import type { Condition } from '../kube/objects.ts';
import { printable } from '../text/printable.ts';

export type { Condition };

export type ConditionNow = Pick<Condition, 'type' | 'status' | 'reason' | 'message'>;

/** metav1.Condition allows 32,768 characters. People read far less. */
const MOST_CHARACTERS = 1024;

/**
 * Returns the new conditions in order. `lastTransitionTime` is kept if the status did not change. Conditions of other types in
 * `previous` belong to other writers and are kept.
 * @param at `now` as RFC 3339, and the generation that was observed
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

/** Puts the message on one line, without control characters and bounded in length, because it may quote untrusted text. */
export function statusMessage(message: string): string {
  return printable(message, MOST_CHARACTERS);
}
