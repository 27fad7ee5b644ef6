import assert from 'node:assert/strict';
import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { PublishedBundleFiles } from '../../../src/platform/linux/published-bundles.ts';
import { aNamespace } from './support.ts';

test('copies of bundles are files that only the user can read; those of other programs stay until they are needed', async (t) => {
  const directory = (await aNamespace(t)).runtime.certs;
  for (const name of ['web', 'skupper-local-server']) {
    await mkdir(join(directory, name), { recursive: true });
    await writeFile(join(directory, name, 'tls.key'), 'OTHER');
  }
  const files = new PublishedBundleFiles(directory);
  await files.write([
    { name: 'web', cert: 'CERT', key: 'KEY', ca: 'CA' },
    { name: 'db', ca: 'CA' },
  ]);
  const read = (file: string): Promise<string> => readFile(join(directory, file), 'utf8');
  assert.deepEqual(await Promise.all(['web/tls.crt', 'web/tls.key', 'web/ca.crt', 'db/ca.crt'].map(read)), ['CERT', 'KEY', 'CA', 'CA']);
  assert.equal((await stat(join(directory, 'web/tls.key'))).mode & 0o777, 0o600);
  await files.write([{ name: 'db', cert: 'CERT', ca: 'CA 2' }]);
  await files.keepOnly(['db']);
  assert.equal(await read('db/ca.crt'), 'CA 2');
  assert.deepEqual((await readdir(directory)).sort(), ['db', 'skupper-local-server']);
});
