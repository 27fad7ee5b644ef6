import type { RoutingLimits } from './contract.ts';

/** What a router takes where it is not told otherwise. The numbers of the wire format are in `codec.ts` and `record.ts`. */
export const defaultLimits: RoutingLimits = {
  routers: 4096,
  keysOfRouter: 16_384,
  neighboursOfRouter: 2048,
  messageBytes: 65_536,
  databaseBytes: 64 * 1024 * 1024,
};

/** The database counts so much for each record besides its bytes: what holding it costs. */
export const recordOverhead = 512;

/** Parts that the facts of one router may be spread over. */
export const partsOfRouter = 4096;

/** Routers on a path at most, the last included. */
export const longestPath = 32;

/** Milliseconds. */
export const refreshEvery = 600_000;
export const forgetAfter = 1_800_000;
