import type { RoutingLimits } from './contract.ts';
import type { Rate } from '../../limits/rate-limiter.ts';
import { limitTable } from '../../limits/table.ts';

/** What a router takes by default. The numbers of the wire format are in `codec.ts` and `record.ts`. */
export const defaultLimits: RoutingLimits = {
  routers: limitTable.routers.value,
  routersOfSite: limitTable.routersOfSite.value,
  keysOfRouter: limitTable.routingKeysOfRouter.value,
  neighboursOfRouter: limitTable.neighboursOfRouter.value,
  // To find all paths among so many takes some milliseconds, to show so many keys some hundred.
  neighbours: limitTable.neighbours.value,
  keys: limitTable.routingKeys.value,
  messageBytes: 65_536,
  databaseBytes: limitTable.routingRecordBytes.value,
};

/** The database counts so much for each record besides its bytes: what holding it costs. */
export const RECORD_OVERHEAD = 512;

/** What is above a limit of all routers together is looked through at once: so much, as a part of the limit. */
export const SLACK = 1 / 16;

/** Of all bytes, the part that one router may have. The longest that keeps to the other limits has less. */
export const SHARE_OF_ROUTER = 1 / 8;

/** Parts that the facts of one router may be spread over. */
export const PARTS_OF_ROUTER = 4096;

/** Routers on a path at most, the last included. */
export const LONGEST_PATH = limitTable.pathRouters.value;

/** Of one key, the nearest: each connection compares all of them. */
export const DESTINATIONS_OF_KEY = limitTable.destinationsOfKey.value;

/** Milliseconds. */
export const REFRESH_EVERY = 600_000;
export const FORGET_AFTER = 1_800_000;
export const SWEEP_EVERY = 10_000;

/** Milliseconds after which the two ends of a link compare what they hold, where nobody has lately. The later one only has to where the other does not. */
export const COMPARE_EVERY = limitTable.comparison.value;
export const COMPARE_AT_LAST = 40_000;

/** Bytes of a message that we send: one that is not too long to wait behind. */
export const SENT_MESSAGE_BYTES = 32_768;

/** How often a router says something new of itself; more changes wait and go together. */
export const ownReleases: Rate = limitTable.ownReleases.value;

/** How often a router goes beyond records of itself that it did not make. */
export const contestsAnswered: Rate = limitTable.contestsAnswered.value;

/** New records of one router that are taken. A whole router of 16,000 ordinary keys is one burst. */
export const recordsOfRouter: Rate = limitTable.recordsOfRouter.value;

/** New records that are taken from one link, whoever made them. */
export const recordsOfLink: Rate = limitTable.recordsOfLink.value;

/**
 * Of all time, the part in which one peer's messages are heeded, whatever links it has, since signatures are to be checked; and milliseconds of it at once: what
 * is carried waits for so long.
 */
export const messageTime = limitTable.messageTime.value;

/** Of all time, the part in which paths are found anew, and milliseconds that may be spent before: enough for all paths of a thousand routers, and not twice for those of the largest network. */
export const pathTime = limitTable.pathTime.value;

/** The same for comparing the routers of one key, where many have it. */
export const choiceTime = limitTable.choiceTime.value;

/** Milliseconds of work on a whole network after which others have their turns. */
export const AT_A_TIME = 2;

/** The same for looking at once who gives way where all is full, and not in the next second. */
export const roomTime = limitTable.evictionTime.value;

/** How often a router that gave way to others is taken in again, and of how many that is remembered. */
export const returnsOfRouter: Rate = limitTable.returnsOfRouter.value;
export const MOST_RETURNING = limitTable.returningRouters.value;

/** How often routers of a site that has too many are compared at once, and not in the next second. */
export const looksForPlace: Rate = limitTable.evictionSearches.value;

/** Routers that would push others out and are asked for over one link. They may not stay, and then come again. */
export const strangersOfLink: Rate = limitTable.strangersOfLink.value;

/** Digests that are sent over one link. */
export const digestsOfLink: Rate = limitTable.digestsOfLink.value;

/** Requests of one link that are answered, of at most 256 records each. */
export const answersOfLink: Rate = limitTable.answersOfLink.value;
