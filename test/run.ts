/**
 * `make test`, or `node test/run.ts [test/net/FILE... test/e2e/FILE...]`: the static checks, the unit tests, the tests of connections between network namespaces,
 * then the cluster tests on one shared cluster; the last line counts all tests. Where namespaces or a cluster cannot be made, those tests are skipped by name and
 * reason; with CI=true that is a failure.
 */
import { spawn } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { HarnessError, startCluster } from './harness/index.ts';
import { installEarshot } from './harness/install.ts';

interface Tally {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  /** Where each failed test is, and how it failed, shortened. */
  readonly failures: readonly string[];
}

/** Minutes after which a tier that still runs has failed: a test that never ends would otherwise keep everything from being told. */
const LIMITS = { checks: 5, unit: 10, net: 35, e2e: 45, setup: 60 } as const;
/** The same for one test, in milliseconds: far beyond what any takes. */
const ONE_BY_ONE = ['--test', '--test-concurrency=1', '--test-reporter=spec', '--test-timeout=600000'];
const ROOT = fileURLToPath(new URL('..', import.meta.url));
const NONE: Tally = { passed: 0, failed: 0, skipped: 0, failures: [] };
/** Lines of each failure, and characters of a line, that are shown again at the end. */
const [SHOWN_LINES, SHOWN_CHARACTERS] = [8, 400];
const chosen = process.argv.slice(2);
const NET = filesOf('test/net');
const E2E = filesOf('test/e2e');

const checks = await checkTier();
const unit = await testTier('npm', ['test', '--silent'], LIMITS.unit);
const net = await connectionTier();
const e2e = await clusterTier();
const all = [checks, unit, net, e2e].reduce(add);
// Once more, where nobody has to look for them.
for (const failure of all.failures) console.log(`\n${failure}`);
console.log(`\n${all.passed} passed, ${all.failed} failed, ${all.skipped} skipped`);
process.exitCode = all.failed > 0 ? 1 : 0;

async function checkTier(): Promise<Tally> {
  console.log('— Checks: types and lint');
  const { code } = await tee('npm', ['run', '--silent', 'check'], LIMITS.checks);
  return code === 0 ? { ...NONE, passed: 1 } : { ...NONE, failed: 1 };
}

/** The tests of a folder, or those of them that the command line names. */
function filesOf(folder: string): readonly string[] {
  if (chosen.length > 0) return chosen.filter((file) => file.startsWith(`${folder}/`));
  return readdirSync(`${ROOT}${folder}`).filter((file) => file.endsWith('.test.ts')).map((file) => `${folder}/${file}`).sort();
}

async function connectionTier(): Promise<Tally> {
  if (NET.length === 0) return NONE;
  console.log('— Connections between network namespaces');
  const { code, output } = await tee('scripts/setup/ready.sh', ['net'], LIMITS.setup);
  if (code !== 0) return skipAll(NET, 'no network namespaces can be had here', output);
  return testTier('node', [...ONE_BY_ONE, ...NET], LIMITS.net);
}

async function clusterTier(): Promise<Tally> {
  if (E2E.length === 0) return NONE;
  console.log('— Cluster tests');
  const { code, output } = await tee('scripts/setup/ready.sh', ['e2e'], LIMITS.setup);
  if (code !== 0) return skipAll(E2E, 'no cluster can run here', output);
  try {
    const cluster = await startCluster({ name: 'e2e', log: (line) => console.log(`  ${line}`) });
    let tally: Tally = { ...NONE, failed: 1 };
    try {
      await installEarshot(cluster, { log: (line) => console.log(`  ${line}`) });
      tally = await testTier('node', [...ONE_BY_ONE, ...E2E], LIMITS.e2e, { EARSHOT_CLUSTER_STATE: `${cluster.layout.dir}/state.json` });
    } finally {
      await cluster.stop({ keepLogs: tally.failed > 0 });
      if (tally.failed > 0) console.log(`The cluster's logs are in ${cluster.logs}`);
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

async function testTier(program: string, args: readonly string[], minutes: number, env: Readonly<Record<string, string>> = {}): Promise<Tally> {
  const { code, output } = await tee(program, args, minutes, env);
  const count = (word: string): number => Number([...output.matchAll(new RegExp(`^\\S* ?${word} (\\d+)$`, 'gm'))].at(-1)?.[1] ?? 0);
  const tally = { passed: count('pass'), failed: count('fail') + count('cancelled'), skipped: count('skipped') + count('todo'), failures: failuresIn(output) };
  // A runner that fails without a failed test has failed all the same, and so has one that ran no test.
  return tally.failed === 0 && (code !== 0 || tally.passed === 0) ? { ...tally, failed: 1 } : tally;
}

/** What the runner's last part says, a text a test. */
function failuresIn(output: string): readonly string[] {
  const [, failures = ''] = output.split('\n✖ failing tests:\n');
  const shorten = (failure: string): string => failure.trim().split('\n').slice(0, SHOWN_LINES).map((line) => line.slice(0, SHOWN_CHARACTERS)).join('\n');
  return failures.split(/\n(?=test at )/).map(shorten).filter((failure) => failure !== '');
}

/** Runs a program whose output is shown and kept, and ends it when the time is up. */
function tee(
  program: string,
  args: readonly string[],
  minutes: number,
  env: Readonly<Record<string, string>> = {},
): Promise<{ code: number | null; output: string }> {
  const { promise, resolve, reject } = Promise.withResolvers<{ code: number | null; output: string }>();
  const child = spawn(program, args, { cwd: ROOT, env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
  const limit = setTimeout(() => {
    console.log(`✖ ${[program, ...args].join(' ')} still ran after ${minutes} minutes, and is ended`);
    child.kill();
    // What it started may hold its outputs open for ever.
    child.once('exit', () => {
      child.stdout.destroy();
      child.stderr.destroy();
    });
  }, minutes * 60_000);
  const chunks: Buffer[] = [];
  child.stdout.on('data', (chunk: Buffer) => { chunks.push(chunk); process.stdout.write(chunk); });
  child.stderr.on('data', (chunk: Buffer) => { chunks.push(chunk); process.stderr.write(chunk); });
  child.on('error', reject);
  child.on('close', (code) => {
    clearTimeout(limit);
    resolve({ code, output: Buffer.concat(chunks).toString() });
  });
  return promise;
}

function add(a: Tally, b: Tally): Tally {
  return { passed: a.passed + b.passed, failed: a.failed + b.failed, skipped: a.skipped + b.skipped, failures: [...a.failures, ...b.failures] };
}
