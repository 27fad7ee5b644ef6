/** `Site.spec.settings` of trust. What is wrong with them is told by `settingProblems`. */
import { parseDuration } from '../api/skupper/duration.ts';
import type { Site } from '../api/skupper/index.ts';
import { isLifetime, isPortOrZero, SETTING, settingOf } from '../site/settings.ts';

export interface SiteSettings {
  readonly grantPort: number;
  /** For how long certificates of links are issued; left out: 30. */
  readonly certificateDays?: number;
}

export const DEFAULT_GRANT_PORT = 9090;

const DAY = 86_400_000;

/** Where a setting is wrong its default holds. */
export function readSettings(site: Site): SiteSettings {
  const port = settingOf(site, SETTING.grantPort);
  const lifetime = settingOf(site, SETTING.linkLifetime);
  const milliseconds = lifetime !== undefined && isLifetime(lifetime) ? parseDuration(lifetime) : undefined;
  return {
    grantPort: port !== undefined && isPortOrZero(port) ? Number(port) : DEFAULT_GRANT_PORT,
    ...(milliseconds === undefined ? {} : { certificateDays: milliseconds / DAY }),
  };
}
