import type { Condition } from '../kube/objects.ts';

export interface ConditionNow {
  readonly type: string;
  readonly status: 'True' | 'False' | 'Unknown';
  readonly reason: string;
  readonly message: string;
}

/** metav1.Condition allows 32,768 characters; people read far less. */
const longestMessage = 1024;

/** Keeps each condition's time of change where its status did not change. @param now RFC 3339 */
export function settleConditions(
  previous: readonly Condition[],
  next: readonly ConditionNow[],
  now: string,
  generation?: number,
): readonly Condition[] {
  const before = new Map(previous.map((condition) => [condition.type, condition]));
  return next.map(({ type, status, reason, message }) => {
    const old = before.get(type);
    return {
      type,
      status,
      ...(generation === undefined ? {} : { observedGeneration: generation }),
      lastTransitionTime: old?.status === status ? old.lastTransitionTime : now,
      reason,
      message: oneLine(message),
    };
  });
}

/** On one line, without control characters, and bounded: the text may quote anything. */
export function oneLine(message: string): string {
  // oxlint-disable-next-line no-control-regex -- control characters are what is looked for
  const clean = message.replaceAll(/[\u0000-\u001F\u007F-\u009F\u2028\u2029]+/g, ' ');
  return clean.length > longestMessage ? `${clean.slice(0, longestMessage - 1)}…` : clean;
}
