/** What the status of an object reports, as a step needs it (pure). */
import type { SkupperResource } from '../../api/skupper/index.ts';
import { catalogue, type ErrorCode } from '../../errors/catalogue.ts';
import { codeOfReason } from '../../errors/condition-reason.ts';
import { isConditionCode, type Problem } from '../../errors/problem.ts';
import { codeOfMessage } from '../../site/observe/message-format.ts';
import { isReady } from '../../site/overview.ts';
import { shownValue } from '../../text/printable.ts';
import type { Step } from '../step.ts';

/** Why an object is not Ready. */
export interface ObjectProblem {
  /** Undefined if the status has no code of the catalogue: on Kubernetes, statuses have Skupper's reasons. */
  readonly code?: Problem['code'];
  /** First condition that does not hold, besides `Ready`. */
  readonly condition?: string;
  readonly message: string;
  /** RFC 3339. */
  readonly since?: string;
}

/** @returns undefined if the object is Ready, or has no status yet */
export function problemOfObject(object: SkupperResource): ObjectProblem | undefined {
  const { status } = object;
  if (status === undefined || isReady(object)) return undefined;
  const unmet = (status.conditions ?? []).filter((condition) => condition.status !== 'True');
  const ready = unmet.find(({ type }) => type === 'Ready') ?? unmet[0];
  const condition = unmet.find(({ type }) => type !== 'Ready')?.type;
  const message = ready?.message ?? status.message ?? '';
  const reason = codeOfReason(ready?.reason ?? '');
  const code = reason !== undefined && isConditionCode(reason) ? reason : codeOfMessage(message);
  return {
    message,
    ...(code === undefined ? {} : { code }),
    ...(condition === undefined ? {} : { condition }),
    ...(ready === undefined ? {} : { since: ready.lastTransitionTime }),
  };
}

/** A router by the names of its site and of itself; empty if unknown. */
export interface NamedRouter {
  readonly site: string;
  readonly router: string;
}

/** As `adviceOn`, but names the router whose log has the reason, if it is known. */
export function adviceFrom(code: string | undefined, by: NamedRouter = NO_ROUTER): Pick<Step, 'state' | 'do' | 'code'> {
  const advice = adviceOn(code);
  if (code === undefined || !KNOWN_THERE.has(code) || by.site === '' || by.router === '') return advice;
  return { ...advice, do: `At site ${shownValue(by.site)}, see the log of router ${shownValue(by.router)}: \`earshot logs\`.` };
}

const NO_ROUTER: NamedRouter = { site: '', router: '' };

/** Codes whose reason only the other router knows. */
const KNOWN_THERE: ReadonlySet<string> = new Set(['peer-refused', 'stream-reset'] satisfies readonly ErrorCode[]);

/** State and advice of a step that reports a code. The catalogue says whether anyone has to act. */
export function adviceOn(code: string | undefined): Pick<Step, 'state' | 'do' | 'code'> {
  const advice = code === undefined ? undefined : catalogue.get(code)?.[2];
  if (code === undefined || advice === undefined) return { state: 'fail' };
  return advice.startsWith('Nothing') ? { state: 'wait', code } : { state: 'fail', code, do: advice };
}
