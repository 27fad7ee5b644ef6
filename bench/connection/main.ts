/**
 * What a connection between sites costs, beside the same traffic without and with another system: `node bench/connection/main.ts --help`.
 * docs/benchmarks.md describes the measurements and the method.
 */
import { writeFile } from 'node:fs/promises';
import { bundle } from '../../scripts/bundle.ts';
import { createAuthority, createNetwork, type Host } from '../../test/net/harness/index.ts';
import type { Machine } from '../machine.ts';
import { log, messageOf, runBenchmark, type Measured } from '../program.ts';
import type { Bench, Running, System } from './bench.ts';
import { figuresOf, verdictOf } from './figures.ts';
import { isFull, parseOptions, USAGE, type Options, type ScenarioName, type SystemName } from './options.ts';
import { report, type Result } from './report.ts';
import { measureDelay, startDelay } from './scenarios/delay.ts';
import { measureFailover } from './scenarios/failover.ts';
import { measureIdle } from './scenarios/idle.ts';
import { MemoryWatch, recordAfter, recordFresh } from './scenarios/memory.ts';
import { bulk, mixed, observer, requests, warmUp, type Turn } from './scenarios/traffic.ts';
import { direct } from './systems/direct.ts';
import { EARSHOT_DELAY, earshotPair } from './systems/earshot.ts';
import { startServers } from './servers.ts';
import { HAPROXY_DELAY, haproxyPair } from './systems/haproxy.ts';
import { ratholePair } from './systems/rathole.ts';
import { versionsOf } from './versions.ts';

const TURNS: readonly (readonly [ScenarioName, Turn])[] = [
  ['bulk', bulk],
  ['requests', requests],
  ['mixed', mixed],
  ['observer', observer],
];

await runBenchmark({ name: 'connection', folders: ['src', 'bench/connection'], usage: USAGE, parse: parseOptions, isFull, measure });

async function measure(options: Options, machine: Machine): Promise<Measured> {
  const figures = figuresOf(options);
  const samples = new Map(figures.map(({ id }): [string, Partial<Record<SystemName, number[]>>] => [id, {}]));
  const failures = new Map<ScenarioName, string>();
  const record: Bench['record'] = (id, system, sample) => {
    const known = samples.get(id);
    if (known === undefined) throw new TypeError(`there is no figure ${id}`);
    (known[system] ??= []).push(sample);
  };

  await using net = await createNetwork({ hosts: ['bench'] });
  const host = net.host('bench');
  const bench: Bench = {
    host,
    authority: await createAuthority(`${host.dir}/ca`),
    program: await programFile(host, options),
    options,
    record,
    log,
  };
  await prepare(bench);
  const systems = await makeSystems(bench);
  const attempt = async (scenario: ScenarioName, what: string, act: () => Promise<void>): Promise<void> => {
    try {
      await act();
    } catch (error) {
      const why = messageOf(error);
      log(`${what} failed: ${why}`);
      failures.set(scenario, `${what}: ${why}`);
    }
  };
  for (let round = 1; round <= options.rounds; round++) {
    log(`== round ${round} of ${options.rounds}`);
    await measureRound(bench, systems, attempt);
  }
  if (options.only.includes('failover') && options.systems.includes('earshot')) {
    log('== one of two paths dies');
    await attempt('failover', 'failover', () => measureFailover(bench));
  }

  const results: readonly Result[] = figures.map((figure) => ({ figure, samples: samples.get(figure.id) ?? {} }));
  const circumstances = { ...machine, versions: await versionsOf(host, options.systems), rounds: options.rounds, seconds: options.seconds };
  const text = report(results, options.systems, failures, circumstances);
  const isWhole =
    failures.size === 0 && !results.some(({ figure, samples: of }) => isMissing(options, figure.scenario, verdictOf(figure, of).kind));
  return { text, all: { circumstances, options, results, failures: Object.fromEntries(failures) }, isWhole };
}

type Attempt = (scenario: ScenarioName, what: string, act: () => Promise<void>) => Promise<void>;

/** One turn of every system with everything. What fails says so, and the others still have theirs. */
async function measureRound(bench: Bench, systems: readonly System[], attempt: Attempt): Promise<void> {
  const {
    options: { only },
    log: say,
  } = bench;
  const turns = TURNS.filter(([scenario]) => only.includes(scenario));
  if (turns.length > 0 || only.includes('memory')) {
    await using stack = new AsyncDisposableStack();
    const running: Running[] = [];
    for (const system of systems)
      await attempt('memory', `start of ${system.name}`, async () => {
        running.push(stack.use(await system.start()));
      });
    if (only.includes('memory')) await attempt('memory', 'memory', () => recordFresh(bench, running));
    const watches = new Map(running.map((system) => [system, stack.use(new MemoryWatch(system))]));
    if (turns.length > 0) for (const system of running) await attempt('memory', `warming up ${system.name}`, () => warmUp(bench, system));
    for (const [scenario, turn] of turns) {
      for (const system of running) {
        say(`${scenario}, ${system.name}`);
        await attempt(scenario, `${scenario}, ${system.name}`, () => turn(bench, system));
      }
    }
    if (only.includes('memory')) await attempt('memory', 'memory', () => recordAfter(bench, watches));
  }
  for (const [scenario, run] of [
    ['idle', measureIdle],
    ['delay', measureDelay],
  ] as const) {
    if (!only.includes(scenario)) continue;
    for (const system of systems) {
      say(`${scenario}, ${system.name}`);
      await attempt(scenario, `${scenario}, ${system.name}`, () => run(bench, system));
    }
  }
}

async function prepare(bench: Bench): Promise<void> {
  await startServers(bench);
  for (const delay of [HAPROXY_DELAY, EARSHOT_DELAY]) await startDelay(bench, delay);
}

async function makeSystems(bench: Bench): Promise<readonly System[]> {
  const makers: Readonly<Record<SystemName, () => Promise<System>>> = {
    direct: async () => direct,
    haproxy: async () => haproxyPair(bench),
    rathole: () => ratholePair(bench),
    earshot: () => earshotPair(bench),
  };
  const created: System[] = [];
  for (const name of bench.options.systems) created.push(await makers[name]());
  return created;
}

/** The bundle that users run. */
async function programFile(host: Host, { systems }: Options): Promise<string> {
  const given = process.env['EARSHOT_PROGRAM'];
  if (given !== undefined && given !== '') return given;
  const file = `${host.dir}/earshot.mjs`;
  if (systems.includes('earshot')) await writeFile(file, (await bundle()).code);
  return file;
}

function isMissing(options: Options, scenario: ScenarioName, verdict: string): boolean {
  return verdict === 'not-measured' && options.only.includes(scenario) && options.systems.includes('earshot');
}
