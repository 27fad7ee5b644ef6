/**
 * What an exposure costs, measured on a real cluster that this program boots and ends: `node bench/exposure/main.ts --help`.
 * docs/benchmarks.md describes the measurements and the method.
 */
import { startCluster } from '../../test/harness/index.ts';
import { installEarshot } from '../../test/harness/install.ts';
import { runClusterBenchmark } from '../cluster/benchmark.ts';
import { log } from '../program.ts';
import { figuresOf } from './figures.ts';
import { isFull, parseOptions, USAGE } from './options.ts';
import { measureIdle } from './scenarios/idle.ts';
import { measureListeners } from './scenarios/listeners.ts';
import { measureMemory } from './scenarios/memory.ts';
import { measureNodeAddress } from './scenarios/node-address.ts';
import { measureRefused } from './scenarios/refused.ts';
import { measureStatefulSet } from './scenarios/stateful-set.ts';
import { Workspace } from './workspace.ts';

await runClusterBenchmark({
  name: 'exposure',
  usage: USAGE,
  parse: parseOptions,
  isFull,
  figures: figuresOf,
  scenarios: {
    'stateful-set': measureStatefulSet,
    'node-address': measureNodeAddress,
    listeners: measureListeners,
    idle: measureIdle,
    refused: measureRefused,
    memory: measureMemory,
  },
  left: {},
  start: async () => {
    const cluster = await startCluster({ name: 'bench', log });
    await installEarshot(cluster, { log });
    return cluster;
  },
  clear: (ground) => Workspace.clearAll(ground),
});
