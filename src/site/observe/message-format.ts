/** Message formats of conditions: the users and tools of a platform expect one of two. */
import type { ConditionNow } from '../../api/condition.ts';
import { conditionReason } from '../../errors/condition-reason.ts';
import type { Problem } from '../../router/contract.ts';
import { problemText, type ResourceProblem } from '../problem.ts';

/**
 * `codes`: a reason is a code of the catalogue, or the condition's type if it holds. `words`: a reason is `Ready`, `Pending` or `Error`,
 * and messages begin as those of Skupper's controller do, since its CLI and users' scripts parse both.
 */
export type MessageFormat = 'codes' | 'words';

/** Start of a Link's message, whatever the cause. */
export const NOT_OPERATIONAL = 'Not operational';

/** Start of the message about a selector without pods. */
export const NO_MATCHES = 'No matches for selector';

/** State of one condition. */
export type Progress =
  | { readonly kind: 'done'; /** Additional message. */ readonly note?: string }
  /** Something is missing and may come by itself. */
  | ({ readonly kind: 'waiting' } & Problem)
  /** A user has to change something. */
  | ({ readonly kind: 'failed'; /** Start of its message in `words`, where it waits. */ readonly waitsAs?: string } & Problem);

export function formatProgress(progress: Progress, wording: MessageFormat): Progress {
  if (progress.kind === 'done' || wording === 'codes') return progress;
  const { code, message } = progress;
  const waitsAs = progress.kind === 'failed' ? progress.waitsAs : undefined;
  const beginning = waitsAs ?? BEGINNINGS[code];
  // In this format, a resource that waits for a Site has failed.
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

/** Puts the field in front, or at the end if the message must begin with fixed words. */
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

/** The code of a message in `words`, by its beginning; undefined if several codes have it or none. */
export function codeOfMessage(message: string): Problem['code'] | undefined {
  return CODES_BY_BEGINNING.find(([beginning]) => message.startsWith(`${beginning}: `))?.[1];
}

const CODES_BY_BEGINNING: readonly (readonly [beginning: string, code: Problem['code']])[] = [
  ...(['no-site', 'no-connector', 'no-listener', 'no-endpoints', 'proxy-missing'] as const).flatMap((code) =>
    BEGINNINGS[code] === undefined ? [] : [[BEGINNINGS[code], code] as const],
  ),
  [NO_MATCHES, 'no-pods'],
];
