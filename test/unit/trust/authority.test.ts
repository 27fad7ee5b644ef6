import assert from 'node:assert/strict';
import { readdir, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { issueBundle } from '../../../src/trust/issue.ts';
import { readAuthority } from '../../../src/trust/authority.ts';
import { DirectoryBundles } from '../../../src/trust/disk/bundles.ts';
import { Crash, crashAfter, failing } from './support/failing-disk.ts';
import { makePlace } from './support/place.ts';
import { refusal } from './support/refusal.ts';
import { DAY, makeAuthority, makeClock, openSiteAuthority } from './support/site.ts';

const options = { siteName: 'west' };

describe("A site's authority", () => {
  it('is made once and is the same ever after', async () => {
    await using place = await makePlace();
    const directory = join(place.path, 'site/ca');
    const created = await openSiteAuthority(directory, options);
    const again = await openSiteAuthority(directory, { siteName: 'renamed' });
    assert.equal(again.ca, created.ca);
    const { validFromDate, validToDate } = created.certificate;
    assert.equal(Math.round((validToDate.getTime() - validFromDate.getTime()) / DAY), 3_650, 'ten years, on every day of one');
  });

  it('is one, however many open it at once', async () => {
    await using place = await makePlace();
    const directory = join(place.path, 'ca');
    const all = await Promise.all(Array.from({ length: 5 }, () => openSiteAuthority(directory, options)));
    assert.equal(new Set(all.map(({ ca }) => ca)).size, 1);
  });

  it('is readable for its user alone', async () => {
    await using place = await makePlace();
    const directory = join(place.path, 'ca');
    await openSiteAuthority(directory, options);
    assert.equal((await stat(directory)).mode & 0o777, 0o700);
    for (const file of ['tls.crt', 'tls.key']) assert.equal((await stat(join(directory, file))).mode & 0o777, 0o600);
  });

  it('is whole or not there, wherever its making is cut off', async () => {
    await using place = await makePlace();
    for (let limit = 0; ; limit += 1) {
      const directory = join(place.path, `${limit}/ca`);
      const { disk } = crashAfter(limit);
      const outcome = await openSiteAuthority(directory, options, disk).catch((error: unknown) => error);
      const left = await readdir(directory).catch(() => []);
      assert.ok(left.length === 0 || left.length === 2, `after ${limit} steps there is ${left.join()}`);
      const before = left.length === 2 ? await readFile(join(directory, 'tls.crt'), 'utf8') : undefined;
      const { ca } = await openSiteAuthority(directory, options);
      if (before !== undefined) assert.equal(ca, before);
      const beside = (await readdir(join(place.path, String(limit)))).filter((name) => name.endsWith('.tmp'));
      assert.deepEqual(beside, [], 'what was unfinished is removed');
      if (!(outcome instanceof Crash)) break;
    }
  });

  it('is never replaced: damage is named, with the place and what to do', async () => {
    const damages: readonly [string, (directory: string) => Promise<void>, RegExp][] = [
      ['without its key', (directory) => rm(join(directory, 'tls.key')), /tls\.key is missing/],
      ['without its certificate', (directory) => rm(join(directory, 'tls.crt')), /tls\.crt is missing/],
      ['with half a certificate', (directory) => truncate(join(directory, 'tls.crt'), 200), /cut short/],
      ['with an empty key', (directory) => truncate(join(directory, 'tls.key'), 0), /no private key/],
      [
        'with another key',
        async (directory) => writeFile(join(directory, 'tls.key'), issueBundle(makeAuthority(), 'x', { subject: 'x' }).key),
        /not the key/,
      ],
    ];
    for (const [, damage, words] of damages) {
      await using place = await makePlace();
      const directory = join(place.path, 'ca');
      await openSiteAuthority(directory, options);
      await damage(directory);
      const files = await contents(directory);
      await assert.rejects(openSiteAuthority(directory, options), refusal('state-damaged', words, new RegExp(place.path), /backup/));
      assert.deepEqual(await contents(directory), files);
    }
  });

  it('that has ended, or whose clock is wrong, is not called damaged', async () => {
    await using place = await makePlace();
    const clock = makeClock();
    const directory = join(place.path, 'ca');
    await openSiteAuthority(directory, { ...options, clock });
    await assert.rejects(openSiteAuthority(directory, { ...options, clock: () => clock() - DAY }), refusal('tls-not-yet-valid', /clock/));
    await assert.rejects(openSiteAuthority(directory, { ...options, clock: () => clock() + 3_660 * DAY }), refusal('tls-expired', /clock/));
  });

  it('is not made on a full disk, and is made when there is room again', async () => {
    await using place = await makePlace();
    let isFull = true;
    const disk = failing('create', 'ENOSPC', () => isFull);
    const directory = join(place.path, 'ca');
    await assert.rejects(openSiteAuthority(directory, options, disk));
    isFull = false;
    assert.equal((await openSiteAuthority(directory, options, disk)).name, 'the site authority');
  });
});

describe("A user's authority", () => {
  it('signs with its chain, and its root verifies', async () => {
    await using place = await makePlace();
    const root = makeAuthority({ name: 'company' });
    const between = issueBundle(root, 'between', { subject: 'company issuing', signing: true, days: 365 });
    const bundles = new DirectoryBundles(place.path);
    await bundles.put({ name: 'company', cert: between.cert + root.ca, key: between.key });
    const authority = await readAuthority(bundles, 'company');
    assert.equal(authority.ca, root.ca);
    assert.equal(authority.chain, between.cert);
  });

  it('that is missing or invalid is reported with its directory', async () => {
    await using place = await makePlace();
    const bundles = new DirectoryBundles(place.path);
    await assert.rejects(readAuthority(bundles, 'none'), refusal('authority-missing', /"none"/, new RegExp(place.path)));
    const leaf = issueBundle(makeAuthority(), 'leaf', { subject: 'leaf', server: true });
    await bundles.put(leaf);
    await assert.rejects(readAuthority(bundles, 'leaf'), refusal('tls-not-a-ca', /leaf/));
  });
});

async function contents(directory: string): Promise<readonly (readonly [string, string])[]> {
  const names = (await readdir(directory)).sort();
  return Promise.all(names.map(async (name) => [name, await readFile(join(directory, name), 'utf8')] as const));
}
