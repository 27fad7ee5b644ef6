import { parseArgs } from 'node:util';
import { COMMON, count, destination, DESTINATION_USAGE, some, type Destination } from '../options.ts';

/** How much is measured. The defaults are the sizes of the table in docs/benchmarks.md. */
export interface Sizes {
  readonly rounds: number;
  readonly listeners: number;
  readonly pods: number;
  readonly addressChanges: number;
  readonly idleSeconds: number;
}

/** In the order in which they run: `listeners` leaves for `idle` what that begins with, and `memory` begins by clearing up. */
export const SCENARIOS = ['stateful-set', 'node-address', 'listeners', 'idle', 'refused', 'memory'] as const;
export type ScenarioName = (typeof SCENARIOS)[number];

export interface Options extends Sizes, Destination {
  readonly only: readonly ScenarioName[];
}

export const FULL: Sizes = { rounds: 3, listeners: 1_000, pods: 60, addressChanges: 40, idleSeconds: 300 };

export const USAGE = `node bench/exposure/main.ts [OPTION…]

Boots a two-node cluster named bench, installs Earshot from the chart, and measures what an exposure costs.
All of it takes about 25 minutes on two quiet cores.

  --only NAME,…       some of: ${SCENARIOS.join(', ')}
  --rounds N          ${FULL.rounds}
  --listeners N       ${FULL.listeners}; the memory scenario goes up to five times as many
  --pods N            ${FULL.pods}
  --changes N         ${FULL.addressChanges} changes of a Node's address
  --idle SECONDS      ${FULL.idleSeconds}
${DESTINATION_USAGE}`;

/** Throws a TypeError that says which argument is wrong; undefined where help was asked for. */
export function parseOptions(args: readonly string[]): Options | undefined {
  const { values } = parseArgs({
    args: [...args],
    options: { ...COMMON, listeners: { type: 'string' }, pods: { type: 'string' }, changes: { type: 'string' } },
  });
  if (values.help) return undefined;
  return {
    only: values.only === undefined ? SCENARIOS : some('--only', values.only, SCENARIOS),
    rounds: count('--rounds', values.rounds, FULL.rounds),
    // Fewer than two would measure the one Listener twice.
    listeners: count('--listeners', values.listeners, FULL.listeners, 2),
    pods: count('--pods', values.pods, FULL.pods),
    addressChanges: count('--changes', values.changes, FULL.addressChanges),
    idleSeconds: count('--idle', values.idle, FULL.idleSeconds),
    ...destination(values),
  };
}

/** Whether figures of this run are those that the table speaks of. */
export function isFull(options: Options): boolean {
  const { rounds, listeners, pods, addressChanges, idleSeconds } = options;
  const isSame = listeners === FULL.listeners && pods === FULL.pods;
  const isLong = rounds >= FULL.rounds && addressChanges >= FULL.addressChanges && idleSeconds >= FULL.idleSeconds;
  return isSame && isLong && SCENARIOS.every((name) => options.only.includes(name));
}
