/** Order in which the codes of an object's status can occur: which step reports each, and which steps have passed before (pure). */
import type { Problem } from '../../errors/problem.ts';
import type { Check } from '../chain.ts';
import { adviceOn, type ObjectProblem } from './object-problem.ts';
import type { Step } from '../step.ts';

/** A step of a chain that fails if the status has one of its codes. */
export interface Rung {
  readonly id: string;
  readonly codes: readonly Problem['code'][];
  /** Condition whose problems belong here if they have no code, or one that several steps report. */
  readonly condition?: string;
  /** Text of a step that has passed. Without it, a step that passes is left out. */
  readonly passes?: string | undefined;
  /** Whether the step is examined even after a failure. */
  readonly independent?: true;
  /** More precise result if the step has passed, or if it has failed. */
  refine?(step: Step, problem: ObjectProblem | undefined): Step | readonly Step[];
}

/** @param object such as `Listener/web` */
export function rungChecks(object: string, rungs: readonly Rung[], problem: ObjectProblem | undefined): readonly Check[] {
  const at = problem === undefined ? rungs.length : rungOf(rungs, problem);
  return rungs.map((rung, index) => ({
    id: rung.id,
    object,
    ...(rung.independent === undefined ? {} : { independent: true }),
    run: () => {
      const step = stepAt(object, rung, index - at, problem);
      const refined = rung.refine?.(step, index === at ? problem : undefined) ?? step;
      return [refined].flat().filter(({ says }) => says !== '');
    },
  }));
}

function stepAt(object: string, { id, passes = '' }: Rung, distance: number, problem: ObjectProblem | undefined): Step {
  if (problem === undefined || distance < 0) return { id, object, state: 'pass', says: passes };
  if (distance > 0) return { id, object, state: 'skip', says: passes === '' ? '' : 'not reached yet' };
  const { code, message, since } = problem;
  return { id, object, ...adviceOn(code), says: message, ...(since === undefined ? {} : { since }) };
}

/** Index of the step that reports the problem. A code is looked for at the problem's condition first. */
function rungOf(rungs: readonly Rung[], { code, condition }: ObjectProblem): number {
  const found = (isMeant: (rung: Rung) => boolean): number | undefined => {
    const index = rungs.findIndex(isMeant);
    return index < 0 ? undefined : index;
  };
  const has = ({ codes }: Rung): boolean => code !== undefined && codes.includes(code);
  return (
    found((rung) => has(rung) && rung.condition === condition) ??
    found(has) ??
    found((rung) => rung.condition === condition && condition !== undefined) ??
    rungs.length - 1
  );
}
