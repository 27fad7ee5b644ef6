/** Result of checks of many objects, with their common causes (pure). */
import { worstOf } from './chain.ts';
import type { Explanation, Step, StepState } from './step.ts';

export interface CheckReport {
  readonly verdict: StepState;
  /** Objects, each with its chain. */
  readonly objects: readonly Explanation[];
  /** Findings that concern no single object. */
  readonly findings: readonly Step[];
  /** Time of the facts; RFC 3339. */
  readonly asOf: string;
}

/** A cause, and the objects that it affects: `12 Listeners: Link west is down`. */
export interface CommonCause {
  readonly step: Step;
  /** `Listener/web`; more than the object of the step itself. */
  readonly affected: readonly string[];
}

/** Lines of a report as users read it. Each step is one problem, however many objects it affects. */
export interface ReportLines {
  readonly causes: readonly CommonCause[];
  readonly findings: readonly Step[];
  /** Warnings of objects that work, about objects that no cause and no finding names. */
  readonly warnings: readonly Step[];
}

export function linesOf({ objects, findings }: Pick<CheckReport, 'objects' | 'findings'>): ReportLines {
  const troubled = objects.flatMap(({ object, cause }) => (cause === undefined ? [] : [object, cause.object]));
  const reported = new Set([...troubled, ...findings.map(({ object }) => object)]);
  const warned = objects.flatMap(({ cause, steps }) => (cause === undefined ? steps.filter(({ state }) => state === 'warn') : []));
  const warnings = warned.filter(({ object }) => !reported.has(object));
  return { causes: commonCauses({ objects }), findings, warnings };
}

export function reportOf(objects: readonly Explanation[], findings: readonly Step[], now: Date): CheckReport {
  const verdict = worstOf([...objects.map((object) => object.verdict), ...findings.map(({ state }) => state)]);
  return { verdict, objects, findings, asOf: now.toISOString() };
}

/** Causes of failures and waits, each with all objects that it affects, in order of severity. */
export function commonCauses({ objects }: Pick<CheckReport, 'objects'>): readonly CommonCause[] {
  const troubled = objects.flatMap(({ object, cause }) => (cause === undefined ? [] : [{ object, cause }]));
  const groups = Map.groupBy(troubled, ({ cause }) => `${cause.object} ${cause.code ?? ''} ${cause.state}`);
  const causes = [...groups.values()].flatMap((group): readonly CommonCause[] => {
    // The object's own chain has the most precise words.
    const [first] = group.toSorted((one, other) => Number(other.object === other.cause.object) - Number(one.object === one.cause.object));
    return first === undefined
      ? []
      : [{ step: first.cause, affected: group.map(({ object }) => object).filter((object) => object !== first.cause.object) }];
  });
  return causes.toSorted((one, other) => rankOf(one.step) - rankOf(other.step));
}

const rankOf = ({ state }: Step): number => (state === 'fail' ? 0 : 1);
