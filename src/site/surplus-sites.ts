/** A namespace is one site. Further Sites are surplus: their statuses say so. */
import type { Site } from '../api/skupper/index.ts';
import { conditionReason } from '../errors/condition-reason.ts';
import type { ResourceProblem } from './problem.ts';
import { keyOf, nameOf } from './resources.ts';

/** Conditions in a cluster have no reason of their own for this, so the message begins with this text (see `MessageFormat`). */
const BEGINNING = 'An active site already exists in the namespace';

export function surplusSiteProblem(surplus: Site, active: Site): ResourceProblem {
  return {
    resource: keyOf(surplus),
    severity: 'error',
    code: 'second-site',
    message: `${BEGINNING} (${nameOf(active)}), and a namespace can have one Site; delete one of the two.`,
  };
}

/** Sorts the active Site of a namespace before those that are surplus, or have no status yet. */
export function sortActiveFirst(sites: readonly Site[]): readonly Site[] {
  return sites.toSorted((one, other) => rankOf(one) - rankOf(other));
}

function rankOf(site: Site): number {
  return isSurplusSite(site) ? 2 : site.status === undefined ? 1 : 0;
}

export function isSurplusSite({ status }: Site): boolean {
  const conditions = status?.conditions ?? [];
  return conditions.some(
    ({ status: holds, reason, message }) =>
      holds === 'False' && (reason === conditionReason('second-site') || message.startsWith(BEGINNING)),
  );
}
