/** Number of routers that a site runs on its machine's own network (pure). */
import type { Site } from '../api/skupper/index.ts';
import { AUTO, isRouterCount, SETTING, settingOf } from './settings.ts';

/**
 * Cores for one router. A router is one event loop, so it fills one core at most. Clients, servers and the kernel's part of each
 * connection fill about as much (docs/adr/0037).
 */
const CORES_OF_ROUTER = 2;
/** Each router costs memory, and a link to each linked site. */
const MOST_AUTOMATIC = 8;

/**
 * @returns the number by the setting; by the number of cores if it is omitted or invalid, or if there is no Site. A Site with `ha` has two at
 *   least.
 */
export function siteRouters(site: Pick<Site, 'spec'> | undefined, cores: number): number {
  const text = site === undefined ? undefined : settingOf({ spec: site.spec }, SETTING.routers);
  if (text !== undefined && text !== AUTO && isRouterCount(text)) return Number(text);
  const least = site?.spec.ha === true ? 2 : 1;
  return Math.min(MOST_AUTOMATIC, Math.max(least, Math.floor(cores / CORES_OF_ROUTER)));
}
