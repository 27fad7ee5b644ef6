import type { Cluster } from '../../test/harness/index.ts';
import type { Destination } from '../options.ts';
import { log, runBenchmark } from '../program.ts';
import type { Figure } from './figures.ts';
import { adminClient, type Ground } from './load.ts';
import { measureAll, type Notes } from './measure.ts';
import { report } from './report.ts';

export interface ClusterBenchmark<Name extends string, Options, Left> {
  readonly name: string;
  readonly usage: string;
  readonly parse: (args: readonly string[]) => Options | undefined;
  readonly isFull: (options: Options) => boolean;
  readonly figures: (options: Options) => readonly Figure<Name>[];
  /** In the order in which they run. */
  readonly scenarios: Readonly<Record<Name, (bench: Ground & Notes & { readonly sizes: Options; readonly left: Left }) => Promise<void>>>;
  /** State that scenarios leave for each other. */
  readonly left: Left;
  /** With what is measured. */
  readonly start: () => Promise<Cluster>;
  readonly clear: (ground: Ground) => Promise<void>;
}

/** The command line of a benchmark whose scenarios have one cluster together. */
export async function runClusterBenchmark<Name extends string, Options extends Destination & { readonly only: readonly Name[] }, Left>({
  name,
  usage,
  parse,
  isFull,
  figures,
  scenarios,
  left,
  start,
  clear,
}: ClusterBenchmark<Name, Options, Left>): Promise<void> {
  await runBenchmark<Options>({
    name,
    folders: ['src', 'deploy'],
    usage,
    parse,
    isFull,
    measure: async (options, machine) => {
      await using cluster = await start();
      await using client = await adminClient(cluster);
      const ground = { cluster, client, log };
      const { results, samples, remarks, isWhole } = await measureAll<Name>({
        figures: figures(options),
        // Names of existing scenarios only.
        names: (Object.keys(scenarios) as Name[]).filter((each) => options.only.includes(each)),
        run: (each, to) => scenarios[each]({ ...ground, ...to, sizes: options, left }),
        clear: () => clear(ground),
        log,
      });
      const { gitVersion } = await cluster.api.get<{ readonly gitVersion: string }>('/version');
      const circumstances = { ...machine, kubernetes: gitVersion };
      return { text: report(results, circumstances, remarks), all: { circumstances, options, samples, results, remarks }, isWhole };
    },
  });
}
