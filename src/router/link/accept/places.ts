import { limitTable } from '../../../limits/table.ts';

/** Connections that may be open with one peer, from one site. */
export const CONNECTIONS_OF_PEER = limitTable.connectionsOfPeer.value;
/** Of these, both connections of a link. */
export const PLACES_OF_LINK = 2;

/** A connection that a site has open, as far as it counts among those. */
export interface Placed {
  /** Its own, and that which is kept for the second connection of its link. */
  readonly places: number;
  /** Its link is down: it goes on for what it carries, and no longer. */
  readonly isLeft: boolean;
}

/**
 * A link is worth more than what an earlier one has left behind: that gives way, the oldest first, and nothing else does.
 * @param open in the order in which they came. @param missing so many have to end besides, whatever places there are
 * @returns what has to end for `needed` more; undefined where all of that is not enough
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
