/**
 * What others feel of an attack on a router: `node bench/hostile/main.ts --help`. Real processes in network namespaces: a client's requests over a
 * link, alone and while somebody attacks the router that it comes to, in turns. docs/benchmarks.md tells what is measured, and how.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { ATTACKS, Campaign, CONTROL, type Phase, type StrikeName } from '../../test/net/hostile/campaign.ts';
import type { Paced } from '../../test/net/hostile/pacer.ts';
import { describeMachine } from '../machine.ts';
import { format, machineLine, replaceBlock, table } from '../markdown.ts';
import { count, destination, DESTINATION_USAGE, some, type Destination } from '../options.ts';
import { median, percentile } from '../statistics.ts';

const DOCUMENT = fileURLToPath(new URL('../../docs/benchmarks.md', import.meta.url));
const NAMES: readonly StrikeName[] = [CONTROL, ...ATTACKS];
const FULL = { rounds: 3, seconds: 10, cases: 1_000_000 };

const USAGE = `node bench/hostile/main.ts [OPTION…]

Attacks a router in every way it knows, while a client that has nothing to do with it goes on over a link, and compares the
client's times with those of the quiet seconds before. About ${Math.ceil((FULL.rounds * NAMES.length * FULL.seconds * 2) / 60)} minutes on two quiet cores.

  --only NAME,…       some of: ${NAMES.join(', ')}
  --rounds N          ${FULL.rounds}
  --seconds N         ${FULL.seconds}, of an attack, and of the quiet before it
  --cases N           ${FULL.cases} at most in an attack
  --seed N            1
${DESTINATION_USAGE}`;

interface Options extends Destination {
  readonly only: readonly StrikeName[];
  readonly rounds: number;
  readonly seconds: number;
  readonly cases: number;
  readonly seed: number;
  readonly whole: boolean;
}

interface Sample {
  readonly quiet: Paced;
  readonly phase: Phase;
}

const TEXT = { type: 'string' } as const;

function parseOptions(args: readonly string[]): Options | undefined {
  const { values } = parseArgs({
    args: [...args],
    options: { only: TEXT, rounds: TEXT, seconds: TEXT, cases: TEXT, seed: TEXT, json: TEXT, docs: TEXT, help: { type: 'boolean' } },
  });
  if (values.help === true) return undefined;
  return {
    only: values.only === undefined ? NAMES : some('--only', values.only, NAMES),
    rounds: count('--rounds', values.rounds, FULL.rounds),
    seconds: count('--seconds', values.seconds, FULL.seconds),
    cases: count('--cases', values.cases, FULL.cases),
    seed: count('--seed', values.seed, 1),
    whole: [values.only, values.rounds, values.seconds, values.cases].every((value) => value === undefined),
    ...destination(values),
  };
}

async function measure({ only, rounds, seconds, cases, seed }: Options): Promise<ReadonlyMap<StrikeName, readonly Sample[]>> {
  const samples = new Map<StrikeName, Sample[]>(only.map((name) => [name, []]));
  await using campaign = await Campaign.start({ perSecond: 100 });
  for (let round = 1; round <= rounds; round += 1) {
    for (const name of only) {
      const quiet = await campaign.quiet(seconds);
      const phase = await campaign.strike(name, { cases, seconds, seed: seed + round });
      samples.get(name)?.push({ quiet, phase });
      console.log(`round ${round}: ${name} ${JSON.stringify(phase.told)}, ${phase.paced.failures.length} failures`);
    }
  }
  return samples;
}

const p99 = ({ kept }: Paced): number => percentile(kept, 0.99);

function row(name: StrikeName, samples: readonly Sample[]): readonly string[] {
  const ratios = samples.map(({ quiet, phase }) => p99(phase.paced) / p99(quiet));
  const done = samples.reduce((sum, { phase }) => sum + Object.values(phase.told).reduce((all, one) => all + one, 0), 0);
  const failures = samples.flatMap(({ quiet, phase }) => [...quiet.failures, ...phase.paced.failures]);
  return [
    name,
    String(done),
    format(median(samples.map(({ quiet }) => p99(quiet))), 'ms'),
    format(median(samples.map(({ phase }) => p99(phase.paced))), 'ms'),
    `${format(median(ratios), '')} (${format(Math.min(...ratios), '')} to ${format(Math.max(...ratios), '')})`,
    format(median(samples.map(({ phase }) => percentile(phase.paced.fresh, 0.99))), 'ms'),
    String(failures.length),
    format(Math.max(...samples.map(({ phase }) => phase.memory.most)), 'MB'),
  ];
}

const HEAD = ['attack', 'cases', 'p99 alone', 'p99 meanwhile', 'ratio', 'p99 of new connections', 'failures', 'most memory'];

async function main(args: readonly string[]): Promise<void> {
  const options = parseOptions(args);
  if (options === undefined) {
    console.log(USAGE);
    return;
  }
  const machine = describeMachine(['node bench/hostile/main.ts', ...args].join(' '), ['src']);
  const samples = await measure(options);
  const rows = [...samples].map(([name, all]) => row(name, all));
  const text = [...table(HEAD, rows), '', `\`${machine.command}\`: ${machineLine(machine)}`].join('\n');
  console.log(`\n${text}\n`);
  if (options.json !== undefined) await writeFile(options.json, `${JSON.stringify({ machine, samples: [...samples] }, undefined, 2)}\n`);
  const document = options.docs ?? (options.whole ? DOCUMENT : undefined);
  if (document !== undefined) await writeFile(document, replaceBlock(await readFile(document, 'utf8'), 'hostile', text));
}

try {
  await main(process.argv.slice(2));
} catch (error) {
  console.error(error instanceof TypeError ? error.message : error);
  process.exitCode = 1;
}
