/**
 * How routing grows: `node --max-old-space-size=12000 bench/routing/main.ts [--sites 10,100,300,1000] [--shapes tiers,geometric] [--keys 100] [--write]`.
 * docs/scale.md describes the simulation, and `--write` puts the tables there.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { OwnFacts } from '../../src/routing/contract.ts';
import { argumentsOf } from '../../scripts/arguments.ts';
import { describeMachine } from '../machine.ts';
import { format, replaceBlock, table } from '../markdown.ts';
import { measureOneRouter } from './one-router.ts';
import type { OneRouter } from './one-router.ts';
import { Random } from './random.ts';
import { Simulation } from './simulation.ts';
import type { Traffic } from './simulation.ts';
import { makeTopology } from './topology.ts';
import type { Shape } from './topology.ts';

const document = fileURLToPath(new URL('../../docs/scale.md', import.meta.url));

interface Run {
  readonly shape: Shape;
  readonly sites: number;
  readonly links: number;
  readonly phases: readonly { readonly name: string; readonly traffic: Traffic }[];
  /** Bytes that the process held for each site, with records shared. */
  readonly heldOfSite: number;
}

/** @throws Error where a router of the simulation does not know the whole network in the end */
function run(shape: Shape, sites: number, keysOfSite: number): Run {
  const topology = makeTopology(shape, sites, 1);
  const keysOf = (site: number): OwnFacts['keys'] =>
    Array.from({ length: keysOfSite }, (_, index) => ({ routingKey: `service-${index}.site-${site}`, connectors: 1, listeners: 0 }));
  const simulation = new Simulation(topology, keysOf);
  const random = new Random(2);
  const phases: { name: string; traffic: Traffic }[] = [];
  const phase = (name: string, seconds: number): void => {
    simulation.run(seconds * 1000);
    const traffic = simulation.count();
    phases.push({ name, traffic });
    console.error(`${shape} ${sites}: ${name}`, traffic);
    check(simulation, keysOfSite);
  };
  simulation.count();
  for (const link of topology.links) simulation.up(link, random.below(2000));
  phase('all start within 2 s', 30);
  const [site, link] = [Math.floor(sites / 2), topology.links[Math.floor(topology.links.length / 2)]];
  simulation.facts(site, [...keysOf(site), { routingKey: 'added', connectors: 1, listeners: 0 }]);
  phase('one key is added', 10);
  if (link !== undefined) {
    simulation.down(link);
    phase('one link is cut', 10);
    simulation.up(link);
    phase('it comes back', 10);
  }
  for (const one of simulation.linksOf(site)) simulation.down(one);
  simulation.start(site);
  for (const one of simulation.linksOf(site)) simulation.up(one, 1000);
  phase('one site restarts, its links after 1 s', 10);
  phase('ten quiet minutes', 600);
  globalThis.gc?.();
  const { heapUsed, external } = process.memoryUsage();
  return { shape, sites, links: topology.links.length, phases, heldOfSite: (heapUsed + external) / sites };
}

function check(simulation: Simulation, keysOfSite: number): void {
  const random = new Random(3);
  const { sites } = simulation.topology;
  for (let left = 5; left > 0; left -= 1) {
    const [from, to] = [random.below(sites), random.below(sites)];
    const reached = simulation.router(from).network().length;
    const [found] = simulation.router(from).destinations(`service-${random.below(keysOfSite)}.site-${to}`);
    if (reached !== sites || found?.router !== simulation.routerId(to))
      throw new Error(`site ${from} reaches ${reached} of ${sites} sites, and ${String(found?.router)} for site ${to}`);
  }
}

function report(runs: readonly Run[], one: OneRouter, command: string): string {
  const machine = describeMachine(command, ['src/routing', 'bench/routing']);
  const rows = runs.flatMap(({ shape, sites, links, phases }) =>
    phases.map(({ name, traffic }) => [
      shape,
      String(sites),
      String(links),
      name,
      format(traffic.messages, ''),
      format(traffic.messages / links, ''),
      format(traffic.bytes / links / 1000, 'kB'),
      format(traffic.converged, 'ms'),
      format(traffic.checks / sites, ''),
      format(traffic.cpu / sites, 'ms'),
    ]),
  );
  const held = runs.map(({ shape, sites, heldOfSite }) => [shape, String(sites), format(heldOfSite / 1000, 'kB')]);
  return [
    `Measured on ${machine.date} at commit ${machine.commit} with \`${machine.command}\`: ${machine.cores} cores of ${machine.cpu}, ${machine.memoryGigabytes} GB, Linux ${machine.kernel}, Node.js ${process.versions.node}. ` +
      `Load before: ${machine.loadBefore.toFixed(1)}${machine.loadBefore > 0.5 ? ', so processor times are higher than on a quiet machine; counts, bytes and virtual times do not depend on it' : ''}.`,
    '',
    ...table(
      [
        'network',
        'sites',
        'links',
        'what happens',
        'messages',
        'a link',
        'bytes a link',
        'virtual time to the last change',
        'signature checks a router',
        'processor time a router',
      ],
      rows,
    ),
    '',
    'Memory of the simulating process for each site, which shares records between all routers:',
    '',
    ...table(['network', 'sites', 'a site'], held),
    '',
    `One real router that takes in all of the largest network (${one.records} records, ${format(one.bytes / 1e6, 'MB')}), with real signatures and nothing shared:`,
    '',
    ...table(
      ['what', 'figure'],
      [
        ['memory that it holds for it', format(one.held / 1e6, 'MB')],
        ['processor time to take it in, signatures included', format(one.intake, 'ms')],
        ['of the message that takes longest (32 KiB)', format(one.longestMessage, 'ms')],
        ['one signature check', format(one.check, 'µs')],
        ['all paths, after a change of neighbours anywhere', format(one.paths, 'ms')],
        ['destinations of a key that was never asked for', format(one.firstQuestion, 'ms')],
        ['of one that was, after a change', format(one.nextQuestion, 'µs')],
        ['of one that was, without a change', format(one.sameQuestion, 'µs')],
        ['the whole network with all keys, for a status', format(one.network, 'ms')],
      ],
    ),
  ].join('\n');
}

const { values } = argumentsOf('node bench/routing/main.ts [--sites N,…] [--shapes tiers,geometric] [--keys N] [--write]', {
  options: {
    sites: { type: 'string', default: '10,100,300,1000' },
    shapes: { type: 'string', default: 'tiers,geometric' },
    keys: { type: 'string', default: '100' },
    write: { type: 'boolean', default: false },
  },
});
const shapes = values.shapes.split(',').map((shape): Shape => (shape === 'geometric' ? 'geometric' : 'tiers'));
const sizes = values.sites.split(',').map(Number);
const keysOfSite = Number(values.keys);
const one = measureOneRouter(makeTopology('tiers', Math.max(...sizes), 1), keysOfSite);
console.error(one);
const runs = sizes.flatMap((sites) => shapes.map((shape) => run(shape, sites, keysOfSite)));
const command = [
  'node',
  ...process.execArgv.filter((flag) => !flag.includes('warning')),
  'bench/routing/main.ts',
  ...process.argv.slice(2),
].join(' ');
const text = report(runs, one, command);
console.log(text);
if (values.write) await writeFile(document, replaceBlock(await readFile(document, 'utf8'), 'scale', text));
