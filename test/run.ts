/**
 * `make test`: the static checks, the unit tests, the tests of connections between network namespaces, then the cluster tests on one shared
 * cluster; the last line counts all tests. `node test/run.ts [unit] [FILE...]` (`npm test`) runs only those.
 *
 * The unit tests of a room run in one process, file by file, and those of some small ones together; `ALONE` names the files that have a process
 * each.
 *
 * `make test-quick` (`node test/run.ts quick`) runs the checks, the unit tests, and of the other tests those that `QUICK` names.
 *
 * A file that fails runs once more, alone, after the others of its tier. If it passes then, the run passes, and its last lines name the file as
 * flaky, with where its first failure is kept: that is a fault to be found, and more than three of them fail the run. Where namespaces or a
 * cluster cannot be made, those tests are skipped by name and reason; with CI=true that is a failure.
 */
import { spawn } from 'node:child_process';
import { accessSync, constants, existsSync, globSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { HarnessError, startCluster } from './harness/index.ts';
import { installEarshot } from './harness/install.ts';
import { failuresIn, type Counts, type FileResult } from './runner/test-file.ts';
import { runTier, type TierOptions } from './runner/tier.ts';

interface Tally extends Counts {
  readonly flaky: readonly FileResult[];
  /** How each failed test failed, shortened. */
  readonly failures: readonly string[];
}

const MINUTE = 60_000;
/** Milliseconds after which what still runs has failed: a test that never ends would otherwise keep everything from being told. */
const LIMITS = { checks: 5 * MINUTE, setup: 60 * MINUTE } as const;
const UNIT = { concurrency: 5, testLimit: 2 * MINUTE, fileLimit: 5 * MINUTE, limit: 10 * MINUTE } as const;
/** Far beyond what any of them takes. */
const ONE_BY_ONE = { concurrency: 1, testLimit: 10 * MINUTE, fileLimit: 15 * MINUTE } as const;
const NET = { ...ONE_BY_ONE, limit: 35 * MINUTE } as const;
const E2E = { ...ONE_BY_ONE, limit: 45 * MINUTE } as const;
/** The tests of connections and of a cluster that `make test-quick` runs: what most changes would break, in about two minutes. */
const QUICK: readonly string[] = [
  ...['two-sites', 'h2spec', 'hostile-files'].map((name) => `test/net/${name}.test.ts`),
  ...['exposure-service', 'exposure-addresses', 'mounts-tree', 'mounts-volumes', 'node-token', 'sites-hello'].map(
    (name) => `test/e2e/${name}.test.ts`,
  ),
];
/** Files with a process of their own: they look at all of it (memory, uncaught errors), take long, or race with their peer (handshakes-anew). */
const ALONE: ReadonlySet<string> = new Set([
  'fuzz',
  'played',
  'simulate',
  'cli/where-it-runs',
  'site-controller/unused-objects',
  'router/boundary',
  'router/edge-access',
  'router/fair-memory',
  'router/fault-injection',
  'router/handshakes-anew',
  'runner/tier',
]);
/** Begun first, in this order, with what shares a process with them: they work or wait for longest, and nobody is to wait for them in the end. */
const LONGEST: readonly string[] = [
  'simulate',
  'router/link/hostile',
  'site-controller/faults/controller-killed',
  'runner/tier',
  'exposure/csi/tree-change',
  'router/fault-injection',
  'router/fair-memory',
  'played',
];
/** Parts of a room that are as large as others, and rooms that are small. */
const LARGE: ReadonlySet<string> = new Set(['exposure/csi', 'router/link']);
const SMALL: ReadonlySet<string> = new Set(
  'api bench deploy docs errors files harness identity limits memory site telemetry text work x509'.split(' '),
);
/** Most of what some tests take is waiting for a disk. */
const MEMORY_DISK = '/dev/shm';
/** Files of a run that may fail and then pass. */
const MOST_FLAKY = 3;
const ROOT = fileURLToPath(new URL('..', import.meta.url));
const NONE: Tally = { passed: 0, failed: 0, skipped: 0, flaky: [], failures: [] };
const isQuick = process.argv[2] === 'quick';
const chosen = isQuick ? ['unit', ...QUICK] : process.argv.slice(2);
/** Not only files from the command line: then the checks run too, and Helm is built for the tests of the chart. */
const isWhole = isQuick || chosen.length === 0;
const unknown = chosen.filter((name) => name !== 'unit' && !(/^test\/(unit|net|e2e)\//.test(name) && existsSync(join(ROOT, name))));
if (unknown.length > 0) {
  console.error(`There are no tests ${unknown.join(', ')}: name quick, unit, or files below test/unit, test/net and test/e2e.`);
  process.exit(2);
}

let all = NONE;
for (const tier of [checkTier, unitTier, connectionTier, clusterTier]) all = add(all, await tier());
// Once more, where nobody has to look for them.
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
  return globSync(`test/${folder}/${pattern}`, { cwd: ROOT }).sort();
}

async function unitTier(): Promise<Tally> {
  const files = filesOf('unit', '**/*.test.ts');
  if (files.length > 0) console.log('— Unit tests');
  // Where it cannot be built, the tests of the chart say so.
  if (isWhole) await tee('tools/build.sh', ['helm'], LIMITS.setup);
  const env = { NODE_COMPILE_CACHE: `${ROOT}node_modules/.cache/node`, ...(isWritable(MEMORY_DISK) ? { TMPDIR: MEMORY_DISK } : {}) };
  return testTier(files, { ...UNIT, together, first: LONGEST.map((name) => `test/unit/${name}.test.ts`) }, env);
}

/** Starting takes longer than most files do, so many share a process. */
function together(file: string): string | undefined {
  const path = file.replace('test/unit/', '').replace('.test.ts', '');
  const [room = '', part = ''] = path.split('/');
  if (ALONE.has(path)) return undefined;
  if (SMALL.has(room)) return 'small';
  return LARGE.has(`${room}/${part}`) ? `${room}/${part}` : room;
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
  if (code !== 0) return skipAll(files, 'no network namespaces can be had here', output);
  return testTier(files, NET);
}

async function clusterTier(): Promise<Tally> {
  const files = filesOf('e2e', '*.test.ts');
  if (files.length === 0) return NONE;
  console.log('— Cluster tests');
  const { code, output } = await tee('scripts/setup/ready.sh', ['e2e'], LIMITS.setup);
  if (code !== 0) return skipAll(files, 'no cluster can run here', output);
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

/** In CI, where everything should run, what cannot run has failed. */
function skipAll(files: readonly string[], why: string, output: string): Tally {
  const reason = output.trim().split('\n').at(-1) ?? '';
  for (const file of files) console.log(`skipped: ${file}: ${why} (${reason})`);
  return { ...NONE, failed: process.env['CI'] === 'true' ? 1 : 0, skipped: files.length };
}

type Limits = Pick<TierOptions, 'concurrency' | 'testLimit' | 'fileLimit' | 'limit' | 'together' | 'first'>;

async function testTier(names: readonly string[], limits: Limits, env: Readonly<Record<string, string>> = {}): Promise<Tally> {
  const chances = MOST_FLAKY - all.flaky.length;
  const { files, flaky } = await runTier(names, { ...limits, env, chances, cwd: ROOT, show: (line) => console.log(line) });
  // Files that ran together tell of each other's failures.
  const failures = [...new Set(files.filter(({ failed }) => failed > 0).flatMap(failuresIn))];
  return files.reduce<Tally>((sum, { passed, failed, skipped }) => add(sum, { ...NONE, passed, failed, skipped }), {
    ...NONE,
    flaky,
    failures,
  });
}

/** The last lines before the count: whoever reads only those hears of it. */
function tellFlaky(flaky: readonly FileResult[]): void {
  const folder = mkdtempSync(join(tmpdir(), 'earshot-flaky-'));
  console.log('');
  for (const result of flaky) {
    const kept = join(folder, `${result.file.replaceAll('/', '-')}.log`);
    writeFileSync(kept, result.output);
    for (const failure of failuresIn(result)) console.log(failure);
    console.log(`flaky: ${result.file} failed, and passed when it ran again alone; all that it said first is in ${kept}`);
  }
}

/** Runs a program whose output is shown and kept, and ends it when the time is up. */
function tee(program: string, args: readonly string[], milliseconds: number): Promise<{ code: number | null; output: string }> {
  const { promise, resolve, reject } = Promise.withResolvers<{ code: number | null; output: string }>();
  const child = spawn(program, args, { cwd: ROOT, stdio: ['ignore', 'pipe', 'pipe'] });
  const limit = setTimeout(() => {
    console.log(`✖ ${[program, ...args].join(' ')} still ran after ${milliseconds / MINUTE} minutes, and is ended`);
    child.kill();
    // What it started may hold its outputs open for ever.
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
