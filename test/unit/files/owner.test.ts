import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { chmod, chown, lchown, mkdir, readdir, readFile, rename, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { promisify } from 'node:util';
import { realDisk } from '../../../src/files/disk.ts';
import { makeDirectory, removeFile, replaceFile, writeDurably } from '../../../src/files/durable.ts';
import { tryLock } from '../../../src/files/lock.ts';
import { removeTree } from '../../../src/files/secure-path.ts';
import { aDirectory } from '../platform/support.ts';

const skip = process.getuid?.() === 0 ? false : 'only root can create files for another user';

test("files that root creates in another user's directory belong to that user, also in new directories", { skip }, async (t) => {
  const root = await aDirectory(t);
  const [uid, gid] = [4711, 4712];
  await chown(root, uid, gid);
  const inside = join(root, 'one', 'two');
  await makeDirectory(inside, 0o700);
  await realDisk.makeDirectory(join(inside, 'three'));
  await writeDurably(join(inside, 'file'), 'text', 0o600);
  await realDisk.appendLine(join(inside, 'ledger'), 'line');
  tryLock(join(inside, 'lock'))?.[Symbol.dispose]();
  for (const name of ['..', '.', 'three', 'file', 'ledger', 'lock']) {
    const found = await stat(join(inside, name));
    assert.deepEqual([found.uid, found.gid], [uid, gid], name);
  }
});

test("a lock that root takes creates no file behind another user's link", { skip }, async (t) => {
  const { theirs, victim } = await twoDirectories(t);
  await symlink(join(victim, 'new'), join(theirs, 'lock'));
  await symlink(victim, join(theirs, 'run'));
  for (const name of ['lock', 'run']) await lchown(join(theirs, name), 4711, 4711);
  for (const path of [join(theirs, 'lock'), join(theirs, 'run', 'newer')])
    assert.throws(() => tryLock(path), { code: 'state-unavailable' });
  assert.deepEqual((await readdir(victim)).toSorted(), ['directory', 'important']);
});

test('files that root creates in its own directory stay its own', { skip }, async (t) => {
  const inside = join(await aDirectory(t), 'one');
  await makeDirectory(inside, 0o700);
  await writeDurably(join(inside, 'file'), 'text', 0o600);
  assert.equal((await stat(join(inside, 'file'))).uid, 0);
});

/** A directory of another user, and one of root with a file. */
async function twoDirectories(t: TestContext): Promise<{ readonly theirs: string; readonly victim: string }> {
  const [theirs, victim] = [await aDirectory(t), await aDirectory(t)];
  await chown(theirs, 4711, 4711);
  await writeFile(join(victim, 'important'), 'text');
  await mkdir(join(victim, 'directory'));
  return { theirs, victim };
}

for (const [what, act] of [
  ['creates no directory', (path) => makeDirectory(join(path, 'new'), 0o700)],
  ['creates no directories below a missing one', (path) => makeDirectory(join(path, 'new', 'newer'), 0o700)],
  ['writes no file', (path) => writeDurably(join(path, 'important'), 'other', 0o600)],
  ['appends to no file', (path) => realDisk.appendLine(join(path, 'important'), 'line')],
  ['renames no file', (path) => realDisk.rename(join(path, 'important'), join(path, 'moved'))],
  ['creates no link', (path) => realDisk.link('target', join(path, 'link'))],
  ['removes no file', (path) => removeFile(join(path, 'important'))],
  ['removes no directory', (path) => removeTree(join(path, 'directory'))],
] as const satisfies readonly (readonly [string, (path: string) => Promise<void>])[]) {
  test(`root ${what} behind another user's link to a directory of root`, { skip }, async (t) => {
    const { theirs, victim } = await twoDirectories(t);
    await symlink(victim, join(theirs, 'link'));
    await lchown(join(theirs, 'link'), 4711, 4711);
    await assert.rejects(act(join(theirs, 'link')), /link is a symbolic link of another user and leads out of that user's directories/);
    assert.deepEqual((await readdir(victim)).sort(), ['directory', 'important']);
    assert.equal(await readFile(join(victim, 'important'), 'utf8'), 'text');
  });
}

test("root follows another user's link to a directory of that user, and its own links to any directory", { skip }, async (t) => {
  const { theirs, victim } = await twoDirectories(t);
  await makeDirectory(join(theirs, 'elsewhere'), 0o700);
  await symlink('elsewhere', join(theirs, 'link'));
  await writeDurably(join(theirs, 'link', 'file'), 'text', 0o600);
  assert.equal((await stat(join(theirs, 'elsewhere', 'file'))).uid, 4711);
  const own = await aDirectory(t);
  await symlink(victim, join(own, 'link'));
  await removeFile(join(own, 'link', 'important'));
  assert.deepEqual(await readdir(victim), ['directory']);
});

test('root replaces a link in place of a file, and does not write through it', { skip }, async (t) => {
  const { theirs, victim } = await twoDirectories(t);
  for (const name of ['one', 'two', 'three']) await symlink(join(victim, 'important'), join(theirs, name));
  await writeDurably(join(theirs, 'one'), 'other', 0o600);
  await replaceFile(join(theirs, 'two'), 'other', 0o600);
  await assert.rejects(realDisk.appendLine(join(theirs, 'three'), 'line'));
  assert.equal(await readFile(join(victim, 'important'), 'utf8'), 'text');
  for (const name of ['one', 'two']) assert.equal(await readFile(join(theirs, name), 'utf8'), 'other');
});

test('a removed directory takes no directory with it to which it has links', { skip }, async (t) => {
  const { theirs, victim } = await twoDirectories(t);
  await mkdir(join(theirs, 'old', 'deep'), { recursive: true });
  await writeFile(join(theirs, 'old', 'deep', 'file'), '');
  await symlink(victim, join(theirs, 'old', 'deep', 'link'));
  await rename(join(theirs, 'old'), join(theirs, 'older'));
  await removeTree(join(theirs, 'older'));
  await removeTree(join(theirs, 'older'));
  assert.deepEqual([await readdir(theirs), (await readdir(victim)).sort()], [[], ['directory', 'important']]);
});

test('root removes directories that are nested deeper than it may open files', { skip }, async (t) => {
  const { theirs } = await twoDirectories(t);
  const tree = join(theirs, 'tree');
  const path = join(tree, ...Array.from({ length: 200 }, () => 'd'));
  await mkdir(path, { recursive: true });
  for (const directory of [tree, join(tree, 'd'), path]) await writeFile(join(directory, 'file'), '');
  const securePath = new URL('../../../src/files/secure-path.ts', import.meta.url).href;
  const program = `await (await import(${JSON.stringify(securePath)})).removeTree(${JSON.stringify(tree)})`;
  const words = ['-c', 'ulimit -n 100; exec "$@"', 'sh', process.execPath, '--input-type=module', '--eval', program];
  await promisify(execFile)('sh', words);
  assert.deepEqual(await readdir(theirs), []);
});

test('root without capabilities writes below a directory that it may not list', { skip }, async (t) => {
  const { theirs } = await twoDirectories(t);
  const file = join(theirs, 'own', 'file');
  await mkdir(join(theirs, 'own'));
  await chmod(theirs, 0o711);
  const durable = new URL('../../../src/files/durable.ts', import.meta.url).href;
  const program = `await (await import(${JSON.stringify(durable)})).writeDurably(${JSON.stringify(file)}, 'text', 0o600)`;
  const words = ['--bounding-set=-all', process.execPath, '--input-type=module', '--eval', program];
  await promisify(execFile)('setpriv', words, { cwd: '/' });
  assert.equal(await readFile(file, 'utf8'), 'text');
});
