/**
 * What sites in a cluster cost, measured on a real cluster that this program boots and ends: `node bench/sites/main.ts --help`.
 * docs/benchmarks.md describes the measurements and the method.
 */
import { connectCluster, startCluster, type Cluster } from '../../test/harness/index.ts';
import { installEarshot } from '../../test/harness/install.ts';
import { runClusterBenchmark } from '../cluster/benchmark.ts';
import { log } from '../program.ts';
import { figuresOf } from './figures.ts';
import { isFull, parseOptions, USAGE } from './options.ts';
import { closeAll } from './places.ts';
import { measureFloor } from './scenarios/floor.ts';
import { measureIdle } from './scenarios/idle.ts';
import { measureLink } from './scenarios/link.ts';
import { measureListener } from './scenarios/listener.ts';
import { measureMany, measureMore } from './scenarios/many.ts';
import { measureMemory } from './scenarios/memory.ts';
import { measurePods } from './scenarios/pods.ts';
import { measureSite } from './scenarios/site.ts';
import { measureTraffic } from './scenarios/traffic.ts';

const ISNT_OURS = process.env['EARSHOT_CLUSTER_STATE'] !== undefined;

/** Nothing is reached from outside: a cluster without load balancers would make sites wait for one. */
const VALUES = { exposure: { enabled: false }, connection: { defaultAccessType: 'local' } };

await runClusterBenchmark({
  name: 'sites',
  usage: USAGE,
  parse: parseOptions,
  isFull,
  figures: figuresOf,
  scenarios: {
    site: measureSite,
    link: measureLink,
    listener: measureListener,
    pods: measurePods,
    traffic: measureTraffic,
    many: async (bench) => {
      await measureMany(bench);
      // A cluster that is not ours is left as it was.
      if (ISNT_OURS && !bench.sizes.only.includes('idle')) await closeAll(bench);
    },
    idle: measureIdle,
    memory: measureMemory,
    more: measureMore,
    floor: measureFloor,
  },
  left: {},
  start: ready,
  clear: closeAll,
});

async function ready(): Promise<Cluster> {
  if (ISNT_OURS) return connectCluster();
  const cluster = await startCluster({ name: 'bench', log });
  try {
    await installEarshot(cluster, { log, connection: true, values: VALUES });
    return cluster;
  } catch (error) {
    await cluster.stop();
    throw error;
  }
}
