import assert from 'node:assert/strict';
import { mkdir, readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { readBundle, writeBundle } from '../../../src/trust/disk/bundle-files.ts';
import { issueBundle } from '../../../src/trust/issue.ts';
import { Crash, crashAfter } from './support/failing-disk.ts';
import { makePlace } from './support/place.ts';
import { refusal } from './support/refusal.ts';
import { makeAuthority } from './support/site.ts';

describe('readBundle', () => {
  it('reads the files that are there, also through links', async () => {
    await using place = await makePlace();
    await mkdir(join(place.path, 'live'));
    await writeFile(join(place.path, 'live/fullchain.pem'), 'the chain');
    await mkdir(join(place.path, 'web'));
    await symlink('../live/fullchain.pem', join(place.path, 'web/tls.crt'));
    assert.deepEqual(await readBundle(join(place.path, 'web'), 'web'), { name: 'web', cert: 'the chain' });
  });

  it('names a directory, an endless or a huge file in the place of one', async () => {
    await using place = await makePlace();
    await mkdir(join(place.path, 'a/tls.key'), { recursive: true });
    await assert.rejects(
      readBundle(join(place.path, 'a'), 'a'),
      refusal('state-unavailable', /tls\.key is (a directory|not a regular file)/),
    );
    await mkdir(join(place.path, 'b'));
    await symlink('/dev/zero', join(place.path, 'b/tls.crt'));
    await assert.rejects(
      readBundle(join(place.path, 'b'), 'b'),
      refusal('state-unavailable', /tls\.crt is (a directory|not a regular file)/),
    );
    await mkdir(join(place.path, 'c'));
    await writeFile(join(place.path, 'c/ca.crt'), 'x'.repeat(1_048_577));
    await assert.rejects(
      readBundle(join(place.path, 'c'), 'c'),
      refusal('state-unavailable', /ca\.crt has more than the permitted 1048576 bytes/),
    );
  });

  it('finds nothing where no directory is', async () => {
    await using place = await makePlace();
    assert.deepEqual(await readBundle(join(place.path, 'none'), 'none'), { name: 'none' });
  });
});

describe('writeBundle', () => {
  const authority = makeAuthority();
  const first = issueBundle(authority, 'link', { subject: 'east', client: true });
  const second = issueBundle(authority, 'link', { subject: 'east', client: true });
  const plain = ({ name, cert, key, ca }: typeof first) => ({ name, cert, key, ca });

  it('leaves the three files under their names, for its user alone', async () => {
    await using place = await makePlace();
    const directory = join(place.path, 'link');
    await writeBundle(directory, first);
    assert.deepEqual((await readdir(directory)).filter((name) => !name.startsWith('..')).sort(), ['ca.crt', 'tls.crt', 'tls.key']);
    assert.equal(await readFile(join(directory, 'tls.crt'), 'utf8'), first.cert);
    assert.equal((await stat(join(directory, 'tls.key'))).mode & 0o777, 0o600);
    assert.equal((await stat(directory)).mode & 0o777, 0o700);
  });

  it('replaces what was written before, by whatever means, and leaves no old key behind', async () => {
    await using place = await makePlace();
    await mkdir(join(place.path, 'link'));
    const directory = join(place.path, 'link');
    for (const [file, part] of [
      ['tls.crt', first.cert],
      ['tls.key', first.key],
      ['ca.crt', first.ca],
    ] as const)
      await writeFile(join(directory, file), part);
    await writeBundle(directory, second);
    await writeBundle(directory, { name: 'link', cert: second.cert, key: second.key });
    assert.deepEqual(await readBundle(directory, 'link'), { name: 'link', cert: second.cert, key: second.key });
    assert.equal((await readdir(directory)).filter((name) => /^\.\.[0-9a-f]{16}/.test(name)).length, 1);
  });

  it('shows the old three or the new three, wherever it is cut off', async () => {
    await using place = await makePlace();
    for (let limit = 0; ; limit += 1) {
      const directory = join(place.path, String(limit));
      await writeBundle(directory, first);
      const { disk } = crashAfter(limit);
      const outcome = await writeBundle(directory, second, disk).catch((error: unknown) => error);
      const found = await readBundle(directory, 'link');
      assert.ok([first.key, second.key].includes(found.key ?? ''), `after ${limit} steps`);
      assert.deepEqual(found, plain(found.key === first.key ? first : second), `after ${limit} steps`);
      if (!(outcome instanceof Crash)) break;
      await writeBundle(directory, second);
      assert.deepEqual(await readBundle(directory, 'link'), plain(second));
    }
  });

  it('shows the old three or the new three to one who reads at the same time', async () => {
    await using place = await makePlace();
    const directory = join(place.path, 'link');
    await writeBundle(directory, first);
    const written = new AbortController();
    const writing = (async () => {
      for (let round = 0; round < 20; round += 1) await writeBundle(directory, round % 2 === 0 ? second : first);
      written.abort();
    })();
    const keys = new Set<string | undefined>();
    while (!written.signal.aborted) {
      const found = await readBundle(directory, 'link');
      assert.deepEqual(found, plain(found.key === first.key ? first : second));
      keys.add(found.key);
    }
    await writing;
    assert.equal(keys.size, 2);
  });
});
