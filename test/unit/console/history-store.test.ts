import assert from 'node:assert/strict';
import { statSync } from 'node:fs';
import { mkdir, readFile, rename, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test, type TestContext } from 'node:test';
import { HistoryStore } from '../../../src/console/history-store.ts';
import { BASIC_BYTES, FULL_BYTES, History, historySteps, type HistoryField } from '../../../src/console/history.ts';
import { aDirectory } from '../platform/support.ts';
import { memoryState, memoryWatcher } from './memory-sources.ts';

const START = Date.parse('2026-01-01T00:00:00Z');
const MOST = 64 * 2 ** 20;

interface Console extends AsyncDisposable {
  readonly history: History;
  readonly store: HistoryStore;
  now: number;
}

interface StartOptions {
  readonly now?: number;
  readonly most?: number;
  readonly namespace?: string;
}

/** A console with a history in the file, as after its start. */
function start(path: string, { now = START, most = MOST, namespace = 'west' }: StartOptions = {}): Console {
  const history = new History(2 ** 24);
  const state = { now };
  const store = new HistoryStore({ path, namespace, history, most, now: () => state.now });
  return {
    history,
    store,
    get now() {
      return state.now;
    },
    set now(time) {
      state.now = time;
    },
    [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
  };
}

async function aFile(t: TestContext): Promise<string> {
  return join(await aDirectory(t), 'history');
}

function valuesOf(history: History, id: string, field: HistoryField, step: number): readonly (number | null)[] {
  return (history.read(id, field, step, START, START + 3_600_000)?.points ?? []).map(([, value]) => value);
}

const steps = historySteps.map(({ seconds }) => seconds);

test('a console that starts again has the past at all steps, and adds to the steps that are not over', async (t) => {
  const path = await aFile(t);
  {
    await using before = start(path);
    before.history.add('key:web', START, { opened: 2, failed: 1, open: 5, connectP95: 3 });
    before.now = START + 5_000;
  }
  await using after = start(path, { now: START + 7_000 });
  after.history.add('key:web', START + 7_000, { opened: 3, failed: 0, open: 4, connectP95: 1 });
  for (const step of steps) {
    const read = (field: HistoryField): readonly (number | null)[] => valuesOf(after.history, 'key:web', field, step);
    assert.deepEqual([read('opened'), read('failed'), read('open'), read('connectP95')], [[5], [1], [4], [3]], `${step} s`);
  }
});

test('time without a console is shown as not measured', async (t) => {
  const path = await aFile(t);
  {
    await using before = start(path);
    before.history.add('all', START, { opened: 1 });
  }
  await using after = start(path, { now: START + 30_000 });
  after.history.add('all', START + 30_000, { opened: 2 });
  assert.deepEqual(valuesOf(after.history, 'all', 'opened', 10), [1, null, null, 2]);
});

test('a crash loses what was measured since the last write only', async (t) => {
  const path = await aFile(t);
  const crashed = start(path);
  crashed.history.add('all', START, { opened: 1 });
  await crashed.store.save();
  crashed.history.add('all', START + 1_000, { opened: 1 });
  // The files as a crash leaves them, with what is not in the database yet.
  for (const end of ['', '-wal']) await writeFile(`${path}.copy${end}`, await readFile(path + end));
  await crashed[Symbol.asyncDispose]();
  await using after = start(`${path}.copy`);
  assert.deepEqual(valuesOf(after.history, 'all', 'opened', 60), [1]);
});

test('objects without traffic keep less after a restart too, and those that are long gone nothing', async (t) => {
  const path = await aFile(t);
  {
    await using before = start(path);
    before.history.add('key:busy', START, { opened: 1 });
    before.history.add('key:idle', START, { opened: 0 });
  }
  {
    await using soon = start(path);
    assert.equal(soon.history.bytes, FULL_BYTES + BASIC_BYTES);
  }
  await using late = start(path, { now: START + 49 * 3_600_000 });
  assert.equal(late.history.bytes, 0);
});

test('a console whose clock is set back keeps what it measures afterwards', async (t) => {
  const path = await aFile(t);
  {
    await using before = start(path, { now: START + 7_200_000 });
    before.history.add('all', before.now, { opened: 9 });
    await before.store.save();
    before.now = START;
    before.history.add('all', START, { opened: 2 });
    await before.store.save();
  }
  await using after = start(path);
  assert.deepEqual(
    steps.map((step) => valuesOf(after.history, 'all', 'opened', step)),
    [[2], [2], [2]],
  );
});

test('a file that is removed or replaced while a console uses it is a problem', async (t) => {
  const path = await aFile(t);
  await using console = start(path);
  await rename(path, `${path}.old`);
  await console.store.save();
  assert.match(console.store.problem ?? '', /cannot be written: it was removed or replaced\. Start the console again\.$/);
  await writeFile(path, '');
  await console.store.save();
  assert.match(console.store.problem ?? '', /removed or replaced/);
});

test('steps of a clock that was ahead keep no later ones out', async (t) => {
  const path = await aFile(t);
  {
    await using ahead = start(path, { now: START + 10 * 365 * 86_400_000 });
    ahead.history.add('all', ahead.now, { opened: 1 });
  }
  await using after = start(path);
  after.history.add('all', START, { opened: 2 });
  assert.deepEqual(valuesOf(after.history, 'all', 'opened', 10), [2]);
});

test('many keys are written in several event-loop iterations, and restored', async (t) => {
  const path = await aFile(t);
  {
    await using before = start(path);
    for (let at = 0; at < 2_000; at += 1) before.history.add(`key:${at}`, START, { opened: 0 });
    let iterations = 0;
    let isSaving = true;
    const count = (): void => {
      iterations += 1;
      if (isSaving) setImmediate(count);
    };
    setImmediate(count);
    await before.store.save();
    isSaving = false;
    assert.ok(iterations > 8, `${iterations} iterations`);
  }
  await using after = start(path);
  assert.deepEqual(
    [0, 1, 1_999].map((at) => valuesOf(after.history, `key:${at}`, 'opened', 60)),
    [[0], [0], [0]],
  );
});

test('only the user can read the file', async (t) => {
  const path = await aFile(t);
  await using opened = start(path);
  opened.history.add('all', START, { opened: 1 });
  await opened.store.save();
  assert.deepEqual(
    [path, `${path}-wal`].map((each) => statSync(each).mode & 0o777),
    [0o600, 0o600],
  );
});

test('a file beyond its limit leaves the history in memory, and says so', async (t) => {
  const path = await aFile(t);
  await using opened = start(path, { most: 8 * 2 ** 20 + 10 * 4_096 });
  for (let at = 0; at < 2_000; at += 1) opened.history.add(`key:${at}`, START, { opened: 1 });
  await opened.store.save();
  assert.match(opened.store.problem ?? '', /history cannot be written: it has reached its limit of 8\.\d+ MiB\.$/);
  assert.deepEqual(valuesOf(opened.history, 'key:1', 'opened', 10), [1]);
});

test('a page says why the history is not saved', async () => {
  const state = memoryState();
  const watcher = memoryWatcher(state, undefined, () => '/data/history cannot be written: the disk is full.');
  await watcher.read();
  const problem = watcher.problems.find(({ object }) => object === 'console/history');
  assert.deepEqual([problem?.severity, problem?.message], ['pending', '/data/history cannot be written: the disk is full.']);
});

test('a file of one console is refused to another one', async (t) => {
  const path = await aFile(t);
  await using _first = start(path);
  assert.throws(() => start(path), { code: 'state-busy', message: /history cannot be used: another console uses it\. Stop that console/ });
});

const unusable: readonly (readonly [string, (path: string) => Promise<void>, RegExp])[] = [
  [
    'is not a database',
    async (path) => writeFile(path, 'hello\n'.repeat(1_000)),
    /it is damaged, or is not a history of the console\. Remove it/,
  ],
  ['is a directory', async (path) => void (await mkdir(path)), /it is not a regular file\. Name another file with --history$/],
  [
    'belongs to another program',
    async (path) => {
      const database = new DatabaseSync(path);
      database.exec('CREATE TABLE bookmarks (url TEXT)');
      database.close();
    },
    /it is the database of another program\. Name another file/,
  ],
  [
    'is from another version',
    async (path) => {
      await start(path)[Symbol.asyncDispose]();
      const database = new DatabaseSync(path);
      database.exec("UPDATE about SET format = 'old'");
      database.close();
    },
    /it is from another version of Earshot\. Remove it/,
  ],
  [
    'has the history of another namespace',
    async (path) => start(path, { namespace: 'east' })[Symbol.asyncDispose](),
    /it has the history of another namespace\. Name another file/,
  ],
  [
    'is cut off',
    async (path) => {
      const before = start(path);
      for (let at = 0; at < 1_000; at += 1) before.history.add(`key:${at}`, START, { opened: 1 });
      await before[Symbol.asyncDispose]();
      await truncate(path, 20_480);
    },
    /it is damaged, or is not a history of the console\. Remove it/,
  ],
];

for (const [what, prepare, message] of unusable) {
  test(`a file that ${what} is refused, and is not changed`, async (t) => {
    const path = await aFile(t);
    await prepare(path);
    const isFile = statSync(path).isFile();
    const before = isFile ? await readFile(path) : undefined;
    assert.throws(() => start(path), { name: 'FileError', message });
    assert.deepEqual(isFile ? await readFile(path) : undefined, before);
  });
}

test('a path without its directory is refused with the reason', async (t) => {
  const path = join(await aDirectory(t), 'none', 'history');
  assert.throws(() => start(path), {
    code: 'state-unavailable',
    message: /history cannot be used \(ENOENT\): a part of its path does not exist/,
  });
});
