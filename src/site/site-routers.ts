/** Number of routers that a site runs on its machine's own network (pure). */
import type { Site } from '../api/skupper/index.ts';
import { AUTO, isRouterCount } from '../api/skupper/router-count.ts';
import { SETTING, settingOf } from './settings.ts';

/**
 * Cores for one router. A router is one event loop, so it fills one core at most. Clients, servers and the kernel's part of each
 * connection fill about as much (docs/adr/0037).
 */
const CORES_OF_ROUTER = 2;
/** Bytes that a router needs at least, as documented. */
const MEMORY_OF_ROUTER = 256 << 20;
/** Each router costs memory, and a link to each linked site. */
const MOST_AUTOMATIC = 8;

/** Part of the machine that the site may use. */
export interface MachineShare {
  readonly cores: number;
  /** Bytes. */
  readonly memory: number;
}

/**
 * @param before number until now; it stays while the setting is invalid or the Site is missing
 * @returns the number by the setting; by cores and memory if it is omitted. A Site with `ha` has two at least.
 */
export function siteRouters(site: Pick<Site, 'spec'> | undefined, { cores, memory }: MachineShare, before?: number): number {
  const text = site === undefined ? undefined : settingOf({ spec: site.spec }, SETTING.routers);
  const isValid = text === undefined || isRouterCount(text);
  if (before !== undefined && (site === undefined || !isValid)) return before;
  if (text !== undefined && text !== AUTO && isValid) return Number(text);
  const least = site?.spec.ha === true ? 2 : 1;
  return Math.max(least, Math.floor(Math.min(MOST_AUTOMATIC, cores / CORES_OF_ROUTER, memory / MEMORY_OF_ROUTER)));
}
