import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { failuresIn } from '../../runner/test-file.ts';
import { runTier, type TierOptions, type TierResult } from '../../runner/tier.ts';

const BEGIN = "import { test } from 'node:test';\n";
const GOOD = `${BEGIN}test('good', () => {}); test('later', { skip: true }, () => {});`;
const BAD = `${BEGIN}test('good', () => {}); test('bad', () => { throw new Error('always'); });`;
/** Fails the first time that it runs. */
const FLAKY = `${BEGIN}
import { existsSync, writeFileSync } from 'node:fs';
const ran = import.meta.filename + '.ran';
const again = existsSync(ran);
writeFileSync(ran, '');
test('now and then', () => { if (!again) throw new Error('the first time'); });`;
const CRASHES = 'process.exit(0);';
const FAILS_LATE = `${BEGIN}test('good', () => { setTimeout(() => { throw new Error('late'); }, 10); });`;
const STAYS = `${BEGIN}test('good', () => { setInterval(() => {}, 1000); });`;

interface Ran extends TierResult {
  readonly shown: readonly string[];
  readonly dir: string;
}

async function run(t: TestContext, sources: Readonly<Record<string, string>>, more: Partial<TierOptions> = {}): Promise<Ran> {
  const dir = mkdtempSync(join(tmpdir(), 'earshot-runner-'));
  t.after(() => rmSync(dir, { recursive: true }));
  for (const [name, source] of Object.entries(sources)) writeFileSync(join(dir, `${name}.test.mjs`), source);
  const shown: string[] = [];
  const limits = { concurrency: 2, testLimit: 60_000, fileLimit: 60_000, limit: 60_000, chances: 3 };
  const files = Object.keys(sources).map((name) => `${name}.test.mjs`);
  return { ...(await runTier(files, { ...limits, cwd: dir, show: (line) => shown.push(line), ...more })), shown, dir };
}

const counts = ({ files }: TierResult): readonly (readonly number[])[] =>
  files.map(({ passed, failed, skipped }) => [passed, failed, skipped]);
const names = (files: TierResult['files']): readonly string[] => files.map(({ file }) => file.replace('.test.mjs', ''));

test('files are counted, in their order, and what they say is shown', async (t) => {
  const ran = await run(t, { bad: BAD, good: GOOD }, { chances: 0 });
  assert.deepEqual(
    [names(ran.files), counts(ran), ran.flaky],
    [
      ['bad', 'good'],
      [
        [1, 1, 0],
        [1, 0, 1],
      ],
      [],
    ],
  );
  assert.match(ran.shown.join('\n'), /▶ good\.test\.mjs\n✔ good/);
  const [failure = ''] = ran.files.slice(0, 1).flatMap(failuresIn);
  assert.match(failure, /test at .*bad\.test\.mjs.*\n.*bad.*\n.*always/);
});

test('a file that fails runs once more, alone, after the others; if it passes then, it is flaky, and how it failed is kept', async (t) => {
  const ran = await run(t, { flaky: FLAKY, good: GOOD });
  assert.deepEqual(
    [names(ran.flaky), counts(ran)],
    [
      ['flaky'],
      [
        [1, 0, 0],
        [1, 0, 1],
      ],
    ],
  );
  assert.match(ran.flaky[0]?.output ?? '', /the first time/);
  const order = ran.shown.flatMap((line) => /▶ good|Once more, alone: flaky/.exec(line) ?? []);
  assert.deepEqual(order, ['▶ good', 'Once more, alone: flaky']);
});

test('a file that fails twice has failed', async (t) => {
  const ran = await run(t, { bad: BAD, flaky: FLAKY });
  assert.deepEqual(
    [names(ran.flaky), counts(ran)],
    [
      ['flaky'],
      [
        [1, 1, 0],
        [1, 0, 0],
      ],
    ],
  );
});

test('no file runs again if more files fail than may be flaky', async (t) => {
  const ran = await run(t, { one: FLAKY, two: FLAKY, three: FLAKY, four: FLAKY });
  assert.deepEqual([names(ran.flaky), counts(ran).map(([, failed]) => failed)], [[], [1, 1, 1, 1]]);
  const tried = await run(t, { one: FLAKY }, { chances: 0 });
  assert.deepEqual(counts(tried), [[0, 1, 0]]);
});

test('a file that runs no test, or breaks after its tests, has failed', async (t) => {
  const ran = await run(t, { crashes: CRASHES, late: FAILS_LATE }, { chances: 0 });
  assert.deepEqual(
    counts(ran).map(([, failed]) => failed),
    [1, 1],
  );
  assert.match(failuresIn(ran.files[1] ?? assert.fail()).join('\n'), /late/);
});

test('a file that does not end is ended, and has failed; the next one runs', async (t) => {
  const ran = await run(t, { stays: STAYS, good: GOOD }, { chances: 0, concurrency: 1, fileLimit: 5_000 });
  assert.deepEqual(
    counts(ran).map(([, failed]) => failed),
    [1, 0],
  );
  assert.match(ran.files[0]?.output ?? '', /stays\.test\.mjs still ran after 5 s, and was ended/);
});

