import type { RoutingLimits } from './contract.ts';
import type { Rate } from '../../limits/rate-limiter.ts';

/** What a router takes by default. The numbers of the wire format are in `codec.ts` and `record.ts`. */
export const defaultLimits: RoutingLimits = {
  routers: 4096,
  routersOfSite: 16,
  keysOfRouter: 16_384,
  neighboursOfRouter: 2048,
  // To find all paths among so many takes some milliseconds, to show so many keys some hundred.
  neighbours: 16_384,
  keys: 65_536,
  messageBytes: 65_536,
  databaseBytes: 64 * 1024 * 1024,
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
export const LONGEST_PATH = 32;

/** Of one key, the nearest: each connection compares all of them. */
export const DESTINATIONS_OF_KEY = 256;

/** Milliseconds. */
export const REFRESH_EVERY = 600_000;
export const FORGET_AFTER = 1_800_000;
export const SWEEP_EVERY = 10_000;

/** Milliseconds after which the two ends of a link compare what they hold, where nobody has lately. The later one only has to where the other does not. */
export const COMPARE_EVERY = 30_000;
export const COMPARE_AT_LAST = 40_000;

/** Bytes of a message that we send: one that is not too long to wait behind. */
export const SENT_MESSAGE_BYTES = 32_768;

/** How often a router says something new of itself; more changes wait and go together. */
export const ownReleases: Rate = { burst: 8, perSecond: 5 };

/** How often a router goes beyond records of itself that it did not make. */
export const contestsAnswered: Rate = { burst: 3, perSecond: 0.1 };

/** New records of one router that are taken. A whole router of 16,000 ordinary keys is one burst. */
export const recordsOfRouter: Rate = { burst: 1024, perSecond: 50 };

/** New records that are taken from one link, whoever made them. */
export const recordsOfLink: Rate = { burst: 32_768, perSecond: 1000 };

/**
 * Of all time, the part in which one peer's messages are heeded, whatever links it has, since signatures are to be checked; and milliseconds of it at once: what
 * is carried waits for so long.
 */
export const messageTime = { part: 0.25, burst: 3 } as const;

/** Of all time, the part in which paths are found anew, and milliseconds that may be spent before: enough for all paths of a thousand routers, and not twice for those of the largest network. */
export const pathTime = { part: 0.1, burst: 4 } as const;

/** The same for comparing the routers of one key, where many have it. */
export const choiceTime = { part: 0.1, burst: 4 } as const;

/** Milliseconds of work on a whole network after which others have their turns. */
export const AT_A_TIME = 2;

/** The same for looking at once who gives way where all is full, and not in the next second. */
export const roomTime = { part: 0.05, burst: 10 } as const;

/** How often a router that gave way to others is taken in again, and of how many that is remembered. */
export const returnsOfRouter: Rate = { burst: 8, perSecond: 0.1 };
export const MOST_RETURNING = 16_384;

/** How often routers of a site that has too many are compared at once, and not in the next second. */
export const looksForPlace: Rate = { burst: 8, perSecond: 1 };

/** Routers that would push others out and are asked for over one link. They may not stay, and then come again. */
export const strangersOfLink: Rate = { burst: 32, perSecond: 0.5 };

/** Digests that are sent over one link. */
export const digestsOfLink: Rate = { burst: 16, perSecond: 1 };

/** Requests of one link that are answered, of at most 256 records each. */
export const answersOfLink: Rate = { burst: 64, perSecond: 8 };
