import { parseArgs } from 'node:util';
import { COMMON, count, destination, DESTINATION_USAGE, some, type Destination } from '../options.ts';

/** How much is measured. The defaults are the sizes of the table in docs/benchmarks.md. */
export interface Sizes {
  readonly rounds: number;
  /** Seconds of one measurement. */
  readonly seconds: number;
  readonly idleConnections: number;
}

/** In the order in which they run within a round. `memory` looks on while the others run, and comes out of all of them together. */
export const SCENARIOS = ['bulk', 'requests', 'mixed', 'observer', 'memory', 'idle', 'delay', 'failover'] as const;
export type ScenarioName = (typeof SCENARIOS)[number];

/** Each carries the same connections. `direct` is no system: the client reaches the server itself. */
export const SYSTEMS = ['direct', 'haproxy', 'rathole', 'earshot'] as const;
export type SystemName = (typeof SYSTEMS)[number];

export interface Options extends Sizes, Destination {
  readonly only: readonly ScenarioName[];
  readonly systems: readonly SystemName[];
  /** Routers of each site of Earshot. With several, only traffic is measured, and not their CPU and memory. */
  readonly routers: number;
  /** More arguments of `earshot run`. */
  readonly args: readonly string[];
}

export const FULL: Sizes = { rounds: 5, seconds: 4, idleConnections: 10_000 };
const QUICK: Sizes = { rounds: 1, seconds: 1, idleConnections: 500 };
/** Systems of a whole run; rathole has to be named, since it has to be built. */
const COMPARED: readonly SystemName[] = ['direct', 'haproxy', 'earshot'];

export const USAGE = `node bench/connection/main.ts [OPTION…]

Sends the same traffic straight to its server, through a pair of HAProxy, and through two sites of Earshot, in
a network namespace of its own, and compares. All of it takes about 15 minutes on two quiet cores.

  --only NAME,…       some of: ${SCENARIOS.join(', ')}
  --systems NAME,…    some of: ${SYSTEMS.join(', ')}; without it ${COMPARED.join(', ')}
  --rounds N          ${FULL.rounds}
  --seconds N         ${FULL.seconds}, of one measurement
  --idle N            ${FULL.idleConnections} idle connections
  --routers N         1 router in each site of Earshot; CPU and memory of several are not measured
  --quick             ${QUICK.rounds} round, ${QUICK.seconds} second, ${QUICK.idleConnections} idle connections: whether it works, not how well
${DESTINATION_USAGE}

EARSHOT_PROGRAM=FILE measures that bundle; without it one is created from this checkout.`;

/** Throws a TypeError that says which argument is wrong; undefined where help was asked for. */
export function parseOptions(args: readonly string[]): Options | undefined {
  const { values } = parseArgs({
    args: [...args],
    options: {
      ...COMMON,
      systems: { type: 'string' },
      seconds: { type: 'string' },
      routers: { type: 'string' },
      quick: { type: 'boolean', default: false },
    },
  });
  if (values.help) return undefined;
  const sizes = values.quick ? QUICK : FULL;
  return {
    only: values.only === undefined ? SCENARIOS : some('--only', values.only, SCENARIOS),
    systems: values.systems === undefined ? COMPARED : some('--systems', values.systems, SYSTEMS),
    rounds: count('--rounds', values.rounds, sizes.rounds),
    seconds: count('--seconds', values.seconds, sizes.seconds),
    idleConnections: count('--idle', values.idle, sizes.idleConnections),
    routers: count('--routers', values.routers, 1),
    args: [],
    ...destination(values),
  };
}

/** Whether figures of this run are those that the table speaks of. */
export function isFull({ rounds, seconds, idleConnections, only, systems, routers }: Options): boolean {
  const isLong = rounds >= FULL.rounds && seconds >= FULL.seconds && idleConnections >= FULL.idleConnections;
  return isLong && routers === 1 && SCENARIOS.every((name) => only.includes(name)) && COMPARED.every((name) => systems.includes(name));
}
