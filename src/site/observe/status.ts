import { mergeConditions, statusMessage, type Condition } from '../../api/condition.ts';
import type { StatusWord } from '../../api/skupper/index.ts';
import type { Problem } from '../../router/contract.ts';
import type { OwnView } from './view.ts';
import { conditionOf, formatProblem, formatProgress, type Progress } from './message-format.ts';

/** Fields that the status of every kind has. */
export interface CommonStatus {
  readonly status: StatusWord;
  readonly message: string;
  readonly conditions: readonly Condition[];
}

export const done: Progress = { kind: 'done' };

export function waiting(code: Problem['code'], message: string): Progress {
  return { kind: 'waiting', code, message };
}

export function failed({ code, message }: Problem): Progress {
  return { kind: 'failed', code, message };
}

/** The first condition that is not done; failed ones come before waiting ones. */
export function firstOf(...all: readonly Progress[]): Progress {
  return all.find(({ kind }) => kind === 'failed') ?? all.find(({ kind }) => kind === 'waiting') ?? done;
}

/**
 * Ready means that every condition holds: `Error` if one has failed, `Pending` if one waits. The message is that of the first condition
 * that does not hold, or the notes on a resource that works.
 * @param conditions by type, in order; `Ready` is added
 * @param more.needs further requirements of `Ready`, reported before what the conditions wait for
 * @param more.notes additional messages
 */
export function statusOf(
  conditions: Readonly<Record<string, Progress>>,
  view: OwnView,
  { needs = [], notes = [] }: { readonly needs?: readonly Progress[]; readonly notes?: readonly string[] } = {},
): CommonStatus {
  const { wording, own } = view;
  const all = Object.entries(conditions).map(([type, progress]) => [type, formatProgress(progress, wording)] as const);
  const ready = firstOf(...needs.map((progress) => formatProgress(progress, wording)), ...all.map(([, progress]) => progress));
  const next = [...all, ['Ready', ready] as const].map(([type, progress]) => conditionOf(type, progress, wording));
  // A wrong clock makes both certificates of a bundle invalid, and the router reports it too. One cause is reported once.
  const reported = ready.kind === 'done' ? undefined : ready.code;
  const others = own.filter(({ severity, code }) => severity === 'warning' && code !== reported);
  const warnings = others.map((problem) => formatProblem(problem, wording));
  return {
    status: ready.kind === 'done' ? 'Ready' : ready.kind === 'failed' ? 'Error' : 'Pending',
    message: statusMessage([ready.kind === 'done' ? 'OK' : ready.message, ...notes, ...warnings].join('; ')),
    conditions: mergeConditions(view.previous, next, view),
  };
}

/** Others provide what is missing: nothing is wrong with the resource itself. */
const AWAITED: ReadonlySet<Problem['code']> = new Set(['no-site', 'service-awaited', 'secret-awaited']);

/** First condition of every kind: whether the resource could be planned. */
export function configured({ own, wording }: Pick<OwnView, 'own' | 'wording'>): Progress {
  const errors = own.filter(({ severity }) => severity === 'error');
  const first = errors.find(({ code }) => !AWAITED.has(code)) ?? errors[0];
  if (first === undefined) return done;
  const all = [...new Set(errors.map((problem) => formatProblem(problem, wording)))];
  // One cause may stop several certificates of a Site. It is reported once.
  const message = all.filter((text) => !all.some((other) => other !== text && text.endsWith(other))).join('; ');
  return AWAITED.has(first.code) ? waiting(first.code, message) : failed({ code: first.code, message });
}

const starting = waiting('starting', 'the router starts');

/** Done if the router has it without a problem. */
export function inRouter(state: { readonly problem?: Problem } | undefined): Progress {
  if (state === undefined) return starting;
  return state.problem === undefined ? done : failed(state.problem);
}

/** Names are untrusted, so inherited properties do not count. */
export function stateOf<T>(states: Readonly<Record<string, T>> | undefined, name: string): T | undefined {
  return states !== undefined && Object.hasOwn(states, name) ? states[name] : undefined;
}
