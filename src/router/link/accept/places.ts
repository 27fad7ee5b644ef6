import { limitTable } from '../../../limits/table.ts';

/** Most open connections of one site with one peer. */
export const CONNECTIONS_OF_PEER = limitTable.connectionsOfPeer.value;
/** Connections of a link, which count among those. */
export const PLACES_OF_LINK = 2;

/** An open connection of a site, as counted here. */
export interface Placed {
  /** Number of slots: its own, and one reserved for the second connection of its link. */
  readonly places: number;
  /** Whether its link is down, and it remains only for its open streams. */
  readonly isLeft: boolean;
}

/**
 * Only connections left behind by earlier links end for a new link, oldest first.
 * @param open oldest first. @param missing least number that has to end, even with free slots
 * @returns connections to end for `needed` more slots; undefined if there are not enough
 */
export function givingWay<T extends Placed>(open: readonly T[], needed: number, missing = 0): readonly T[] | undefined {
  const taken = open.reduce((sum, { places }) => sum + places, needed);
  let excess = Math.max(taken - CONNECTIONS_OF_PEER, missing);
  const ending: T[] = [];
  for (const one of open) {
    if (excess <= 0) break;
    if (!one.isLeft) continue;
    ending.push(one);
    excess -= one.places;
  }
  return excess > 0 ? undefined : ending;
}
