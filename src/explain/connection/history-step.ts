/** Step about the last connections of routing keys, as this site's router recorded them (pure). */
import { shownValue } from '../../text/printable.ts';
import { adviceFrom } from './object-problem.ts';
import { valueOf, type SiteFacts } from './site-facts.ts';
import type { Step } from '../step.ts';

/** Number of connections that count as recent. */
const RECENT = 40;

/** @returns a step without text if nothing is recorded */
export function historyStep({ id, object }: Pick<Step, 'id' | 'object'>, { history }: SiteFacts, keys: readonly string[]): Step {
  const all = keys.flatMap((key) => valueOf(history?.get(key) ?? { value: [] }) ?? []);
  const recent = all.toSorted((one, other) => (one.ended < other.ended ? 1 : -1)).slice(0, RECENT);
  // A client that leaves early is not a failure of the path.
  const failed = recent.filter(({ failure }) => failure !== undefined && failure !== 'client-gone');
  const [last] = failed;
  if (recent.length === 0) return { id, object, state: 'pass', says: '' };
  if (last === undefined) return { id, object, state: 'pass', says: `0 of the last ${recent.length} failed` };
  const success = recent.find(({ failure }) => failure === undefined)?.ended;
  const reasons = [...Map.groupBy(failed, ({ failure = '' }) => failure)].toSorted(([, one], [, other]) => other.length - one.length);
  const named = reasons.slice(0, 3).map(([reason, { length }]) => `${shownValue(reason)} ${length}`);
  const listed = named.length === 1 ? '' : `: ${named.join(', ')}`;
  return {
    id,
    object,
    ...adviceFrom(reasons[0]?.[0], reasons[0]?.[1][0]?.by),
    state: 'warn',
    // The code of the most frequent reason follows the text.
    says: `last success ${success ?? 'unknown'}; ${failed.length} of the last ${recent.length} connections failed${listed}`,
    facts: {
      recent: recent.length,
      failed: failed.length,
      reasons: Object.fromEntries(reasons.map(([reason, { length }]) => [reason, length])),
      since: last.ended,
    },
  };
}
