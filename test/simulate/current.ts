import type { Loop, Owner } from './loop.ts';
import { Machine, type Network } from './network.ts';
import { hashOf, Random } from './random.ts';

/** The world that runs in this process now: what stands in for Node.js's modules asks it for everything. */
export interface Surroundings {
  readonly loop: Loop;
  readonly network: Network;
  readonly random: Random;
  /** Whether sockets read into memory that they share, as Node.js's do today. */
  readonly sharesReads: boolean;
  /** Milliseconds since 1970 at the world's begin. */
  readonly epoch: number;
}

let current: Surroundings | undefined;
/** For what modules draw while they are loaded, and certificates are made: the same in each process. */
let outside = new Random(1);

export function enter(world: Surroundings | undefined): void {
  current = world;
}

export function surroundings(): Surroundings {
  if (current === undefined) throw new Error('No world runs.');
  return current;
}

/**
 * What is done here once for all worlds takes nothing of any of them, and is the same whichever of them comes first.
 * @param name no other has it
 */
export function outsideOf<T>(name: string, run: () => T): T {
  const before = { current, outside };
  current = undefined;
  outside = new Random(hashOf(name), 3);
  try {
    return run();
  } finally {
    current = before.current;
    outside = before.outside;
  }
}

export const isInside = (): boolean => current !== undefined;
export const random = (): Random => current?.random ?? outside;

/** The machine whose code runs. */
export function here(): Machine {
  const { owner } = surroundings().loop;
  if (!(owner instanceof Machine)) throw new Error('No machine runs this.');
  return owner;
}

/** By the wall clock of the running machine. */
export function wallClock(): number {
  return current === undefined ? EPOCH : wallClockOf(current.loop.owner);
}

/** @param at of the simulation's clock; now, if it is not said */
export function wallClockOf(owner: Owner | undefined, at?: number): number {
  const { loop, epoch } = surroundings();
  return Math.floor(epoch + readClock(owner, at ?? loop.now));
}

export function readClock(owner: Owner | undefined, now: number): number {
  if (owner === undefined) return now;
  const { ahead, rate, since } = owner.clock;
  return now + ahead + (now - since) * (rate - 1);
}

export const EPOCH = Date.UTC(2030, 0, 1);
