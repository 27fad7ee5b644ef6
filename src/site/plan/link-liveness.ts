import type { Site } from '../../api/skupper/index.ts';
import type { LivenessConfig } from '../../router/contract.ts';
import { warningIn, type ResourceProblem } from '../problem.ts';
import { keyOf } from '../resources.ts';
import { SETTING, settingOf, silenceIn } from '../settings.ts';

/** After how long a silence new connections avoid a link, and after how long it is given up. Left out: as routers have it. */
export function livenessOf(site: Site): LivenessConfig | undefined {
  const suspectAfter = silenceIn(settingOf(site, SETTING.suspectAfter));
  const deadAfter = silenceIn(settingOf(site, SETTING.deadAfter));
  if (suspectAfter === undefined && deadAfter === undefined) return undefined;
  return { ...(suspectAfter === undefined ? {} : { suspectAfter }), ...(deadAfter === undefined ? {} : { deadAfter }) };
}

/** Each of the two settings is usable, and both together are not. */
export function livenessConflict(site: Site): readonly ResourceProblem[] {
  const { suspectAfter, deadAfter } = livenessOf(site) ?? {};
  if (suspectAfter === undefined || deadAfter === undefined || deadAfter >= suspectAfter) return [];
  const message = `is shorter than ${SETTING.suspectAfter}, so a link is given up as soon as it is suspect; make it longer.`;
  return [warningIn(keyOf(site), `spec.settings.${SETTING.deadAfter}`, 'setting', message)];
}
