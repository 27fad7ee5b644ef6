import { parseArgs } from 'node:util';
import { COMMON, count, destination, DESTINATION_USAGE, some, type Destination } from '../options.ts';

/** How much is measured. The defaults are the sizes of the table in docs/benchmarks.md. */
export interface Sizes {
  readonly rounds: number;
  /** How many Listeners, and how many Connectors, are applied at once: one part of the table each. The first is what the aims are for. */
  readonly sizes: readonly [number, ...number[]];
  readonly sites: number;
  /** Number of changes of a single Listener, and of a pod behind a selector. */
  readonly changes: number;
  readonly idleSeconds: number;
  /** Seconds of each kind of traffic by each path, in each round. */
  readonly trafficSeconds: number;
}

/** In the order in which they run: `many` leaves for `idle` what that begins with, and `memory` begins by clearing up. */
export const SCENARIOS = ['site', 'link', 'listener', 'pods', 'traffic', 'many', 'idle', 'memory', 'more', 'floor'] as const;
export type ScenarioName = (typeof SCENARIOS)[number];

export interface Options extends Sizes, Destination {
  readonly only: readonly ScenarioName[];
}

export const FULL: Sizes = { rounds: 3, sizes: [500, 2_000], sites: 100, changes: 40, idleSeconds: 300, trafficSeconds: 5 };

export const USAGE = `node bench/sites/main.ts [OPTION…]

Boots a two-node cluster named bench, installs the connection half from the chart, and measures what sites in it cost.
All of it takes about 25 minutes on two quiet cores. Where EARSHOT_CLUSTER_STATE names the state.json of a cluster that runs
already, that one is measured, with what is installed in it, and left running.

  --only NAME,…       some of: ${SCENARIOS.join(', ')}
  --rounds N          ${FULL.rounds}
  --sizes N,…         ${FULL.sizes.join(',')}; Listeners, and as many Connectors, applied at once; the first as often as there are rounds, others once
  --sites N           ${FULL.sites} for the memory scenario, each with a router pod of some 100 MB
  --changes N         ${FULL.changes} Listeners one after the other, and pods that begin and end to be selected
  --idle SECONDS      ${FULL.idleSeconds}
  --seconds N         ${FULL.trafficSeconds} of each kind of traffic, each way, each round
${DESTINATION_USAGE}`;

/** Throws a TypeError that says which argument is wrong; undefined where help was asked for. */
export function parseOptions(args: readonly string[]): Options | undefined {
  const text = { type: 'string' } as const;
  const { values } = parseArgs({ args: [...args], options: { ...COMMON, sizes: text, sites: text, changes: text, seconds: text } });
  if (values.help) return undefined;
  const [first = '', ...others] = (values.sizes ?? FULL.sizes.join(',')).split(',');
  const size = (each: string): number => count('--sizes', each.trim(), 0);
  return {
    only: values.only === undefined ? SCENARIOS : some('--only', values.only, SCENARIOS),
    rounds: count('--rounds', values.rounds, FULL.rounds),
    sizes: [size(first), ...others.map(size)],
    // One alone would be measured twice.
    sites: count('--sites', values.sites, FULL.sites, 2),
    changes: count('--changes', values.changes, FULL.changes),
    idleSeconds: count('--idle', values.idle, FULL.idleSeconds),
    trafficSeconds: count('--seconds', values.seconds, FULL.trafficSeconds),
    ...destination(values),
  };
}

/** Whether figures of this run are those that the table speaks of. */
export function isFull({ only, rounds, sizes, sites, changes, idleSeconds, trafficSeconds }: Options): boolean {
  const isSame = sizes.join() === FULL.sizes.join() && sites === FULL.sites;
  const isLong =
    rounds >= FULL.rounds && changes >= FULL.changes && idleSeconds >= FULL.idleSeconds && trafficSeconds >= FULL.trafficSeconds;
  return isSame && isLong && SCENARIOS.every((name) => only.includes(name));
}
