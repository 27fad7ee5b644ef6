/** Builds an explanation from the checks of an object, in the order in which traffic or a reconcile depends on them. */
import type { Explanation, Step, StepState } from './step.ts';

/** Result of a check. An array has one step for each checked thing, for example for each hop of a path. */
export type CheckResult = Step | readonly Step[];

/** A check. After a failure it is skipped, unless it is `independent` of the steps before it. */
export interface Check {
  readonly id: string;
  readonly object: string;
  readonly independent?: boolean;
  run(): CheckResult;
}

/** States from harmless to severe. */
const SEVERITY: readonly StepState[] = ['pass', 'skip', 'unknown', 'warn', 'wait', 'fail'];

/** Runs the checks. @param now time of the facts */
export function explainChain(object: string, checks: readonly Check[], now: Date): Explanation {
  const steps: Step[] = [];
  let failed: Step | undefined;
  for (const check of checks) {
    if (failed !== undefined && check.independent !== true) {
      steps.push({ id: check.id, state: 'skip', object: check.object, says: `not checked: ${failed.id} failed` });
      continue;
    }
    const results = [check.run()].flat();
    steps.push(...results);
    failed ??= results.find(({ state }) => state === 'fail');
  }
  return explanationOf(object, steps, now);
}

/** The explanation that consists of these steps. */
export function explanationOf(object: string, steps: readonly Step[], now: Date): Explanation {
  const cause = steps.find(({ state }) => state === 'fail') ?? steps.find(({ state }) => state === 'wait');
  return {
    object,
    verdict: worstOf(steps.map(({ state }) => state)),
    ...(cause === undefined ? {} : { cause }),
    steps,
    asOf: now.toISOString(),
  };
}

/** The most severe state; `pass` for none. */
export function worstOf(states: readonly StepState[]): StepState {
  return SEVERITY.findLast((state) => states.includes(state)) ?? 'pass';
}
