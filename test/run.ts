/**
 * `make test`: the static checks, the unit tests, the tests of connections between network namespaces, then the cluster tests on one shared
 * cluster. The last line counts all tests. `node test/run.ts [unit] [FILE...]` runs only those: named files, or with `unit` (`npm test`) the unit
 * tests but the exhaustive ones.
 *
 * `runner/schedule.ts` says which files share a process, and which run beside others.
 *
 * `make test-quick` (`node test/run.ts quick`) runs the checks, the unit tests and the tests of `QUICK`.
 *
 * A file that fails runs again, alone, after the others of its tier. If it then passes, the run passes, and its last lines call the file
 * flaky, with the path of its first failure. A flaky file is a bug, and more than three fail the run. If namespaces or a cluster cannot be
 * created, those tests are skipped by name and reason; with CI=true that is a failure.
 */
import { spawn } from 'node:child_process';
import { accessSync, constants, existsSync, globSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { HarnessError, startCluster } from './harness/index.ts';
import { installEarshot } from './harness/install.ts';
import { isExhaustive, schedules } from './runner/schedule.ts';
import { failuresIn, type Counts, type FileResult } from './runner/test-file.ts';
import { runTier, type TierOptions } from './runner/tier.ts';

interface Tally extends Counts {
  readonly flaky: readonly FileResult[];
  /** How each failed test failed, shortened. */
  readonly failures: readonly string[];
}

const MINUTE = 60_000;
/** Timeouts in milliseconds. A test that never ends would otherwise hide all results. */
const LIMITS = { checks: 5 * MINUTE, setup: 60 * MINUTE } as const;
/** Limits far above the usual durations: a busy machine takes several times as long. A file may be a batch of a hundred. */
const UNIT = { ...schedules.unit, concurrency: 5, testLimit: 5 * MINUTE, fileLimit: 20 * MINUTE, limit: 30 * MINUTE } as const;
const LONG = { testLimit: 10 * MINUTE, fileLimit: 15 * MINUTE } as const;
const NET = { ...LONG, ...schedules.net, concurrency: 2, limit: 60 * MINUTE } as const;
/** Most share one cluster, and some disturb it. */
const E2E = { ...LONG, ...schedules.e2e, concurrency: 1, limit: 60 * MINUTE } as const;
/** Files that are named at the end of a tier, for those who want it shorter. */
const LONGEST_SHOWN = 10;
/** Tests of connections and of a cluster that `make test-quick` runs. They fail for most bugs, and take about two minutes. */
const QUICK: readonly string[] = [
  ...['two-sites', 'h2spec', 'hostile-files'].map((name) => `test/net/${name}.test.ts`),
  ...['exposure-service', 'exposure-addresses', 'mounts-tree', 'mounts-volumes', 'node-token', 'sites-hello'].map(
    (name) => `test/e2e/${name}.test.ts`,
  ),
];
/** Some tests mostly wait for the disk. */
const MEMORY_DISK = '/dev/shm';
/** Files of a run that may fail and then pass. */
const MOST_FLAKY = 3;
const ROOT = fileURLToPath(new URL('..', import.meta.url));
const NONE: Tally = { passed: 0, failed: 0, skipped: 0, flaky: [], failures: [] };
const isQuick = process.argv[2] === 'quick';
const chosen = isQuick ? ['unit', ...QUICK] : process.argv.slice(2);
/** All tests instead of named files. Then the checks run too, and Helm is built for the tests of the chart. */
const isWhole = isQuick || chosen.length === 0;
const unknown = chosen.filter((name) => name !== 'unit' && !(/^test\/(unit|net|e2e)\//.test(name) && existsSync(join(ROOT, name))));
if (unknown.length > 0) {
  console.error(`There are no tests ${unknown.join(', ')}: name quick, unit, or files below test/unit, test/net and test/e2e.`);
  process.exit(2);
}

let all = NONE;
for (const tier of [checkTier, unitTier, connectionTier, clusterTier]) all = add(all, await tier());
// Repeated at the end, where they are easy to find.
for (const failure of all.failures) console.log(`\n${failure}`);
if (all.flaky.length > 0) tellFlaky(all.flaky);
console.log(`\n${all.passed} passed, ${all.failed} failed, ${all.skipped} skipped`);
process.exitCode = all.failed > 0 ? 1 : 0;

async function checkTier(): Promise<Tally> {
  if (!isWhole) return NONE;
  console.log('— Checks: types and lint');
  const { code } = await tee('npm', ['run', '--silent', 'check'], LIMITS.checks);
  return code === 0 ? { ...NONE, passed: 1 } : { ...NONE, failed: 1 };
}

/** The tests below a folder, or those of them that the command line names. */
function filesOf(folder: string, pattern: string): readonly string[] {
  const named = chosen.filter((file) => file.startsWith(`test/${folder}/`));
  if (named.length > 0 || (chosen.length > 0 && !(folder === 'unit' && chosen.includes('unit')))) return named;
  const files = globSync(`test/${folder}/${pattern}`, { cwd: ROOT }).sort();
  return chosen.length === 0 ? files : files.filter((file) => !isExhaustive(file));
}

async function unitTier(): Promise<Tally> {
  const files = filesOf('unit', '**/*.test.ts');
  if (files.length > 0) console.log('— Unit tests');
  // If it cannot be built, the tests of the chart report it.
  if (isWhole) await tee('tools/build.sh', ['helm'], LIMITS.setup);
  const env = { NODE_COMPILE_CACHE: `${ROOT}node_modules/.cache/node`, ...(isWritable(MEMORY_DISK) ? { TMPDIR: MEMORY_DISK } : {}) };
  return testTier(files, UNIT, env);
}

function isWritable(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

async function connectionTier(): Promise<Tally> {
  const files = filesOf('net', '*.test.ts');
  if (files.length === 0) return NONE;
  console.log('— Connections between network namespaces');
  const { code, output } = await tee('scripts/setup/ready.sh', ['net'], LIMITS.setup);
  if (code !== 0) return skipAll(files, 'network namespaces cannot be created here', output);
  return testTier(files, NET);
}

async function clusterTier(): Promise<Tally> {
  const files = filesOf('e2e', '*.test.ts');
  if (files.length === 0) return NONE;
  console.log('— Cluster tests');
  const { code, output } = await tee('scripts/setup/ready.sh', ['e2e'], LIMITS.setup);
  if (code !== 0) return skipAll(files, 'a cluster cannot run here', output);
  try {
    const cluster = await startCluster({ name: 'e2e', log: (line) => console.log(`  ${line}`) });
    let tally: Tally = { ...NONE, failed: 1 };
    try {
      await installEarshot(cluster, { connection: true, log: (line) => console.log(`  ${line}`) });
      tally = await testTier(files, E2E, { EARSHOT_CLUSTER_STATE: `${cluster.layout.dir}/state.json` });
    } finally {
      const isOfInterest = tally.failed > 0 || tally.flaky.length > 0;
      await cluster.stop({ keepLogs: isOfInterest });
      if (isOfInterest) console.log(`The cluster's logs are in ${cluster.logs}`);
    }
    return tally;
  } catch (error) {
    console.error(error instanceof HarnessError ? error.message : error);
    return { ...NONE, failed: 1 };
  }
}

/** In CI, all tests must run, so skipped tests are failures. */
function skipAll(files: readonly string[], why: string, output: string): Tally {
  const reason = output.trim().split('\n').at(-1) ?? '';
  for (const file of files) console.log(`skipped: ${file}: ${why} (${reason})`);
  return { ...NONE, failed: process.env['CI'] === 'true' ? 1 : 0, skipped: files.length };
}

type Limits = Omit<TierOptions, 'cwd' | 'env' | 'chances' | 'show'>;

async function testTier(names: readonly string[], limits: Limits, env: Readonly<Record<string, string>> = {}): Promise<Tally> {
  const chances = MOST_FLAKY - all.flaky.length;
  const { files, flaky } = await runTier(names, { ...limits, env, chances, cwd: ROOT, show: (line) => console.log(line) });
  if (files.length > 2 * LONGEST_SHOWN) showLongest(files);
  // The output of files in one process contains the failures of all of them.
  const failures = [...new Set(files.filter(({ failed }) => failed > 0).flatMap(failuresIn))];
  return files.reduce<Tally>((sum, { passed, failed, skipped }) => add(sum, { ...NONE, passed, failed, skipped }), {
    ...NONE,
    flaky,
    failures,
  });
}

function showLongest(files: readonly FileResult[]): void {
  const longest = files.toSorted((a, b) => b.seconds - a.seconds).slice(0, LONGEST_SHOWN);
  console.log(`Longest files: ${longest.map(({ file, seconds }) => `${file} ${Math.round(seconds)} s`).join(', ')}`);
}

/** Prints the flaky files in the last lines before the count. */
function tellFlaky(flaky: readonly FileResult[]): void {
  const folder = mkdtempSync(join(tmpdir(), 'earshot-flaky-'));
  console.log('');
  for (const result of flaky) {
    const kept = join(folder, `${result.file.replaceAll('/', '-')}.log`);
    writeFileSync(kept, result.output);
    for (const failure of failuresIn(result)) console.log(failure);
    console.log(`flaky: ${result.file} failed, and passed when it ran again alone; its first output is in ${kept}`);
  }
}

/** Runs a program, shows and returns its output, and kills it after the timeout. */
function tee(program: string, args: readonly string[], milliseconds: number): Promise<{ code: number | null; output: string }> {
  const { promise, resolve, reject } = Promise.withResolvers<{ code: number | null; output: string }>();
  const child = spawn(program, args, { cwd: ROOT, stdio: ['ignore', 'pipe', 'pipe'] });
  const limit = setTimeout(() => {
    console.log(`✖ ${[program, ...args].join(' ')} still ran after ${milliseconds / MINUTE} minutes, and was killed`);
    child.kill();
    // Its child processes may hold its outputs open forever.
    child.once('exit', () => {
      child.stdout.destroy();
      child.stderr.destroy();
    });
  }, milliseconds);
  const chunks: Buffer[] = [];
  child.stdout.on('data', (chunk: Buffer) => {
    chunks.push(chunk);
    process.stdout.write(chunk);
  });
  child.stderr.on('data', (chunk: Buffer) => {
    chunks.push(chunk);
    process.stderr.write(chunk);
  });
  child.on('error', reject);
  child.on('close', (code) => {
    clearTimeout(limit);
    resolve({ code, output: Buffer.concat(chunks).toString() });
  });
  return promise;
}

function add(a: Tally, b: Tally): Tally {
  return {
    passed: a.passed + b.passed,
    failed: a.failed + b.failed,
    skipped: a.skipped + b.skipped,
    flaky: [...a.flaky, ...b.flaky],
    failures: [...a.failures, ...b.failures],
  };
}
