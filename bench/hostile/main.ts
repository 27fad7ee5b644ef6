/**
 * What others feel of an attack on a router: `node bench/hostile/main.ts --help`. Real processes in network namespaces: a client's requests over a
 * link, alone and while an attacker acts on the router that it comes to, alternately, and the same with HAProxy in the router's place.
 * docs/benchmarks.md describes the measurements and the method.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { ATTACKS, Campaign, CONTROL, type Carrier, type Phase, type StrikeName } from '../../test/net/hostile/campaign.ts';
import type { Paced } from '../../test/net/hostile/pacer.ts';
import { describeMachine } from '../machine.ts';
import { format, machineLine, replaceBlock, table } from '../markdown.ts';
import { count, destination, DESTINATION_USAGE, some, type Destination } from '../options.ts';
import { median, percentile } from '../statistics.ts';
import { startHaproxyCarrier } from './haproxy.ts';

const DOCUMENT = fileURLToPath(new URL('../../docs/benchmarks.md', import.meta.url));
const NAMES: readonly StrikeName[] = [CONTROL, ...ATTACKS];
const SYSTEMS = ['earshot', 'haproxy'] as const;
type SystemName = (typeof SYSTEMS)[number];
/** Attacks that HAProxy supports as well: the others use the protocol of routers. */
const COMPARED: readonly StrikeName[] = [CONTROL, 'certificates', 'half-open', 'crowd', 'leavers'];
const FULL = { rounds: 3, seconds: 10, cases: 1_000_000 };
const PER_SECOND = 100;
/** Seconds of a client that is not measured yet: it warms up, and the attack before ends. */
const SETTLING = 2;

const USAGE = `node bench/hostile/main.ts [OPTION…]

Attacks a router in every way it knows, while a client that has nothing to do with it goes on over a link, and compares the
client's times with those of the quiet seconds before. Where that makes sense a pair of HAProxy is then attacked the same way.
About ${Math.ceil((FULL.rounds * (NAMES.length + COMPARED.length) * (FULL.seconds * 2 + SETTLING)) / 60)} minutes on two quiet cores.

  --only NAME,…       some of: ${NAMES.join(', ')}
  --systems NAME,…    some of: ${SYSTEMS.join(', ')}
  --rounds N          ${FULL.rounds}
  --seconds N         ${FULL.seconds}, of an attack, and of the quiet before it
  --cases N           ${FULL.cases} at most in an attack
  --seed N            1
${DESTINATION_USAGE}`;

interface Options extends Destination {
  readonly only: readonly StrikeName[];
  readonly systems: readonly SystemName[];
  readonly rounds: number;
  readonly seconds: number;
  readonly cases: number;
  readonly seed: number;
  readonly whole: boolean;
}

/** The client's seconds over a system: those that count for no time, the quiet ones, and those of an attack on it. */
interface Turn {
  readonly settling: Paced;
  readonly quiet: Paced;
  readonly phase: Phase;
}

/** Measurements of one round. */
type Sample = Partial<Record<SystemName, Turn>>;

const TEXT = { type: 'string' } as const;

function parseOptions(args: readonly string[]): Options | undefined {
  const { values } = parseArgs({
    args: [...args],
    options: {
      only: TEXT,
      systems: TEXT,
      rounds: TEXT,
      seconds: TEXT,
      cases: TEXT,
      seed: TEXT,
      json: TEXT,
      docs: TEXT,
      help: { type: 'boolean' },
    },
  });
  if (values.help === true) return undefined;
  return {
    only: values.only === undefined ? NAMES : some('--only', values.only, NAMES),
    systems: values.systems === undefined ? SYSTEMS : some('--systems', values.systems, SYSTEMS),
    rounds: count('--rounds', values.rounds, FULL.rounds),
    seconds: count('--seconds', values.seconds, FULL.seconds),
    cases: count('--cases', values.cases, FULL.cases),
    seed: count('--seed', values.seed, 1),
    whole: [values.only, values.systems, values.rounds, values.seconds, values.cases].every((value) => value === undefined),
    ...destination(values),
  };
}

