/** Steps and checks that several chains of the exposure half share (pure). */
import { printable } from '../../text/printable.ts';
import type { Check, CheckResult } from '../chain.ts';
import { codeOfReason } from '../../errors/condition-reason.ts';
import { adviceOn } from '../connection/object-problem.ts';
import type { Source } from '../connection/site-facts.ts';
import type { Step } from '../step.ts';
import type { ExposureFacts, LeaseFacts } from './exposure-facts.ts';

/** Makes the steps of one object. */
export class Steps {
  readonly object: string;

  constructor(object: string) {
    this.object = object;
  }

  check(id: string, run: () => CheckResult): Check {
    return { id, object: this.object, run };
  }

  pass(id: string, says: string): Step {
    return { id, state: 'pass', object: this.object, says };
  }

  wait(id: string, says: string, more: Partial<Step> = {}): Step {
    return { id, state: 'wait', object: this.object, says: shown(says), ...more };
  }

  warn(id: string, says: string, remedy?: string): Step {
    return { id, state: 'warn', object: this.object, says: shown(says), ...(remedy === undefined ? {} : { do: remedy }) };
  }

  fail(id: string, says: string, more: Partial<Step> = {}): Step {
    return { id, state: 'fail', object: this.object, says: shown(says), ...more };
  }

  unknown(id: string, says: string): Step {
    return { id, state: 'unknown', object: this.object, says: shown(says) };
  }

  /** A problem with the reason of a condition or an event. The catalogue says whether anyone has to act. */
  problem(id: string, { reason, message, since }: Reported): Step {
    const code = codeOfReason(reason);
    const advice = code === undefined ? { state: 'fail' as const, code: printable(reason, MOST_REASON) } : adviceOn(code);
    return { id, object: this.object, ...advice, says: shown(message), ...(since === undefined ? {} : { since }) };
  }

  /** As `problem`. A class that does not exist is the object at fault, so that a check reports it once for all that name it. */
  problemOfClass(id: string, reported: Reported, className: string): Step {
    const step = this.problem(id, reported);
    return step.code === 'class-not-found' ? { ...step, object: `ListenerClass/${printable(className, MOST_REASON)}` } : step;
  }

  /** One step for a source that could not be read, and otherwise the result of the check. */
  of<T>(id: string, source: Source<T>, check: (value: T) => CheckResult): CheckResult {
    return 'unknown' in source ? this.unknown(id, source.unknown) : check(source.value);
  }

  /** Checks that a replica of the controller leads. `isCurrent`: the object is processed already, so a missing leader is a warning. */
  controller({ lease, now }: ExposureFacts, isCurrent: boolean): Check {
    const id = 'exposure.controller';
    // Objects that fail for this reason have one cause in common.
    const steps = new Steps(LEASE_OBJECT);
    return this.check(id, () => {
      const leader = 'unknown' in lease ? steps.unknown(id, lease.unknown) : steps.#leader(lease.value, now);
      if (!isCurrent) return leader;
      return leader.state === 'fail' ? { ...leader, state: 'warn', says: `${leader.says} ${LATER}` } : steps.pass(id, 'runs');
    });
  }

  #leader(lease: LeaseFacts | undefined, now: number): Step {
    const id = 'exposure.controller';
    const advice = { code: 'not-running', do: CONTROLLER_ADVICE } as const;
    if (lease === undefined) return this.fail(id, 'No replica of the exposure controller has ever led in this cluster.', advice);
    const { key, holder, endsAt, isAbandoned = false } = lease;
    if (holder === undefined) return this.fail(id, `No replica of the exposure controller leads: Lease ${key} has no holder.`, advice);
    if (!isAbandoned && endsAt + CLOCK_DIFFERENCE >= now) return this.pass(id, `${printable(holder, MOST_REASON)} leads`);
    const since = new Date(endsAt).toISOString();
    const gone = isAbandoned ? `, and its holder, Pod ${printable(holder, MOST_REASON)}, is gone` : '';
    return this.fail(id, `No replica of the exposure controller leads: Lease ${key} expired at ${since}${gone}.`, { ...advice, since });
  }
}

/** What a status or an event reports. */
export interface Reported {
  readonly reason: string;
  readonly message: string;
  readonly since?: string;
}

export const CONTROLLER_ADVICE =
  'Install the chart with exposure.enabled, or look at its pods: kubectl get pods -A -l app.kubernetes.io/name=earshot';

const LATER = 'Existing addresses stay. Changes and starting pods wait.';
export const LEASE_OBJECT = 'Lease/earshot-controller';
/** Tolerated difference of clocks, in milliseconds, before a Lease counts as expired. */
const CLOCK_DIFFERENCE = 60_000;
const MOST_REASON = 253;
const MOST_CHARACTERS = 1_024;

const shown = (text: string): string => printable(text, MOST_CHARACTERS);
