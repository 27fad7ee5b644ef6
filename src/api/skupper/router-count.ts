import { limitTable } from '../../limits/table.ts';

/** Earshot decides how many routers run. */
export const AUTO = 'auto';

const MOST_ROUTERS = limitTable.routersOfSite.value;

/** Valid values of `settings.routers` of a Site, for a message. */
export const ROUTER_COUNT = `${AUTO} or a whole number from 1 to ${MOST_ROUTERS}`;

export function isRouterCount(text: string): boolean {
  return text === AUTO || (/^[1-9]\d?$/.test(text) && Number(text) <= MOST_ROUTERS);
}
