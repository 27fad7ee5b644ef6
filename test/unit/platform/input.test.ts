import assert from 'node:assert/strict';
import { mkdir, rm, symlink, truncate, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { InputReader, type Input } from '../../../src/platform/linux/input.ts';
import type { NamespaceLayout } from '../../../src/platform/linux/layout.ts';
import { keyOf } from '../../../src/site/resources.ts';
import { aNamespace } from './support.ts';

const listener = (name: string, port: string | number = 8080): string =>
  `apiVersion: skupper.io/v2alpha1\nkind: Listener\nmetadata: {name: ${name}}\nspec: {routingKey: k, host: 127.0.0.1, port: ${port}}\n`;

async function prepare(
  t: TestContext,
): Promise<{
  readonly layout: NamespaceLayout;
  readonly read: () => Promise<Input>;
  readonly put: (name: string, text: string) => Promise<void>;
}> {
  const layout = await aNamespace(t);
  const reader = new InputReader(layout, () => NOW);
  let tick = 0;
  return {
    layout,
    read: () => reader.read(),
    put: async (name, text) => {
      const path = join(layout.input.resources, name);
      await writeFile(path, text);
      // Two writes within the clock's grain still differ.
      await utimes(path, 1_700_000_000 + ++tick, 1_700_000_000 + tick);
    },
  };
}

const NOW = 1_800_000_000_000;

const keys = (input: Input): readonly string[] => input.objects.map(keyOf);

test('a namespace without files has no resources and no problems', async (t) => {
  const { read } = await prepare(t);
  assert.deepEqual(await read(), { objects: [], bundles: [], proxies: new Map(), problems: [], restless: false });
});

test('drafts and backups of editors are not read', async (t) => {
  const { read, put } = await prepare(t);
  for (const name of ['.a.yaml.swp', '.a.yaml', 'a.yaml~', '#a.yaml', '4913', 'a.yaml.tmp', 'notes.txt']) await put(name, listener('a'));
  await put('b.yml', listener('b'));
  const input = await read();
  assert.deepEqual([keys(input), input.problems], [['Listener/b'], []]);
});

test('the first of two definitions counts, and the problem names both files', async (t) => {
  const { read, put } = await prepare(t);
  await put('a.yaml', listener('web', 1));
  await put('b.yaml', `---\n${listener('web', 2)}`);
  const { objects, problems } = await read();
  assert.deepEqual(
    objects.map((object) => object.kind === 'Listener' && object.spec.port),
    [1],
  );
  assert.deepEqual(
    problems.map(({ file, line }) => [file, line]),
    [['input/resources/b.yaml', 2]],
  );
  assert.match(problems[0]?.message ?? '', /Listener\/web is already defined in a\.yaml, line 1/);
});

test("a person's Link counts before one that came from a token", async (t) => {
  const { layout, read, put } = await prepare(t);
  const link = (host: string): string =>
    `apiVersion: skupper.io/v2alpha1\nkind: Link\nmetadata: {name: east}\nspec: {endpoints: [{name: inter-router, host: ${host}, port: "1"}], tlsCredentials: east}\n`;
  await writeFile(join(layout.internal.links, 'Link-east.yaml'), link('from-token'));
  assert.deepEqual(keys(await read()), ['Link/east']);
  await put('z.yaml', link('by-hand'));
  const { objects, problems } = await read();
  assert.deepEqual(
    objects.map((object) => object.kind === 'Link' && object.spec.endpoints[0]?.host),
    ['by-hand'],
  );
  assert.deepEqual(problems, [], 'and that is no mistake');
});

test('a mistake in a file leaves what ran from it as it was, until it is mended', async (t) => {
  const { read, put } = await prepare(t);
  await put('a.yaml', `${listener('one')}---\n${listener('two')}`);
  await read();
  await put('a.yaml', `${listener('one', 'x')}---\n${listener('two', 9)}`);
  const broken = await read();
  assert.deepEqual([...keys(broken)].sort(), ['Listener/one', 'Listener/two']);
  assert.deepEqual(
    broken.problems.map(({ resource, field }) => [resource, field]),
    [['Listener/one', 'spec.port']],
  );
  assert.match(broken.problems[0]?.message ?? '', /Until then the last valid version runs\.$/);
  await put('a.yaml', listener('two', 9));
  const mended = await read();
  assert.deepEqual([keys(mended), mended.problems], [['Listener/two'], []]);
});

test('a file that is no YAML any more keeps all that it defined', async (t) => {
  const { read, put } = await prepare(t);
  await put('a.yaml', `${listener('one')}---\n${listener('two')}`);
  await read();
  await put('a.yaml', '{');
  const { objects, problems } = await read();
  assert.equal(objects.length, 2);
  assert.deepEqual(
    problems.map(({ affected }) => affected),
    [['Listener/one', 'Listener/two']],
  );
});

test('an emptied or removed file removes its resources', async (t) => {
  const { layout, read, put } = await prepare(t);
  await put('a.yaml', listener('one'));
  await put('b.yaml', listener('two'));
  assert.equal((await read()).objects.length, 2);
  await put('a.yaml', '');
  await rm(join(layout.input.resources, 'b.yaml'));
  assert.deepEqual(keys(await read()), []);
});

test('directories, links to nothing and links out of the namespace are named; everything else is read', async (t) => {
  const { layout, read, put } = await prepare(t);
  await put('good.yaml', listener('good'));
  await mkdir(join(layout.input.resources, 'folder.yaml'));
  await symlink('/nowhere/at/all', join(layout.input.resources, 'nothing.yaml'));
  await symlink('/etc/passwd', join(layout.input.resources, 'outside.yaml'));
  const input = await read();
  assert.deepEqual(keys(input), ['Listener/good']);
  assert.deepEqual(
    input.problems.map(({ file }) => file),
    ['folder.yaml', 'nothing.yaml', 'outside.yaml'].map((name) => `input/resources/${name}`),
  );
});

test('a file that is far too large is named, and keeps no other from being read', async (t) => {
  const { layout, read, put } = await prepare(t);
  await put('z.yaml', listener('z'));
  await read();
  // Sparse: it takes no room.
  await put('a.yaml', '');
  await truncate(join(layout.input.resources, 'a.yaml'), 2 ** 34);
  const input = await read();
  assert.deepEqual(keys(input), ['Listener/z']);
  assert.deepEqual(
    input.problems.map(({ file }) => file),
    ['input/resources/a.yaml'],
  );
});

test('a file that is being rewritten keeps its last state until it is complete', async (t) => {
  const { layout, read, put } = await prepare(t);
  const path = join(layout.input.resources, 'web.yaml');
  const writeAt = async (text: string, milliseconds: number): Promise<void> => {
    await writeFile(path, text);
    await utimes(path, milliseconds / 1000, milliseconds / 1000);
  };
  await put('web.yaml', listener('web'));
  assert.equal((await read()).restless, false);
  // As a shell does it: emptied first.
  await writeAt('', NOW - 10);
  let input = await read();
  assert.deepEqual([keys(input), input.problems, input.restless], [['Listener/web'], [], true]);
  await writeAt(listener('web', 9090), NOW - 100);
  input = await read();
  assert.deepEqual(
    input.objects.map((object) => object.kind === 'Listener' && object.spec.port),
    [9090],
  );
  await writeAt('', NOW - 100);
  assert.deepEqual(await read(), { objects: [], bundles: [], proxies: new Map(), problems: [], restless: false });
  // The clock of another machine that has the directory is ahead.
  await writeAt(listener('other'), NOW + 5_000);
  assert.deepEqual(keys(await read()), ['Listener/other']);
});
