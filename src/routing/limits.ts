import type { RoutingLimits } from './contract.ts';
import type { Rate } from '../limits/rate-limiter.ts';
import { limitTable } from '../limits/table.ts';

/** Default limits of a router. `codec.ts` and `record.ts` have the numbers of the wire format. */
export const defaultLimits: RoutingLimits = {
  routers: limitTable.routers.value,
  routersOfSite: limitTable.routersOfSite.value,
  keysOfRouter: limitTable.routingKeysOfRouter.value,
  neighboursOfRouter: limitTable.neighboursOfRouter.value,
  // Finding all paths among so many neighbours takes some milliseconds; displaying so many keys takes some hundred.
  neighbours: limitTable.neighbours.value,
  keys: limitTable.routingKeys.value,
  messageBytes: 65_536,
  databaseBytes: limitTable.routingRecordBytes.value,
};

/** Memory cost of a stored record besides its bytes. */
export const RECORD_OVERHEAD = 512;

/** Fraction of a network-wide limit by which it may be exceeded, so that one scan handles many arrivals. */
export const SLACK = 1 / 16;

/** Fraction of all bytes that one router may use. The largest router that keeps to the other limits uses less. */
export const SHARE_OF_ROUTER = 1 / 8;

/** Maximum number of parts of one router. */
export const PARTS_OF_ROUTER = 4096;

/** Maximum number of routers on a path, including the last. */
export const LONGEST_PATH = limitTable.pathRouters.value;

/** Maximum number of destinations of one key, nearest first: each connection compares all of them. */
export const DESTINATIONS_OF_KEY = limitTable.destinationsOfKey.value;

/** Intervals in milliseconds. */
export const REFRESH_EVERY = 600_000;
export const FORGET_AFTER = 1_800_000;
export const SWEEP_EVERY = 10_000;

/**
 * Milliseconds after which the ends of a link compare their databases if neither has done so. The second value is for the router with the
 * greater id, as a fallback.
 */
export const COMPARE_EVERY = limitTable.comparison.value;
export const COMPARE_AT_LAST = 40_000;

/** Maximum size in bytes of a message that we send, so that other messages do not wait long behind it. */
export const SENT_MESSAGE_BYTES = 32_768;

/** Rate of announcing own changes. Changes beyond it are sent together later. */
export const ownReleases: Rate = limitTable.ownReleases.value;

/** Rate of replacing records of this router that it did not create. */
export const contestsAnswered: Rate = limitTable.contestsAnswered.value;

/** Rate of new records accepted from one origin. A whole router of 16,000 ordinary keys is one burst. */
export const recordsOfRouter: Rate = limitTable.recordsOfRouter.value;

/** Rate of new records accepted from one link, whatever their origin. */
export const recordsOfLink: Rate = limitTable.recordsOfLink.value;

/**
 * CPU-time budget for the messages of one peer over all its links, since signatures must be verified. The burst in milliseconds bounds
 * the delay of forwarded traffic.
 */
export const messageTime = limitTable.messageTime.value;

/**
 * CPU-time budget for recomputing paths. The burst in milliseconds is enough for all paths of a thousand routers, but not for two
 * computations in the largest network.
 */
export const pathTime = limitTable.pathTime.value;

/** CPU-time budget for comparing the routers of a key that many routers have. */
export const choiceTime = limitTable.choiceTime.value;

/** Milliseconds of network-wide work in one event-loop iteration. */
export const AT_A_TIME = 2;

/** CPU-time budget for choosing evictions at once. Beyond it they run up to a second later. */
export const roomTime = limitTable.evictionTime.value;

/** Rate of accepting an evicted router again, and the number of evicted routers for which it is tracked. */
export const returnsOfRouter: Rate = limitTable.returnsOfRouter.value;
export const MOST_RETURNING = limitTable.returningRouters.value;

/** Rate of immediate comparisons of the routers of a full site. Beyond it they run up to a second later. */
export const looksForPlace: Rate = limitTable.evictionSearches.value;

/** Rate of requesting records, over one link, of routers that would evict others. They may be evicted soon, and then come again. */
export const unknownRoutersOfLink: Rate = limitTable.unknownRoutersOfLink.value;

/** Rate of digests sent over one link. */
export const digestsOfLink: Rate = limitTable.digestsOfLink.value;

/** Rate of answered requests of one link. Each is for at most 256 records. */
export const answersOfLink: Rate = limitTable.answersOfLink.value;
