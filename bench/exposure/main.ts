/**
 * What an exposure costs, measured on a real cluster that this program boots and ends: `node bench/exposure/main.ts --help`.
 * docs/benchmarks.md tells what is measured, and how.
 */
import { startCluster } from '../../test/harness/index.ts';
import { installEarshot } from '../../test/harness/install.ts';
import { adminClient } from '../cluster/load.ts';
import { measureAll } from '../cluster/measure.ts';
import { report } from '../cluster/report.ts';
import { log, runBenchmark } from '../program.ts';
import type { Bench } from './bench.ts';
import { figuresOf } from './figures.ts';
import { isFull, parseOptions, SCENARIOS, USAGE, type ScenarioName } from './options.ts';
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
    await using client = await adminClient(cluster);
    const ground = { cluster, client, log };
    const left: Bench['left'] = {};
    const { results, samples, remarks, isWhole } = await measureAll({
      figures: figuresOf(options),
      names: SCENARIOS.filter((name) => options.only.includes(name)),
      run: (name, to) => scenarios[name]({ ...ground, ...to, sizes: options, left }),
      clear: () => Workspace.clearAll(ground),
      log,
    });
    const { gitVersion } = await cluster.api.get<{ readonly gitVersion: string }>('/version');
    const circumstances = { ...machine, kubernetes: gitVersion };
    const text = report(results, circumstances, remarks);
    return { text, all: { circumstances, options, samples, results, remarks }, isWhole };
  },
});
