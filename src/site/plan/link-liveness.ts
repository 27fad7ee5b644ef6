import type { Site } from '../../api/skupper/index.ts';
import { DEFAULT_LIVENESS, type LivenessConfig } from '../../router/contract.ts';
import { warningIn, type ResourceProblem } from '../problem.ts';
import { keyOf } from '../resources.ts';
import { SETTING, settingOf, silenceIn } from '../settings.ts';

/** Silence after which new connections avoid a link, and silence after which it is closed. Undefined: the router's defaults. */
export function livenessOf(site: Site): LivenessConfig | undefined {
  const suspectAfter = silenceIn(settingOf(site, SETTING.suspectAfter));
  const deadAfter = silenceIn(settingOf(site, SETTING.deadAfter));
  if (suspectAfter === undefined && deadAfter === undefined) return undefined;
  return { ...(suspectAfter === undefined ? {} : { suspectAfter }), ...(deadAfter === undefined ? {} : { deadAfter }) };
}

/** Each of the two settings is valid, but not together, or not with the other's default. */
export function livenessConflict(site: Site): readonly ResourceProblem[] {
  const given = livenessOf(site) ?? {};
  const { suspectAfter, deadAfter } = { ...DEFAULT_LIVENESS, ...given };
  if (deadAfter >= suspectAfter) return [];
  const warn = (setting: string, message: string): readonly ResourceProblem[] => [
    warningIn(keyOf(site), `spec.settings.${setting}`, 'setting', message),
  ];
  const effect = 'so a silent link ends as soon as it is suspect';
  if (given.deadAfter === undefined) {
    return warn(SETTING.suspectAfter, `is longer than ${SETTING.deadAfter} (default: ${deadAfter / 1_000}s), ${effect}; set that one too.`);
  }
  const other = `${SETTING.suspectAfter}${given.suspectAfter === undefined ? ` (default: ${suspectAfter / 1_000}s)` : ''}`;
  return warn(SETTING.deadAfter, `is shorter than ${other}, ${effect}; make it longer.`);
}
