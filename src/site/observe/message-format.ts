/** How conditions are worded: a platform's users and tools are used to one of two ways. */
import type { ConditionNow } from '../../api/condition.ts';
import { conditionReason } from '../../errors/condition-reason.ts';
import type { Problem } from '../../router/contract.ts';
import { problemText, type ResourceProblem } from '../problem.ts';

/**
 * `codes`: a reason is a code of the catalogue, and the type where the condition holds. `words`: a reason is `Ready`, `Pending` or `Error`, and
 * a message begins as that of Skupper's controller does, since its command line and its users' scripts read both.
 */
export type MessageFormat = 'codes' | 'words';

/** Of a Link, whatever is in its way. */
export const NOT_OPERATIONAL = 'Not operational';

/** How far one condition has come. */
export type Progress =
  | { readonly kind: 'done'; /** What is to be said nevertheless. */ readonly note?: string }
  /** Something is still missing; it may come by itself. */
  | ({ readonly kind: 'waiting' } & Problem)
  /** Someone has to change something. */
  | ({ readonly kind: 'failed'; /** In words it waits, and begins with this. */ readonly waitsAs?: string } & Problem);

export function formatProgress(progress: Progress, wording: MessageFormat): Progress {
  if (progress.kind === 'done' || wording === 'codes') return progress;
  const { code, message } = progress;
  const waitsAs = progress.kind === 'failed' ? progress.waitsAs : undefined;
  const beginning = waitsAs ?? BEGINNINGS[code];
  // What waits for a Site fails there.
  const kind = code === 'no-site' ? 'failed' : waitsAs === undefined ? progress.kind : 'waiting';
  return { kind, code, message: beginning === undefined ? message : `${beginning}: ${message}` };
}

export function conditionOf(type: string, progress: Progress, wording: MessageFormat): ConditionNow {
  if (progress.kind === 'done') {
    const message = progress.note === undefined ? 'OK' : `OK; ${progress.note}`;
    return { type, status: 'True', reason: wording === 'codes' ? type : 'Ready', message };
  }
  const { kind, code, message } = progress;
  const word = kind === 'failed' ? 'Error' : 'Pending';
  return { type, status: 'False', reason: wording === 'codes' ? conditionReason(code) : word, message };
}

/** With its field in front, or behind where a message must begin in a certain way. */
export function formatProblem(problem: ResourceProblem, wording: MessageFormat): string {
  const { field, message } = problem;
  if (wording === 'codes') return problemText(problem);
  const words = problem.beginning === undefined ? message : `${problem.beginning}: ${message}`;
  return field === undefined ? words : `${words.replace(/\.$/, '')} (${field})`;
}

const BEGINNINGS: { readonly [code in Problem['code']]?: string } = {
  'no-site': 'No active site in namespace',
  'no-connector': 'No matching connectors',
  'no-listener': 'No matching listeners',
  'no-endpoints': 'Pending',
  connecting: NOT_OPERATIONAL,
  'proxy-missing': 'Secret not found for proxy configuration',
};
