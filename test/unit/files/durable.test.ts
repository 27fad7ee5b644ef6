import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdir, readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { realDisk } from '../../../src/files/disk.ts';
import { readText, writeDurably } from '../../../src/files/durable.ts';
import { FileError } from '../../../src/files/errors.ts';
import { aDirectory } from '../platform/support.ts';

function refusal(code: string): (error: unknown) => boolean {
  return (error) => error instanceof FileError && error.code === code;
}

test('a file is replaced as a whole, with its mode, and nothing is left beside it', async (t) => {
  const path = join(await aDirectory(t), 'a.yaml');
  await writeDurably(path, 'one', 0o644);
  await writeDurably(path, 'two', 0o600);
  assert.equal(await readFile(path, 'utf8'), 'two');
  assert.equal((await stat(path)).mode & 0o777, 0o600);
  assert.deepEqual(await readdir(join(path, '..')), ['a.yaml']);
});

test('a full disk keeps the old file and loses the draft', async (t) => {
  const directory = await aDirectory(t);
  const path = join(directory, 'a.yaml');
  await writeDurably(path, 'old', 0o644);
  const full = Object.assign(new Error('no space left on device'), { code: 'ENOSPC' });
  await assert.rejects(writeDurably(path, 'new', 0o644, { ...realDisk, rename: () => Promise.reject(full) }), { code: 'ENOSPC' });
  assert.equal(await readFile(path, 'utf8'), 'old');
  assert.deepEqual(await readdir(directory), ['a.yaml']);
});

test('a file that is not there is undefined', async (t) => {
  const directory = await aDirectory(t);
  assert.equal(await readText(join(directory, 'none'), { bytes: 10 }), undefined);
  assert.equal(await readText(join(directory, 'none'), { bytes: 10, within: directory }), undefined);
});

test('a path that is not a file, is too big or is not text is refused by name', async (t) => {
  const directory = await aDirectory(t);
  const at = (name: string): string => join(directory, name);
  await mkdir(at('folder'));
  await writeFile(at('big'), 'x'.repeat(11));
  await writeFile(at('binary'), Buffer.from([0xff, 0xfe, 0x00]));
  execFileSync('mkfifo', [at('pipe')]);
  await assert.rejects(readText(at('folder'), { bytes: 10 }), refusal('file-kind'));
  await assert.rejects(readText(at('pipe'), { bytes: 10 }), refusal('file-kind'));
  await assert.rejects(readText(at('big'), { bytes: 10 }), refusal('file-too-big'));
  await assert.rejects(readText(at('binary'), { bytes: 10 }), refusal('file-encoding'));
});

test('a link may lead to a file inside, not outside', async (t) => {
  const [directory, other] = [await aDirectory(t), await aDirectory(t)];
  await writeFile(join(directory, 'real'), 'inside');
  await writeFile(join(other, 'secret'), 'outside');
  await symlink('real', join(directory, 'good'));
  await symlink(join(other, 'secret'), join(directory, 'bad'));
  await symlink('loop', join(directory, 'loop'));
  assert.equal(await readText(join(directory, 'good'), { bytes: 10, within: directory }), 'inside');
  await assert.rejects(readText(join(directory, 'bad'), { bytes: 10, within: directory }), refusal('file-outside'));
  await assert.rejects(readText(join(directory, 'loop'), { bytes: 10, within: directory }), refusal('file-unreadable'));
});

test('rename is what makes a new file current', async (t) => {
  const path = join(await aDirectory(t), 'a');
  let draft = '';
  await writeDurably(path, 'whole', 0o644, {
    ...realDisk,
    rename: async (from, to) => {
      draft = await readFile(from, 'utf8');
      await realDisk.rename(from, to);
    },
  });
  assert.equal(draft, 'whole');
});
