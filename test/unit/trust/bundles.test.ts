import assert from 'node:assert/strict';
import { mkdir, readdir, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { realDisk } from '../../../src/trust/disk/disk.ts';
import { DirectoryBundles } from '../../../src/trust/disk/bundles.ts';
import { writeBundle } from '../../../src/trust/disk/bundle-files.ts';
import { aDirectory, until } from '../platform/support.ts';

interface Counted {
  readonly folder: DirectoryBundles;
  readonly directory: string;
  /** The bundles that were read since this was asked last. */
  read(): readonly string[];
  /** Current bundles, once their files are old enough to be relied on. */
  steady(): ReturnType<DirectoryBundles['list']>;
}

async function counted(t: TestContext): Promise<Counted> {
  const directory = await aDirectory(t);
  let read: string[] = [];
  const folder = new DirectoryBundles(directory, {
    ...realDisk,
    read: (path, most) => {
      read.push(basename(dirname(path)));
      return realDisk.read(path, most);
    },
  });
  const taken = (): readonly string[] => {
    const names = read;
    read = [];
    return names;
  };
  return {
    folder,
    directory,
    read: taken,
    steady: async () => {
      await until(async () => {
        taken();
        await folder.list();
        return taken().length === 0;
      }, 'nothing is read any more');
      return folder.list();
    },
  };
}

test('a hundred bundles that have not changed are read not once more, and are the same objects', async (t) => {
  const { folder, directory, read, steady } = await counted(t);
  for (let number = 0; number < 100; number += 1) {
    await mkdir(join(directory, `b${number}`));
    await writeFile(join(directory, `b${number}`, 'tls.crt'), `${number}`);
  }
  const before = await steady();
  assert.equal(before.bundles.size, 100);
  assert.equal(await folder.list(), before);
  assert.deepEqual(read(), []);
  // The same length: only its times differ.
  await writeFile(join(directory, 'b7', 'tls.crt'), 'x');
  const after = await folder.list();
  assert.deepEqual([...new Set(read())], ['b7']);
  assert.equal(after.bundles.get('b7')?.cert, 'x');
  assert.equal(after.bundles.get('b8'), before.bundles.get('b8'));
});

test('a part that comes or goes, and a bundle, are seen', async (t) => {
  const { folder, directory, steady } = await counted(t);
  await mkdir(join(directory, 'web'));
  await writeFile(join(directory, 'web', 'tls.crt'), 'cert');
  assert.deepEqual((await steady()).bundles.get('web'), { name: 'web', cert: 'cert' });
  await writeFile(join(directory, 'web', 'ca.crt'), 'ca');
  assert.equal((await folder.list()).bundles.get('web')?.ca, 'ca');
  await steady();
  await rename(join(directory, 'web'), join(directory, 'api'));
  assert.deepEqual([...(await folder.list()).bundles.keys()], ['api']);
});

test('another generation is seen, and so is what a link that leads out of here leads to', async (t) => {
  const { folder, directory, steady } = await counted(t);
  const elsewhere = await aDirectory(t);
  await writeBundle(join(elsewhere, 'live'), { name: 'web', cert: 'first' });
  await symlink(join(elsewhere, 'live'), join(directory, 'web'));
  assert.equal((await steady()).bundles.get('web')?.cert, 'first');
  await writeBundle(join(elsewhere, 'live'), { name: 'web', cert: 'other' });
  assert.equal((await folder.list()).bundles.get('web')?.cert, 'other');
  assert.ok((await readdir(join(directory, 'web'))).includes('tls.crt'));
});

test('a part that goes a moment after it came, or together with all others, is gone', async (t) => {
  const { folder, directory, steady } = await counted(t);
  const web = join(directory, 'web');
  await mkdir(web);
  await writeFile(join(web, 'tls.crt'), 'certificate');
  await steady();
  await writeFile(join(web, 'ca.crt'), 'authority');
  assert.equal((await folder.list()).bundles.get('web')?.ca, 'authority');
  await rm(join(web, 'ca.crt'));
  assert.deepEqual((await folder.list()).bundles.get('web'), { name: 'web', cert: 'certificate' });
  await writeFile(join(web, 'tls.crt'), 'another');
  assert.equal((await folder.list()).bundles.get('web')?.cert, 'another');
  await rm(join(web, 'tls.crt'));
  assert.equal((await folder.list()).bundles.get('web'), undefined);
});

test('another generation is seen where the parts beside it are files', async (t) => {
  const { folder, directory, steady } = await counted(t);
  const web = join(directory, 'web');
  await writeBundle(web, { name: 'web', cert: 'first' });
  await rm(join(web, 'tls.crt'));
  await writeFile(join(web, 'tls.crt'), 'first');
  assert.equal((await steady()).bundles.get('web')?.cert, 'first');
  await mkdir(join(web, '..next'));
  await writeFile(join(web, '..next', 'tls.crt'), 'other');
  await symlink('..next', join(web, '..new'));
  await rename(join(web, '..new'), join(web, '..data'));
  assert.equal((await folder.list()).bundles.get('web')?.cert, 'other');
});
