import { parseArgs } from 'node:util';

/** How much is measured. The defaults are the sizes of the table in docs/benchmarks.md. */
export interface Sizes {
  readonly rounds: number;
  readonly listeners: number;
  readonly pods: number;
  readonly addressChanges: number;
  readonly idleSeconds: number;
}

/** In the order in which they run: `listeners` leaves for `idle` what that begins with, and `memory` begins by clearing up. */
export const SCENARIOS = ['stateful-set', 'node-address', 'listeners', 'idle', 'memory'] as const;
export type ScenarioName = (typeof SCENARIOS)[number];

export interface Options extends Sizes {
  readonly only: readonly ScenarioName[];
  readonly json?: string;
  /** Where the figures go; undefined: into docs/benchmarks.md, but only figures of a whole run at full size. */
  readonly docs?: string;
}

export const FULL: Sizes = { rounds: 3, listeners: 1_000, pods: 60, addressChanges: 40, idleSeconds: 300 };

export const USAGE = `node bench/exposure/main.ts [OPTION…]

Boots a two-node cluster named bench, installs Earshot from the chart, and measures what an exposure costs.
All of it takes about 20 minutes on two quiet cores.

  --only NAME,…       some of: ${SCENARIOS.join(', ')}
  --rounds N          ${FULL.rounds}
  --listeners N       ${FULL.listeners}; the memory scenario goes up to five times as many
  --pods N            ${FULL.pods}
  --changes N         ${FULL.addressChanges} changes of a Node's address
  --idle SECONDS      ${FULL.idleSeconds}
  --json FILE         every sample, for programs
  --docs FILE         write the figures between that document's marks, whatever the sizes;
                      without it docs/benchmarks.md gets them, but only those of a whole run at full size`;

/** Throws a TypeError that says which argument is wrong; undefined where help was asked for. */
export function parseOptions(args: readonly string[]): Options | undefined {
  const { values } = parseArgs({
    args: [...args],
    options: {
      only: { type: 'string' },
      rounds: { type: 'string' },
      listeners: { type: 'string' },
      pods: { type: 'string' },
      changes: { type: 'string' },
      idle: { type: 'string' },
      json: { type: 'string' },
      docs: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return undefined;
  return {
    only: values.only === undefined ? SCENARIOS : values.only.split(',').map(scenarioOf),
    rounds: count('--rounds', values.rounds, FULL.rounds),
    // Fewer than two would measure the one Listener twice.
    listeners: count('--listeners', values.listeners, FULL.listeners, 2),
    pods: count('--pods', values.pods, FULL.pods),
    addressChanges: count('--changes', values.changes, FULL.addressChanges),
    idleSeconds: count('--idle', values.idle, FULL.idleSeconds),
    ...(values.json === undefined ? {} : { json: values.json }),
    ...(values.docs === undefined ? {} : { docs: values.docs }),
  };
}

/** Whether figures of this run are those that the table speaks of. */
export function isFull(options: Options): boolean {
  const { rounds, listeners, pods, addressChanges, idleSeconds } = options;
  const isSame = listeners === FULL.listeners && pods === FULL.pods;
  const isLong = rounds >= FULL.rounds && addressChanges >= FULL.addressChanges && idleSeconds >= FULL.idleSeconds;
  return isSame && isLong && SCENARIOS.every((name) => options.only.includes(name));
}

function scenarioOf(name: string): ScenarioName {
  const found = SCENARIOS.find((scenario) => scenario === name.trim());
  if (found === undefined) throw new TypeError(`--only ${name}: there are ${SCENARIOS.join(', ')}`);
  return found;
}

function count(option: string, text: string | undefined, otherwise: number, least = 1): number {
  if (text === undefined) return otherwise;
  const number = Number(text);
  if (!Number.isSafeInteger(number) || number < least) throw new TypeError(`${option} ${text}: a whole number from ${least} on`);
  return number;
}
