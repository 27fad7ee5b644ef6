/** `Site.spec.settings` on a machine without a cluster. */
import { parseDuration } from '../api/skupper/duration.ts';
import type { Site } from '../api/skupper/index.ts';
import type { ResourceProblem } from '../site/problem.ts';
import { UNMARKED } from '../site/plan/access.ts';
import { keyOf } from '../site/resources.ts';
import { quoted } from '../text/printable.ts';

export interface SiteSettings {
  readonly grantPort: number;
  /** For how long certificates of links are issued; left out: 30. */
  readonly certificateDays?: number;
}

export const DEFAULT_GRANT_PORT = 9090;

const names = { grantPort: 'grant-port', lifetime: 'link-certificate-lifetime' } as const;

/** A wrong setting is told, and its default holds. */
export function readSettings(site: Site): { readonly settings: SiteSettings; readonly problems: readonly ResourceProblem[] } {
  const given = site.spec.settings ?? {};
  const problems: ResourceProblem[] = [];
  const read = <T>(name: string, parse: (text: string) => T | undefined, wanted: string): T | undefined => {
    const text = Object.hasOwn(given, name) ? given[name] : undefined;
    if (text === undefined) return undefined;
    const value = parse(text);
    if (value === undefined) {
      const message = `${quoted(text)} is not ${wanted}, so the default holds.`;
      problems.push({ resource: keyOf(site), severity: 'warning', code: 'setting', field: `spec.settings.${name}`, message });
    }
    return value;
  };
  const grantPort = read(names.grantPort, portOf, 'a port, 0 to 65535') ?? DEFAULT_GRANT_PORT;
  const lifetime = read(names.lifetime, lifetimeOf, 'a length of time from 10s, such as 720h');
  // What it says is read where accesses are planned.
  read(UNMARKED, (text) => (text === 'allow' || text === 'refuse' ? text : undefined), '"allow" or "refuse"');
  return { settings: { grantPort, ...(lifetime === undefined ? {} : { certificateDays: lifetime / 86_400_000 }) }, problems };
}

function portOf(text: string): number | undefined {
  return /^\d{1,5}$/.test(text) && Number(text) <= 65_535 ? Number(text) : undefined;
}

function lifetimeOf(text: string): number | undefined {
  const milliseconds = parseDuration(text);
  return milliseconds !== undefined && milliseconds >= 10_000 ? milliseconds : undefined;
}
