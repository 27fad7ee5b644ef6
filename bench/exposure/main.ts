/**
 * What an exposure costs, measured on a real cluster that this program boots and ends: `node bench/exposure/main.ts --help`.
 * docs/benchmarks.md tells what is measured, and how.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { HarnessError, startCluster, type Cluster } from '../../test/harness/index.ts';
import { installEarshot } from '../../test/harness/install.ts';
import { describeMachine } from '../machine.ts';
import { replaceBlock } from '../markdown.ts';
import { adminClient, type Bench } from './bench.ts';
import { figuresOf, outcomeOf, type Outcome } from './figures.ts';
import { kubernetesVersion } from './machine.ts';
import { isFull, parseOptions, SCENARIOS, USAGE, type Options, type ScenarioName } from './options.ts';
import { report, type Result } from './report.ts';
import { measureIdle } from './scenarios/idle.ts';
import { measureListeners } from './scenarios/listeners.ts';
import { measureMemory } from './scenarios/memory.ts';
import { measureNodeAddress } from './scenarios/node-address.ts';
import { measureStatefulSet } from './scenarios/stateful-set.ts';
import { Workspace } from './workspace.ts';

const DOCUMENT = fileURLToPath(new URL('../../docs/benchmarks.md', import.meta.url));

const scenarios: Readonly<Record<ScenarioName, (bench: Bench) => Promise<void>>> = {
  listeners: measureListeners,
  'stateful-set': measureStatefulSet,
  'node-address': measureNodeAddress,
  idle: measureIdle,
  memory: measureMemory,
};

const begun = performance.now();
const log = (line: string): void => console.log(`${((performance.now() - begun) / 1_000).toFixed(1).padStart(7)} s  ${line}`);

async function main(args: readonly string[]): Promise<void> {
  const options = parseOptions(args);
  if (options === undefined) {
    console.log(USAGE);
    return;
  }
  const machine = describeMachine(['node bench/exposure/main.ts', ...args].join(' '), ['src', 'deploy']);
  if (machine.loadBefore > 0.5) log(`the machine is busy (load ${machine.loadBefore.toFixed(2)}): times measured now mean little`);
  await using cluster = await startCluster({ name: 'bench', log });
  await installEarshot(cluster, { log });
  const { results, samples } = await measure(cluster, options);

  const circumstances = { ...machine, kubernetes: await kubernetesVersion(cluster) };
  const text = report(results, circumstances);
  console.log(`\n${text}\n`);
  const all = { circumstances, options, samples, results };
  if (options.json !== undefined) await writeFile(options.json, `${JSON.stringify(all, undefined, 2)}\n`);
  await writeDocument(options, text);
  if (results.some(({ outcome }) => isBroken(outcome))) process.exitCode = 1;
}

interface Measured {
  readonly results: readonly Result[];
  /** By a figure's id. */
  readonly samples: Readonly<Record<string, readonly number[]>>;
}

/** Runs the scenarios that were asked for. One that fails says so in its figures, and the others still run. */
async function measure(cluster: Cluster, options: Options): Promise<Measured> {
  const figures = figuresOf(options);
  const samples = new Map(figures.map(({ id }): [string, number[]] => [id, []]));
  const failures = new Map<ScenarioName, string>();
  await using client = await adminClient(cluster);
  const record = (id: string, sample: number): void => {
    const known = samples.get(id);
    if (known === undefined) throw new TypeError(`there is no figure ${id}`);
    known.push(sample);
  };
  const bench: Bench = { cluster, client, sizes: options, record, log, left: {} };
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
  return { results, samples: Object.fromEntries(samples) };
}

async function writeDocument(options: Options, text: string): Promise<void> {
  if (options.docs === undefined && !isFull(options)) {
    log('docs/benchmarks.md is left as it is: this was not a whole run at full size');
    return;
  }
  const document = options.docs ?? DOCUMENT;
  await writeFile(document, replaceBlock(await readFile(document, 'utf8'), 'exposure', text));
  log(`the figures stand in ${document}`);
}

function isBroken(outcome: Outcome): boolean {
  return outcome.kind === 'failed' || (outcome.kind === 'measured' && outcome.brokeOff !== undefined);
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

try {
  await main(process.argv.slice(2));
} catch (error) {
  console.error(error instanceof HarnessError || error instanceof TypeError ? error.message : error);
  process.exitCode = 1;
}
