/**
 * What an exposure costs, measured on a real cluster that this program boots and ends: `node bench/exposure/main.ts --help`.
 * docs/benchmarks.md tells what is measured, and how.
 */
import { startCluster, type Cluster } from '../../test/harness/index.ts';
import { installEarshot } from '../../test/harness/install.ts';
import { log, messageOf, runBenchmark } from '../program.ts';
import type { Bench } from './bench.ts';
import { adminClient } from './load.ts';
import { figuresOf, outcomeOf, type Outcome } from './figures.ts';
import { isFull, parseOptions, SCENARIOS, USAGE, type Options, type ScenarioName } from './options.ts';
import { report, type Result } from './report.ts';
import { measureIdle } from './scenarios/idle.ts';
import { measureListeners } from './scenarios/listeners.ts';
import { measureMemory } from './scenarios/memory.ts';
import { measureNodeAddress } from './scenarios/node-address.ts';
import { measureRefused } from './scenarios/refused.ts';
import { measureStatefulSet } from './scenarios/stateful-set.ts';
import { Workspace } from './workspace.ts';

const scenarios: Readonly<Record<ScenarioName, (bench: Bench) => Promise<void>>> = {
  listeners: measureListeners,
  'stateful-set': measureStatefulSet,
  'node-address': measureNodeAddress,
  idle: measureIdle,
  refused: measureRefused,
  memory: measureMemory,
};

await runBenchmark({
  name: 'exposure',
  folders: ['src', 'deploy'],
  usage: USAGE,
  parse: parseOptions,
  isFull,
  measure: async (options, machine) => {
    await using cluster = await startCluster({ name: 'bench', log });
    await installEarshot(cluster, { log });
    const { results, samples, remarks } = await measure(cluster, options);
    const { gitVersion } = await cluster.api.get<{ readonly gitVersion: string }>('/version');
    const circumstances = { ...machine, kubernetes: gitVersion };
    const text = report(results, circumstances, remarks);
    return { text, all: { circumstances, options, samples, results, remarks }, isWhole: !results.some(({ outcome }) => isBroken(outcome)) };
  },
});

interface Measured {
  readonly results: readonly Result[];
  /** By a figure's id. */
  readonly samples: Readonly<Record<string, readonly number[]>>;
  /** What was unlike the rest, in words. */
  readonly remarks: readonly string[];
}

/** Runs the scenarios that were asked for. One that fails says so in its figures, and the others still run. */
async function measure(cluster: Cluster, options: Options): Promise<Measured> {
  const figures = figuresOf(options);
  const samples = new Map(figures.map(({ id }): [string, number[]] => [id, []]));
  const failures = new Map<ScenarioName, string>();
  const remarks: string[] = [];
  await using client = await adminClient(cluster);
  const record = (id: string, sample: number): void => {
    const known = samples.get(id);
    if (known === undefined) throw new TypeError(`there is no figure ${id}`);
    known.push(sample);
  };
  const tell = (text: string): void => void remarks.push(text);
  const bench: Bench = { cluster, client, sizes: options, record, tell, log, left: {} };
  for (const name of SCENARIOS.filter((scenario) => options.only.includes(scenario))) {
    log(`== ${name}`);
    try {
      await scenarios[name](bench);
    } catch (error) {
      failures.set(name, messageOf(error));
      log(`${name} failed: ${messageOf(error)}`);
      await Workspace.clearAll(bench).catch((left: unknown) => log(`what it left could not be cleared up: ${messageOf(left)}`));
    }
  }
  const results = figures.map((figure) => ({
    figure,
    outcome: outcomeOf(figure, samples.get(figure.id) ?? [], failures.get(figure.scenario)),
  }));
  return { results, samples: Object.fromEntries(samples), remarks };
}

function isBroken(outcome: Outcome): boolean {
  return outcome.kind === 'failed' || (outcome.kind === 'measured' && outcome.brokeOff !== undefined);
}
