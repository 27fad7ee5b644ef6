import type { Site } from '../../api/skupper/index.ts';
import { isCount, SETTING, settingOf } from '../settings.ts';

/** With how many certificates before the present one open connections may have begun. Undefined: with any that is still valid. */
export function priorRevisionsOf(site: Site): number | undefined {
  return priorRevisionsIn(settingOf(site, SETTING.priorRevisions));
}

/** The same of an annotation of a Secret, which overrides the Site's. */
export function priorRevisionsIn(text: string | undefined): number | undefined {
  return text !== undefined && isCount(text) ? Number(text) : undefined;
}
