/**
 * `make test`, or `node test/run.ts [test/e2e/FILE...]`: the static checks, the unit tests, then the cluster tests on one shared cluster; the last line counts all tests.
 * Where no cluster can run, the cluster tests are skipped by name and reason; with CI=true that is a failure.
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
}

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const NONE: Tally = { passed: 0, failed: 0, skipped: 0 };
const chosen = process.argv.slice(2);
const E2E = chosen.length > 0 ? chosen : readdirSync(`${ROOT}test/e2e`).filter((file) => file.endsWith('.test.ts')).map((file) => `test/e2e/${file}`).sort();

const checks = await checkTier();
const unit = await testTier('npm', ['test', '--silent'], {});
const e2e = await clusterTier();
const all = add(add(checks, unit), e2e);
console.log(`\n${all.passed} passed, ${all.failed} failed, ${all.skipped} skipped`);
process.exitCode = all.failed > 0 ? 1 : 0;

async function checkTier(): Promise<Tally> {
  console.log('— Checks: types and lint');
  const { code } = await tee('npm', ['run', '--silent', 'check'], {});
  return code === 0 ? { ...NONE, passed: 1 } : { ...NONE, failed: 1 };
}

async function clusterTier(): Promise<Tally> {
  console.log('— Cluster tests');
  const { code, output } = await tee('scripts/setup/ready.sh', ['e2e'], {});
  if (code !== 0) {
    const reason = output.trim().split('\n').at(-1) ?? '';
    for (const file of E2E) console.log(`skipped: ${file}: no cluster can run here (${reason})`);
    return process.env['CI'] === 'true' ? { ...NONE, failed: 1, skipped: E2E.length } : { ...NONE, skipped: E2E.length };
  }
  try {
    const cluster = await startCluster({ name: 'e2e', log: (line) => console.log(`  ${line}`) });
    let tally: Tally = { ...NONE, failed: 1 };
    try {
      await installEarshot(cluster, { log: (line) => console.log(`  ${line}`) });
      tally = await testTier('node', ['--test', '--test-concurrency=1', '--test-reporter=spec', ...E2E], { EARSHOT_CLUSTER_STATE: `${cluster.layout.dir}/state.json` });
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

async function testTier(program: string, args: readonly string[], env: Readonly<Record<string, string>>): Promise<Tally> {
  const { code, output } = await tee(program, args, env);
  const count = (word: string): number => Number([...output.matchAll(new RegExp(`^\\S* ?${word} (\\d+)$`, 'gm'))].at(-1)?.[1] ?? 0);
  const tally = { passed: count('pass'), failed: count('fail') + count('cancelled'), skipped: count('skipped') + count('todo') };
  // A runner that fails without a failed test has failed all the same, and so has one that ran no test.
  return tally.failed === 0 && (code !== 0 || tally.passed === 0) ? { ...tally, failed: 1 } : tally;
}

/** Runs a program whose output is shown and kept. */
function tee(program: string, args: readonly string[], env: Readonly<Record<string, string>>): Promise<{ code: number | null; output: string }> {
  const { promise, resolve, reject } = Promise.withResolvers<{ code: number | null; output: string }>();
  const child = spawn(program, args, { cwd: ROOT, env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
  const chunks: Buffer[] = [];
  child.stdout.on('data', (chunk: Buffer) => { chunks.push(chunk); process.stdout.write(chunk); });
  child.stderr.on('data', (chunk: Buffer) => { chunks.push(chunk); process.stderr.write(chunk); });
  child.on('error', reject);
  child.on('close', (code) => resolve({ code, output: Buffer.concat(chunks).toString() }));
  return promise;
}

function add(a: Tally, b: Tally): Tally {
  return { passed: a.passed + b.passed, failed: a.failed + b.failed, skipped: a.skipped + b.skipped };
}
