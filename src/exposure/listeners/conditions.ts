import type { Condition } from '../../kube/objects.ts';
import type { ConditionReason } from '../../errors/condition-reason.ts';

export type ConditionState = Pick<Condition, 'type' | 'status' | 'message'> & { readonly reason: ConditionReason };

/** metav1.Condition: a message has at most 32,768 characters; people read far less. */
const longestMessage = 1024;

/**
 * The new conditions, in order, with the transition time kept where the status did not change. Conditions of other
 * types in `previous` belong to others and stay.
 */
export function transition(
  previous: readonly Condition[],
  next: readonly ConditionState[],
  at: { readonly generation: number | undefined; readonly now: string },
): readonly Condition[] {
  const before = new Map(previous.map((condition) => [condition.type, condition]));
  const ours = next.map((state): Condition => {
    const old = before.get(state.type);
    before.delete(state.type);
    return {
      type: state.type,
      status: state.status,
      ...(at.generation === undefined ? {} : { observedGeneration: at.generation }),
      lastTransitionTime: old?.status === state.status ? old.lastTransitionTime : at.now,
      reason: state.reason,
      message: shorten(state.message),
    };
  });
  return [...ours, ...before.values()];
}

/** Cut to what a condition or an event holds, and to one line without control characters: the text may quote anything. */
export function shorten(message: string): string {
  // oxlint-disable-next-line no-control-regex -- control characters are what is looked for
  const oneLine = message.replaceAll(/[\u0000-\u001F\u007F]+/g, ' ');
  return oneLine.length > longestMessage ? `${oneLine.slice(0, longestMessage - 1)}…` : oneLine;
}
