import type { Site } from '../../api/skupper/index.ts';
import { quoted } from '../../text/printable.ts';
import { warningIn, type ResourceProblem } from '../problem.ts';
import { keyOf } from '../resources.ts';

/**
 * `settings` of a Site, and annotation of a Secret, which overrides it: with how many certificates before the present one open connections may
 * have begun. Left out: with any that is still valid.
 */
export const PRIOR_REVISIONS = 'tls-prior-valid-revisions';

/** @returns undefined where it is no whole number */
export function priorRevisionsIn(text: string | undefined): number | undefined {
  return text !== undefined && /^\d{1,9}$/.test(text) ? Number(text) : undefined;
}

export function priorRevisionsOf({ spec }: Site): number | undefined {
  return priorRevisionsIn(settingOf({ spec }));
}

export function badPriorRevisions(site: Site): readonly ResourceProblem[] {
  const text = settingOf(site);
  if (text === undefined || priorRevisionsIn(text) !== undefined) return [];
  const message = `${quoted(text)} is no number of earlier certificates, so connections of any that is valid stay open; use 0, 1, 2 and so on.`;
  return [warningIn(keyOf(site), `spec.settings.${PRIOR_REVISIONS}`, 'bad-argument', message)];
}

function settingOf({ spec: { settings } }: Pick<Site, 'spec'>): string | undefined {
  return settings != null && Object.hasOwn(settings, PRIOR_REVISIONS) ? settings[PRIOR_REVISIONS] : undefined;
}