async function measure({ only, systems, rounds, seconds, cases, seed }: Options): Promise<ReadonlyMap<StrikeName, readonly Sample[]>> {
  const samples = new Map<StrikeName, Sample[]>(only.map((name) => [name, []]));
  await using campaign = await Campaign.start({ perSecond: PER_SECOND });
  const carriers = new Map<SystemName, Carrier>();
  for (const system of systems) {
    const carrier = system === 'earshot' ? campaign.earshot : await startHaproxyCarrier(campaign, PER_SECOND);
    await expectCarried(campaign, system, carrier);
    carriers.set(system, carrier);
  }
  for (let round = 1; round <= rounds; round += 1) {
    for (const name of only) {
      const sample: Sample = {};
      for (const [system, carrier] of carriers) {
        if (system !== 'earshot' && !COMPARED.includes(name)) continue;
        const settling = await campaign.quiet(SETTLING, carrier);
        const quiet = await campaign.quiet(seconds, carrier);
        const phase = await campaign.strike(name, { cases, seconds, seed: seed + round }, carrier);
        sample[system] = { settling, quiet, phase };
        const { result, paced, cpu } = phase;
        console.log(
          `round ${round}: ${name}, ${system}: ${JSON.stringify(result)}, ${paced.failures.length} failures, ${cpu.toFixed(1)} s of a core`,
        );
      }
      samples.get(name)?.push(sample);
    }
  }
  return samples;
}

async function expectCarried(campaign: Campaign, system: SystemName, carrier: Carrier): Promise<void> {
  const { kept, fresh, failures } = await campaign.quiet(SETTLING, carrier);
  if (failures.length > 0 || kept.length === 0 || fresh.length === 0)
    throw new TypeError(`${system} does not carry the client's requests: ${failures[0] ?? 'none came back'}`);
}

const p99 = ({ kept }: Paced): number => percentile(kept, 0.99);
const ratioOf = ({ quiet, phase }: Turn): number => p99(phase.paced) / p99(quiet);

/** The median, and from the least to the most. */
function spread(ratios: readonly number[]): string {
  return `${format(median(ratios), '')} (${format(Math.min(...ratios), '')} to ${format(Math.max(...ratios), '')})`;
}

/** Figures of each system; the further ones are Earshot's alone. */
const CELLS = ['cases', 'p99 alone', 'p99 meanwhile', 'ratio', 'failures'] as const;
const FURTHER = ['p99 of new connections', 'most memory'] as const;
const HEAD = ['attack', ...CELLS, ...FURTHER, ...CELLS.map((cell) => `HAProxy: ${cell}`), "ratio ÷ HAProxy's"];

function row(name: StrikeName, samples: readonly Sample[]): readonly string[] {
  const turnsOf = (system: SystemName): readonly Turn[] => samples.flatMap(({ [system]: turn }) => turn ?? []);
  const own = turnsOf('earshot');
  const quotients = samples.flatMap(({ earshot, haproxy }) => (earshot && haproxy ? [ratioOf(earshot) / ratioOf(haproxy)] : []));
  return [
    name,
    ...cells(own),
    own.length === 0 ? '' : format(median(own.map(({ phase }) => percentile(phase.paced.fresh, 0.99))), 'ms'),
    own.length === 0 ? '' : format(Math.max(...own.map(({ phase }) => phase.memory.most)), 'MB'),
    ...cells(turnsOf('haproxy')),
    quotients.length === 0 ? '' : spread(quotients),
  ];
}

function cells(turns: readonly Turn[]): readonly string[] {
  if (turns.length === 0) return CELLS.map(() => '');
  const done = turns.reduce((sum, { phase }) => sum + Object.values(phase.result).reduce((all, one) => all + one, 0), 0);
  const failures = turns.flatMap(({ settling, quiet, phase }) => [settling, quiet, phase.paced].flatMap((each) => each.failures));
  return [
    String(done),
    format(median(turns.map(({ quiet }) => p99(quiet))), 'ms'),
    format(median(turns.map(({ phase }) => p99(phase.paced))), 'ms'),
    spread(turns.map(ratioOf)),
    String(failures.length),
  ];
}

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
