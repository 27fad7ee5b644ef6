/** Validity of TLS bundles by the clock of this machine (pure). */
import { adviceOn } from './object-problem.ts';
import { valueOf, type BundleFacts, type SiteFacts } from './site-facts.ts';
import { timeText } from '../../site/observe/time-text.ts';
import type { Step } from '../step.ts';

/** Days before the end of a certificate at which it needs attention. Links renew theirs earlier. */
export const EXPIRES_SOON = 14;
const DAY = 86_400_000;

/** The step about a bundle: its dates, if nothing else is wrong with it. @param name of the bundle; undefined if the object has none */
export function bundleStep(step: Step, { bundles, now }: SiteFacts, name: string | undefined): Step {
  if (name === undefined || name === '') return step.state === 'pass' ? { ...step, says: '' } : step;
  const found = valueOf(bundles)?.filter((bundle) => bundle.name === name) ?? [];
  const dated = found.map((bundle) => datesStep(step, bundle, now)).find(({ state }) => state !== 'pass');
  // The status names what is wrong, unless only the dates are.
  if (step.state === 'fail' && step.code !== 'tls-expired' && step.code !== 'tls-not-yet-valid') return step;
  if (dated !== undefined) return dated;
  if (step.state !== 'pass') return step;
  if ('unknown' in bundles) return step;
  const [first] = found;
  return first === undefined ? { ...step, says: '' } : { ...step, says: `${name} is valid until ${timeText(first.notAfter)}` };
}

/** A step about the dates of a certificate. */
export function datesStep({ id, object }: Pick<Step, 'id' | 'object'>, bundle: BundleFacts, now: number): Step {
  const { location, notBefore, notAfter } = bundle;
  const step = { id, object, facts: { location, notBefore: timeText(notBefore), notAfter: timeText(notAfter) } };
  const clock = `the clock here is at ${timeText(now)}`;
  if (now > notAfter)
    return {
      ...step,
      ...adviceOn('tls-expired'),
      says: `${location} expired at ${timeText(notAfter)}; ${clock}`,
      since: timeText(notAfter),
    };
  if (now < notBefore)
    return { ...step, ...adviceOn('tls-not-yet-valid'), says: `${location} is valid from ${timeText(notBefore)}; ${clock}` };
  if (notAfter - now < EXPIRES_SOON * DAY)
    return { ...step, state: 'warn', code: 'tls-expired', says: `${location} expires at ${timeText(notAfter)}` };
  return { ...step, state: 'pass', says: `${location} is valid until ${timeText(notAfter)}` };
}
