import type { Site } from '../../api/skupper/index.ts';
import { isCount, SETTING, settingOf } from '../settings.ts';

/** Number of former certificates with which open connections may have begun. Undefined: any that is still valid. */
export function priorRevisionsOf(site: Site): number | undefined {
  return priorRevisionsIn(settingOf(site, SETTING.priorRevisions));
}

/** The same from an annotation of a Secret, which overrides the Site's setting. */
export function priorRevisionsIn(text: string | undefined): number | undefined {
  return text !== undefined && isCount(text) ? Number(text) : undefined;
}
