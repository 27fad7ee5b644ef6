/** Whether connections cost more than at an earlier revision: `node bench/gate.ts --help`. */
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs, promisify } from 'node:util';
import { bundleRevision } from '../scripts/bundle-revision.ts';
import { createAuthority, createNetwork } from '../test/net/harness/index.ts';
import type { Bench, Running, System } from './connection/bench.ts';
import { figuresOf } from './connection/figures.ts';
import { recordAfter, recordFresh, MemoryWatch } from './connection/scenarios/memory.ts';
import { bulk, requests, warmUp } from './connection/scenarios/traffic.ts';
import { startServers } from './connection/servers.ts';
import { earshotPair } from './connection/systems/earshot.ts';
import { haproxyPair } from './connection/systems/haproxy.ts';
import { gateTable, gateVerdict, SIDES, type Side } from './gate-ratios.ts';
import { describeMachine } from './machine.ts';
import { machineLine } from './markdown.ts';
import { count } from './options.ts';
import { log } from './program.ts';

const USAGE = `node bench/gate.ts REVISION [OPTION…]

Builds the bundle of REVISION and the current one, with the packages of this checkout. Runs both and HAProxy alternately, each in a network
namespace of its own, and compares them round by round. Exits with 1 if a figure is worse by more than 5 % in the median, and worse in
every round. A round takes about a minute.

  --rounds N          5
  --seconds N         3, of one measurement
  --baseline-args=A   arguments of \`earshot run\` for the baseline alone, such as "--records 0"
  --json FILE         every sample, for programs`;

const ROOT = path.resolve(import.meta.dirname, '..');
const run = promisify(execFile);

interface Options {
  readonly revision: string;
  readonly rounds: number;
  readonly seconds: number;
  readonly baselineArgs: readonly string[];
  readonly json: string | undefined;
}

/** A system with its host, and what records its samples. */
interface Contender {
  readonly side: Side;
  readonly bench: Bench;
  readonly system: System;
}

const options = readOptions();
if (options === undefined) console.log(USAGE);
else await compare(options);

/** @throws TypeError that says which argument is wrong */
function readOptions(): Options | undefined {
  const text = { type: 'string' } as const;
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { rounds: text, seconds: text, 'baseline-args': text, json: text, help: { type: 'boolean', default: false } },
  });
  const [revision] = positionals;
  if (values.help || revision === undefined) return undefined;
  return {
    revision,
    rounds: count('--rounds', values.rounds, 5),
    seconds: count('--seconds', values.seconds, 3),
    baselineArgs: values['baseline-args']?.split(' ') ?? [],
    json: values.json,
  };
}

async function compare({ revision, rounds, seconds, baselineArgs, json }: Options): Promise<void> {
  const machine = describeMachine(`node bench/gate.ts ${process.argv.slice(2).join(' ')}`, ['src', 'bench/connection']);
  const dir = await mkdtemp(path.join(tmpdir(), 'earshot-gate-'));
  await using stack = new AsyncDisposableStack();
  stack.defer(() => rm(dir, { recursive: true }));
  const bundles = { baseline: `${dir}/baseline.mjs`, current: `${dir}/current.mjs` };
  await bundleRevision(revision, bundles.baseline);
  await run(process.execPath, ['scripts/bundle.ts', bundles.current], { cwd: ROOT });

  const samples = new Map<string, Partial<Record<Side, number[]>>>();
  const net = stack.use(await createNetwork({ hosts: [...SIDES] }));
  const contenders: Contender[] = [];
  for (const side of SIDES) {
    const host = net.host(side);
    const bench: Bench = {
      host,
      authority: await createAuthority(`${host.dir}/ca`),
      program: side === 'haproxy' ? '' : bundles[side],
      options: { only: [], systems: [], rounds, seconds, idleConnections: 0, routers: 1, args: side === 'baseline' ? baselineArgs : [] },
      record: (id, _, sample) => {
        const of = samples.getOrInsertComputed(id, () => ({}));
        (of[side] ??= []).push(sample);
      },
      log,
    };
    await startServers(bench);
    contenders.push({ side, bench, system: side === 'haproxy' ? haproxyPair(bench) : await earshotPair(bench) });
  }
  for (let round = 1; round <= rounds; round += 1) {
    log(`== round ${round} of ${rounds}`);
    // Each side comes first in some rounds, since the machine may be slower at one of them.
    await measureRound(round % 2 === 1 ? contenders : contenders.toReversed());
  }

  const figures = figuresOf({ idleConnections: 0 });
  const text = gateTable(figures, samples, revision);
  console.log(['', `${machineLine(machine)}, Node.js ${machine.node}; load before: ${machine.loadBefore.toFixed(2)}.`, ''].join('\n'));
  console.log(
    [`Medians of ${rounds} rounds of ${seconds} s a measurement, in brackets least and most: \`${machine.command}\``, '', ...text].join(
      '\n',
    ),
  );
  if (json !== undefined) await writeFile(json, `${JSON.stringify({ machine, samples: Object.fromEntries(samples) }, undefined, 2)}\n`);
  if (figures.some(({ id, unit }) => gateVerdict(unit, samples.get(id) ?? {}) === 'worse')) process.exitCode = 1;
}

/** Fresh processes of all, then each measurement of each of them. */
async function measureRound(contenders: readonly Contender[]): Promise<void> {
  await using stack = new AsyncDisposableStack();
  const running: (Contender & { readonly running: Running })[] = [];
  for (const contender of contenders) running.push({ ...contender, running: stack.use(await contender.system.start()) });
  await Promise.all(running.map(({ bench, running: one }) => recordFresh(bench, [one])));
  const watches = running.map(({ bench, running: one }) => ({ bench, watches: new Map([[one, stack.use(new MemoryWatch(one))]]) }));
  // A process that waits after its warm-up is slower for a while, so each begins right after its own.
  for (const turns of [{ 'warm-up': warmUp, requests }, { bulk }]) {
    for (const { side, bench, running: one } of running) {
      for (const [name, turn] of Object.entries(turns)) {
        log(`${name}, ${side}`);
        await turn(bench, one);
      }
    }
  }
  await Promise.all(watches.map((each) => recordAfter(each.bench, each.watches)));
}
