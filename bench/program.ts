import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { HarnessError } from '../test/harness/failures.ts';
import { describeMachine, type Machine } from './machine.ts';
import { replaceBlock } from './markdown.ts';
import type { Destination } from './options.ts';

export interface Benchmark<Options extends Destination> {
  /** Name of its folder, and of its marks in docs/benchmarks.md. */
  readonly name: string;
  /** Measured part of the checkout. */
  readonly folders: readonly string[];
  readonly usage: string;
  /** @returns undefined where help was asked for @throws TypeError that says which argument is wrong */
  readonly parse: (args: readonly string[]) => Options | undefined;
  /** Whether figures of this run are those that the document speaks of. */
  readonly isFull: (options: Options) => boolean;
  readonly measure: (options: Options, machine: Machine) => Promise<Measured>;
}

export interface Measured {
  /** For the document. */
  readonly text: string;
  /** Every sample, for programs. */
  readonly all: object;
  /** Whether all was measured that was asked for. */
  readonly isWhole: boolean;
}

const DOCUMENT = fileURLToPath(new URL('../docs/benchmarks.md', import.meta.url));
const begun = performance.now();

/** The command line of a benchmark, from its options to its exit code. */
export async function runBenchmark<Options extends Destination>(benchmark: Benchmark<Options>): Promise<void> {
  try {
    await measureAndReport(benchmark, process.argv.slice(2));
  } catch (error) {
    console.error(error instanceof HarnessError || error instanceof TypeError ? error.message : error);
    process.exitCode = 1;
  }
}

export function log(line: string): void {
  console.log(`${((performance.now() - begun) / 1_000).toFixed(1).padStart(7)} s  ${line}`);
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

async function measureAndReport<Options extends Destination>(benchmark: Benchmark<Options>, args: readonly string[]): Promise<void> {
  const { name, folders } = benchmark;
  const options = benchmark.parse(args);
  if (options === undefined) {
    console.log(benchmark.usage);
    return;
  }
  const machine = describeMachine([`node bench/${name}/main.ts`, ...args].join(' '), folders);
  if (machine.loadBefore > 0.5) log(`the machine is busy (load ${machine.loadBefore.toFixed(2)}): times measured now mean little`);
  const { text, all, isWhole } = await benchmark.measure(options, machine);
  console.log(`\n${text}\n`);
  if (options.json !== undefined) await writeFile(options.json, `${JSON.stringify(all, undefined, 2)}\n`);
  if (options.docs !== undefined || benchmark.isFull(options)) {
    const document = options.docs ?? DOCUMENT;
    await writeFile(document, replaceBlock(await readFile(document, 'utf8'), name, text));
    log(`the figures stand in ${document}`);
  } else log('docs/benchmarks.md is left as it is: this was not a whole run at full size');
  if (!isWhole) process.exitCode = 1;
}
