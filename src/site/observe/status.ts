import type { StatusWord } from '../../api/skupper/index.ts';
import type { Problem } from '../../router/contract.ts';
import type { Condition } from '../../kube/objects.ts';
import { oneLine, settleConditions, type ConditionNow } from '../conditions.ts';
import { wordsOf, type ResourceProblem } from '../problem.ts';
import type { ResourceKey } from '../resources.ts';
import { conditionReason } from '../../errors/condition-reason.ts';

/** The fields that the status of every kind has. */
export interface CommonStatus {
  readonly status: StatusWord;
  readonly message: string;
  readonly conditions: readonly Condition[];
}

/** One step on the way to ready. */
export interface Step {
  /** The condition's type: `Configured`, `Matched`. */
  readonly type: string;
  readonly state: StepState;
}

export type StepState =
  | { readonly kind: 'done' }
  /** Something is still missing; it may come by itself. */
  | { readonly kind: 'waiting'; readonly code: Problem['code']; readonly message: string }
  /** Someone has to change something. */
  | { readonly kind: 'failed'; readonly code: Problem['code']; readonly message: string };

export const done: StepState = { kind: 'done' };

export function waiting(code: Problem['code'], message: string): StepState {
  return { kind: 'waiting', code, message };
}

export function failed({ code, message }: Problem): StepState {
  return { kind: 'failed', code, message };
}

export interface Moment {
  readonly now: string;
  readonly previous: readonly Condition[];
  readonly generation?: number;
}

/**
 * Ready means that every step is done: `Error` where one has failed, `Pending` where one still waits. The message is that of the first
 * step that is not done, or what is to be said of something that works.
 */
export function verdict(steps: readonly Step[], warnings: readonly string[], { now, previous, generation }: Moment): CommonStatus {
  const bad = steps.find(({ state }) => state.kind === 'failed') ?? steps.find(({ state }) => state.kind === 'waiting');
  const word: StatusWord = bad === undefined ? 'Ready' : bad.state.kind === 'failed' ? 'Error' : 'Pending';
  const first = bad === undefined || bad.state.kind === 'done' ? 'OK' : bad.state.message;
  const conditions = steps.map(({ type, state }): ConditionNow => conditionOf(type, state));
  conditions.push(bad === undefined ? conditionOf('Ready', done) : conditionOf('Ready', bad.state));
  return {
    status: word,
    message: oneLine([first, ...warnings].join('; ')),
    conditions: settleConditions(previous, conditions, now, generation),
  };
}

function conditionOf(type: string, state: StepState): ConditionNow {
  if (state.kind === 'done') return { type, status: 'True', reason: type, message: 'OK' };
  return { type, status: 'False', reason: conditionReason(state.code), message: state.message };
}

/** The first step of every kind: whether the resource could be planned at all. */
export function configured(problems: readonly ResourceProblem[]): StepState {
  const errors = problems.filter(({ severity }) => severity === 'error');
  const [first] = errors;
  if (first === undefined) return done;
  const message = errors.map(wordsOf).join('; ');
  // Without a Site nothing is wrong with the resource itself.
  return first.code === 'no-site' ? waiting(first.code, message) : failed({ code: first.code, message });
}

export function warningsOf(problems: readonly ResourceProblem[]): readonly string[] {
  return problems.filter(({ severity }) => severity === 'warning').map(wordsOf);
}

export function byResource(problems: readonly ResourceProblem[]): ReadonlyMap<ResourceKey, readonly ResourceProblem[]> {
  return Map.groupBy(problems, ({ resource }) => resource);
}
