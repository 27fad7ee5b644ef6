import assert from 'node:assert/strict';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { writeDurably } from '../../../src/files/durable.ts';
import { StatusWriter, type WrittenFile } from '../../../src/platform/linux/status-writer.ts';
import { aDirectory, until } from './support.ts';

const files = (given: Readonly<Record<string, string>>): ReadonlyMap<string, WrittenFile> =>
  new Map(Object.entries(given).map(([name, text]) => [name, { parts: () => [text], mode: 0o644 }]));

test('only what changed is written, and what is no longer wanted goes', async (t) => {
  const directory = await aDirectory(t);
  await writeFile(join(directory, 'of-an-earlier-run.yaml'), 'old');
  const written: string[] = [];
  using writer = new StatusWriter({
    directory,
    onProblem: () => {},
    write: (path, text, mode) => {
      written.push(path.slice(directory.length + 1));
      return writeDurably(path, text, mode);
    },
  });
  writer.write(files({ 'a.yaml': '1', 'b.yaml': '1' }));
  await writer.settled();
  writer.write(files({ 'a.yaml': '1', 'b.yaml': '2' }));
  await writer.settled();
  writer.write(files({ 'b.yaml': '2' }));
  await writer.settled();
  assert.deepEqual(written, ['a.yaml', 'b.yaml', 'b.yaml']);
  assert.deepEqual(await readdir(directory), ['b.yaml']);
  assert.equal(await readFile(join(directory, 'b.yaml'), 'utf8'), '2');
});

test('a full disk is reported once, retried, and its end is reported', async (t) => {
  const directory = await aDirectory(t);
  let full = true;
  let attempts = 0;
  const told: (string | undefined)[] = [];
  using writer = new StatusWriter({
    directory,
    retry: 5,
    onProblem: (trouble) => told.push(trouble),
    write: (path, text, mode) => {
      attempts += 1;
      return full ? Promise.reject(Object.assign(new Error('no space'), { code: 'ENOSPC' })) : writeDurably(path, text, mode);
    },
  });
  writer.write(files({ 'a.yaml': '1' }));
  await until(() => attempts >= 3, 'it has been tried three times');
  assert.match(writer.problem ?? '', /disk is full/);
  full = false;
  await until(() => writer.problem === undefined, 'the trouble is over');
  assert.equal(await readFile(join(directory, 'a.yaml'), 'utf8'), '1');
  assert.equal(told.length, 2);
  assert.equal(told[1], undefined);
});

test('one file that cannot be written does not keep the others back', async (t) => {
  const directory = await aDirectory(t);
  using writer = new StatusWriter({
    directory,
    onProblem: () => {},
    write: (path, text, mode) =>
      path.endsWith('a.yaml') ? Promise.reject(Object.assign(new Error('broken'), { code: 'EIO' })) : writeDurably(path, text, mode),
  });
  writer.write(files({ 'a.yaml': '1', 'b.yaml': '1' }));
  await writer.settled();
  assert.deepEqual(await readdir(directory), ['b.yaml']);
});

test('the last of many states in a row is on disk', async (t) => {
  const directory = await aDirectory(t);
  using writer = new StatusWriter({ directory, onProblem: () => {} });
  for (let state = 0; state <= 200; state++) writer.write(files({ 'a.yaml': String(state) }));
  await writer.settled();
  assert.equal(await readFile(join(directory, 'a.yaml'), 'utf8'), '200');
});

test('a text of many parts does not block other work, unless the writer is closed', async (t) => {
  const directory = await aDirectory(t);
  using writer = new StatusWriter({ directory, onProblem: () => {} });
  let turns = 0;
  const turn = (): void => {
    turns += 1;
    ticking = setImmediate(turn);
  };
  let ticking = setImmediate(turn);
  t.after(() => clearImmediate(ticking));
  const seen: number[] = [];
  function* slowly(): Generator<string, undefined> {
    for (let part = 0; part < 3; part++) {
      const over = performance.now() + 10;
      while (performance.now() < over);
      seen.push(turns);
      yield `${part}\n`;
    }
  }
  writer.write(new Map([['a.yaml', { parts: slowly, mode: 0o644 }]]));
  await writer.settled();
  const [first = 0, second = 0, third = 0] = seen.splice(0);
  assert.ok(first < second && second < third, 'others have their turn between parts');
  writer.write(new Map([['b.yaml', { parts: slowly, mode: 0o644 }]]));
  await writer.close();
  assert.equal(seen[1], seen[2], 'parts no longer yield');
  assert.equal(await readFile(join(directory, 'b.yaml'), 'utf8'), '0\n1\n2\n');
});

test('a file that changes all the time does not keep the others from being written', async (t) => {
  const directory = await aDirectory(t);
  let state = 0;
  using writer = new StatusWriter({
    directory,
    onProblem: () => {},
    write: async (path, text, mode) => {
      await writeDurably(path, text, mode);
      state += 1;
      if (path.endsWith('a.yaml') && state < 50) writer.write(files({ 'a.yaml': String(state), 'b.yaml': String(state) }));
      written.push(path.slice(directory.length + 1));
    },
  });
  const written: string[] = [];
  writer.write(files({ 'a.yaml': '0', 'b.yaml': '0' }));
  await writer.settled();
  assert.deepEqual(written.slice(0, 4), ['a.yaml', 'b.yaml', 'a.yaml', 'b.yaml']);
});

test('a file that changes again and again is written a few times, and then once a second; what has waited is written in the end', async (t) => {
  const directory = await aDirectory(t);
  t.mock.timers.enable({ apis: ['setTimeout'] });
  let clock = 1_000_000;
  t.mock.method(performance, 'now', () => clock);
  const written: string[] = [];
  const writer = new StatusWriter({
    directory,
    onProblem: () => {},
    write: (path, text, mode) => {
      written.push(String(text));
      return writeDurably(path, text, mode);
    },
  });
  const change = async (text: string): Promise<void> => {
    writer.write(files({ 'a.yaml': text }));
    await writer.settled();
  };
  const pass = async (milliseconds: number): Promise<void> => {
    clock += milliseconds;
    t.mock.timers.tick(milliseconds);
    await writer.settled();
  };
  for (let count = 1; count <= 100; count += 1) await change(String(count));
  assert.equal(written.length, 8);
  await pass(1_000);
  assert.deepEqual(written.slice(8), ['100']);
  await pass(60_000);
  await change('long '.repeat(120_000));
  await change('short');
  await pass(1_000);
  assert.equal(written.length, 10, 'a long one counts as several');
  await pass(2_000);
  assert.equal(written.at(-1), 'short');
  for (let count = 1; count <= 20; count += 1) await change(String(count));
  await writer.close();
  assert.equal(await readFile(join(directory, 'a.yaml'), 'utf8'), '20');
});
