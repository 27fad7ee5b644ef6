/** Trust settings in `Site.spec.settings`. `settingProblems` reports invalid values. */
import { parseDuration } from '../api/skupper/duration.ts';
import type { Site } from '../api/skupper/index.ts';
import { isLifetime, isPortOrZero, SETTING, settingOf } from '../site/settings.ts';

export interface SiteSettings {
  readonly grantPort: number;
  /** Lifetime of link certificates in days; 30 if omitted. */
  readonly certificateDays?: number;
}

export const DEFAULT_GRANT_PORT = 9090;

const DAY = 86_400_000;

/** Uses the default of each setting with an invalid value. */
export function readSettings(site: Site): SiteSettings {
  const port = settingOf(site, SETTING.grantPort);
  const lifetime = settingOf(site, SETTING.linkLifetime);
  const milliseconds = lifetime !== undefined && isLifetime(lifetime) ? parseDuration(lifetime) : undefined;
  return {
    grantPort: port !== undefined && isPortOrZero(port) ? Number(port) : DEFAULT_GRANT_PORT,
    ...(milliseconds === undefined ? {} : { certificateDays: milliseconds / DAY }),
  };
}
