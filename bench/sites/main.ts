/**
 * What sites in a cluster cost, measured on a real cluster that this program boots and ends: `node bench/sites/main.ts --help`.
 * docs/benchmarks.md tells what is measured, and how.
 */
import { connectCluster, startCluster, type Cluster } from '../../test/harness/index.ts';
import { installEarshot } from '../../test/harness/install.ts';
import { adminClient } from '../cluster/load.ts';
import { measureAll } from '../cluster/measure.ts';
import { report } from '../cluster/report.ts';
import { log, runBenchmark } from '../program.ts';
import type { Bench } from './bench.ts';
import { figuresOf } from './figures.ts';
import { isFull, parseOptions, SCENARIOS, USAGE, type ScenarioName } from './options.ts';
import { closeAll } from './places.ts';
import { measureIdle } from './scenarios/idle.ts';
import { measureLink } from './scenarios/link.ts';
import { measureListener } from './scenarios/listener.ts';
import { measureMany } from './scenarios/many.ts';
import { measureMemory } from './scenarios/memory.ts';
import { measurePods } from './scenarios/pods.ts';
import { measureSite } from './scenarios/site.ts';

const scenarios: Readonly<Record<ScenarioName, (bench: Bench) => Promise<void>>> = {
  site: measureSite,
  link: measureLink,
  listener: measureListener,
  pods: measurePods,
  many: measureMany,
  idle: measureIdle,
  memory: measureMemory,
};

/** Nothing is reached from outside: a cluster without load balancers would make sites wait for one. */
const VALUES = { exposure: { enabled: false }, connection: { defaultAccessType: 'local' } };

await runBenchmark({
  name: 'sites',
  folders: ['src', 'deploy'],
  usage: USAGE,
  parse: parseOptions,
  isFull,
  measure: async (options, machine) => {
    await using cluster = await ready();
    await using client = await adminClient(cluster);
    const ground = { cluster, client, log };
    const left: Bench['left'] = {};
    const { results, samples, remarks, isWhole } = await measureAll({
      figures: figuresOf(options),
      names: SCENARIOS.filter((name) => options.only.includes(name)),
      run: (name, to) => scenarios[name]({ ...ground, ...to, sizes: options, left }),
      clear: () => closeAll(ground),
      log,
    });
    if (left.many !== undefined) await closeAll(ground);
    const { gitVersion } = await cluster.api.get<{ readonly gitVersion: string }>('/version');
    const circumstances = { ...machine, kubernetes: gitVersion };
    const text = report(results, circumstances, remarks);
    return { text, all: { circumstances, options, samples, results, remarks }, isWhole };
  },
});

async function ready(): Promise<Cluster> {
  if (process.env['EARSHOT_CLUSTER_STATE'] !== undefined) return connectCluster();
  const cluster = await startCluster({ name: 'bench', log });
  try {
    await installEarshot(cluster, { log, connection: true, values: VALUES });
    return cluster;
  } catch (error) {
    await cluster.stop();
    throw error;
  }
}