test('a file that has not run when the time of all is up has failed, by name', async (t) => {
  const ran = await run(t, { stays: STAYS, flaky: FLAKY }, { concurrency: 1, limit: 1_500, chances: 0 });
  assert.deepEqual(
    counts(ran).map(([, failed]) => failed),
    [1, 1],
  );
  assert.match(ran.files[1]?.output ?? '', /flaky\.test\.mjs did not run/);
  assert.throws(() => readFileSync(join(ran.dir, 'flaky.test.mjs.ran')), { code: 'ENOENT' });
});

const FAILS_AND_STAYS = `${BEGIN}
import { after } from 'node:test';
after(() => console.log('cleaned up'));
test('bad', () => { setInterval(() => {}, 1000); throw new Error('always'); });`;

test('a process that something keeps open is ended after its last test, and the output says what and how tests failed', async (t) => {
  const alone = await run(t, { bad: FAILS_AND_STAYS }, { chances: 0, endLimit: 200 });
  const beside = await run(t, { good: GOOD, bad: FAILS_AND_STAYS }, { together, chances: 0, endLimit: 200 });
  assert.deepEqual(
    [counts(alone), counts(beside)],
    [
      [[0, 1, 0]],
      [
        [1, 0, 1],
        [0, 1, 0],
      ],
    ],
  );
  for (const bad of [alone, beside].flatMap(({ files }) => files.slice(-1))) {
    assert.match(bad.output, /cleaned up[^]*the process did not end within 0\.2 s after its last test: a test left open .*Timeout/);
    assert.match(failuresIn(bad).join('\n'), /bad[^]*always/);
  }
  const passed = await run(t, { stays: STAYS }, { chances: 0, endLimit: 200 });
  assert.deepEqual(counts(passed), [[1, 1, 0]]);
});

/** Says which process it ran in. */
const TELLS = `${BEGIN}
import { writeFileSync } from 'node:fs';
import { before, describe } from 'node:test';
before(() => writeFileSync(import.meta.filename + '.pid', String(process.pid)));
describe('of one file', () => { test('good', () => {}); test('later', { skip: true }, () => {}); });`;
const together = (): string => 'all';

test('files that run together share a process, and are shown, counted and tried again one by one', async (t) => {
  const ran = await run(t, { one: TELLS, flaky: FLAKY, two: TELLS }, { together });
  const pids = ['one', 'two'].map((name) => readFileSync(join(ran.dir, `${name}.test.mjs.pid`), 'utf8'));
  assert.equal(pids[0], pids[1]);
  assert.deepEqual(
    [names(ran.files), counts(ran), names(ran.flaky)],
    [
      ['one', 'flaky', 'two'],
      [
        [1, 0, 1],
        [1, 0, 0],
        [1, 0, 1],
      ],
      ['flaky'],
    ],
  );
  assert.match(ran.shown.join('\n'), /▶ one\.test\.mjs\n[^]*✔ good[^]*▶ two\.test\.mjs\n[^]*✔ good/);
  assert.match(ran.flaky.flatMap(failuresIn).join('\n'), /flaky\.test\.mjs[^]*the first time/);
});

test('where one of them ends the process, breaks it or keeps it from ending, all of them have failed', async (t) => {
  for (const [name, source] of Object.entries({ crashes: CRASHES, late: FAILS_LATE, stays: STAYS })) {
    const fileLimit = name === 'stays' ? 700 : 60_000;
    const ran = await run(t, { good: GOOD, [name]: source }, { together, chances: 0, fileLimit });
    assert.deepEqual(
      counts(ran).map(([, failed]) => failed),
      [1, 1],
      name,
    );
  }
});

/** Source of a file that waits until other files have begun, and fails if files that must have ended have not. */
const meets = (begun: readonly string[], ended: readonly string[] = []): string => `${BEGIN}
import assert from 'node:assert/strict';
import { existsSync, writeFileSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
const mark = (name, what) => import.meta.dirname + '/' + name + '.' + what;
const own = import.meta.filename.replace(/.*\\/|\\.test\\.mjs/g, '');
test('meets others', async () => {
  writeFileSync(mark(own, 'begun'), '');
  assert.deepEqual(${JSON.stringify(ended)}.filter((name) => !existsSync(mark(name, 'ended'))), []);
  while (!${JSON.stringify(begun)}.every((name) => existsSync(mark(name, 'begun')))) await setTimeout(5);
  writeFileSync(mark(own, 'ended'), '');
});`;

test('a lone file runs after the others, which run side by side', async (t) => {
  const sources = { lone: meets([], ['one', 'two']), one: meets(['two']), two: meets(['one']) };
  const ran = await run(t, sources, { alone: (file) => file.startsWith('lone'), chances: 0 });
  assert.deepEqual(
    counts(ran).map(([passed]) => passed),
    [1, 1, 1],
    ran.files.map(({ output }) => output).join('\n'),
  );
  assert.ok(ran.files.every(({ seconds }) => seconds > 0));
});

test('lanes run side by side, and the files of a lane one after another', async (t) => {
  const sources = { one: meets(['other']), two: meets([], ['one']), other: meets(['one']) };
  const lane = (file: string): string => (file.startsWith('other') ? 'other' : 'own');
  const ran = await run(t, sources, { lane, concurrency: 1, chances: 0 });
  assert.deepEqual(
    counts(ran).map(([passed]) => passed),
    [1, 1, 1],
    ran.files.map(({ output }) => output).join('\n'),
  );
});
