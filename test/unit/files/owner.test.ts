import assert from 'node:assert/strict';
import { chown, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { realDisk } from '../../../src/files/disk.ts';
import { makeDirectory, writeDurably } from '../../../src/files/durable.ts';
import { tryLock } from '../../../src/files/lock.ts';
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

test('files that root creates in its own directory stay its own', { skip }, async (t) => {
  const inside = join(await aDirectory(t), 'one');
  await makeDirectory(inside, 0o700);
  await writeDurably(join(inside, 'file'), 'text', 0o600);
  assert.equal((await stat(join(inside, 'file'))).uid, 0);
});
