import assert from 'node:assert/strict';
import { appendFile, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { openLedger } from '../../../src/trust/disk/ledger.ts';
import { realDisk } from '../../../src/trust/disk/disk.ts';
import type { TrustError } from '../../../src/trust/errors.ts';
import { revocationsOf } from '../../../src/trust/revocation.ts';
import { Crash, crashAfter } from './support/failing-disk.ts';
import { makePlace } from './support/place.ts';
import { refusal } from './support/refusal.ts';
import { DAY, makeClock } from './support/site.ts';

const east = '11111111-1111-8111-8111-111111111111';
const other = '22222222-2222-8222-8222-222222222222';

describe('The ledger on disk', () => {
  it('revokes what another process issues at the same moment, or that is refused', async () => {
    await using place = await makePlace();
    const running = await openLedger(place.path);
    const command = await openLedger(place.path);
    await running.record({ siteName: 'east', siteId: east, serial: 'A0', notAfter: Date.now() + DAY });
    const records = Array.from({ length: 8 }, async (_, index) => {
      const serial = `A${index + 1}`;
      return running.record({ siteName: 'east', siteId: east, serial, notAfter: Date.now() + DAY }).then(
        () => serial,
        () => undefined,
      );
    });
    const [revoked, ...recorded] = await Promise.all([command.revoke('east'), ...records]);
    const handedOut = recorded.filter((serial) => serial !== undefined);
    assert.deepEqual(
      handedOut.filter((serial) => !revoked.serials.includes(serial)),
      [],
    );
  });

  it('takes a last line that a crash has cut for not written, and goes on', async () => {
    await using place = await makePlace();
    const ledger = await openLedger(place.path);
    await ledger.record({ siteName: 'east', siteId: east, serial: 'A1', notAfter: Date.UTC(2030, 1, 1) });
    await appendFile(join(place.path, 'issued.jsonl'), '{"siteName":"ea');
    assert.deepEqual(
      (await Array.fromAsync(ledger.issued())).map(({ serial }) => serial),
      ['A1'],
    );
    await ledger.record({ siteName: 'east', siteId: east, serial: 'A2', notAfter: Date.UTC(2030, 1, 1) });
    assert.deepEqual(
      (await Array.fromAsync(ledger.issued())).map(({ serial }) => serial),
      ['A1', 'A2'],
    );
  });

  it('names damage with its position, and refuses all checks and records meanwhile', async () => {
    await using place = await makePlace();
    const ledger = await openLedger(place.path);
    const entry = { siteName: 'east', siteId: east, serial: 'A1', notAfter: Date.now() + DAY };
    await ledger.record(entry);
    await writeFile(join(place.path, 'revoked.yaml'), 'version: 1\nrevoked:\n  - name: east\n');
    await assert.rejects(ledger.revoked(), refusal('state-damaged', /revoked\.yaml/, /entry 1/));
    await assert.rejects(ledger.record(entry), refusal('state-damaged'));
    await writeFile(join(place.path, 'revoked.yaml'), '');
    await assert.rejects(ledger.revoked(), refusal('state-damaged', /version: 1/));
    await writeFile(join(place.path, 'revoked.yaml'), 'version: 1\nrevoked: []\n');
  });

  it('reads a long list of who is revoked once, until it is another', async () => {
    await using place = await makePlace();
    const [ledger, command] = [await openLedger(place.path), await openLedger(place.path)];
    await command.revoke(east);
    const before = await ledger.revoked();
    assert.equal(await ledger.revoked(), before);
    await command.revoke(other);
    assert.deepEqual(
      (await ledger.revoked()).flatMap(({ siteIds }) => siteIds),
      [east, other],
    );
  });

  it('revokes all known parties despite damaged lines, and reports each such line once', async () => {
    await using place = await makePlace();
    const told: TrustError[] = [];
    const ledger = await openLedger(place.path, { onDamage: (damage) => told.push(damage) });
    const notAfter = Date.now() + DAY;
    await ledger.record({ siteName: 'east', siteId: east, serial: 'A1', notAfter });
    await appendFile(join(place.path, 'issued.jsonl'), `rubbish\n${'x'.repeat(100_000)}\n`);
    await ledger.record({ siteName: 'east', siteId: east, serial: 'A2', notAfter });
    const { siteIds, serials } = await ledger.revoke('east');
    assert.deepEqual([siteIds, serials], [[east], ['A1', 'A2']]);
    await ledger.revoke('east');
    assert.equal(told.length, 2);
    for (const [index, damage] of told.entries()) {
      refusal('state-damaged', new RegExp(`issued\\.jsonl is damaged in line ${index + 2}\\b`), /delete the line/)(damage);
    }
  });

  it('has on record what is issued after damage without an end', async () => {
    await using place = await makePlace();
    const ledger = await openLedger(place.path);
    const notAfter = Date.now() + DAY;
    await ledger.record({ siteName: 'east', siteId: east, serial: 'A1', notAfter });
    // As a file system leaves it that had made a file longer and lost what was to be there.
    await appendFile(join(place.path, 'issued.jsonl'), '\0'.repeat(6_000));
    await ledger.record({ siteName: 'east', siteId: east, serial: 'A2', notAfter });
    await ledger.record({ siteName: 'east', siteId: east, serial: 'A3', notAfter });
    assert.deepEqual((await ledger.revoke('east')).serials, ['A1', 'A2', 'A3']);
  });

  it('revokes an id also where nothing on record can be read', async () => {
    await using place = await makePlace();
    const ledger = await openLedger(place.path);
    await mkdir(join(place.path, 'issued.jsonl'));
    assert.deepEqual((await ledger.revoke(east)).siteIds, [east]);
    await assert.rejects(ledger.revoke('east'), refusal('state-unavailable', /issued\.jsonl/));
    assert.deepEqual(revocationsOf(await ledger.revoked()).sites, [east]);
  });

  it('keeps or has a revocation, wherever the writing of it is cut off', async () => {
    await using place = await makePlace();
    for (let limit = 0; ; limit += 1) {
      const directory = join(place.path, String(limit));
      const before = await openLedger(directory);
      await before.record({ siteName: 'east', siteId: east, serial: 'A1', notAfter: Date.now() + DAY });
      await before.record({ siteName: 'north', siteId: other, serial: 'B1', notAfter: Date.now() + DAY });
      await before.revoke('north');
      const { disk } = crashAfter(limit);
      const outcome = await openLedger(directory, { disk })
        .then((ledger) => ledger.revoke('east'))
        .catch((error: unknown) => error);
      const after = await openLedger(directory);
      const names = (await after.revoked()).map(({ name }) => name);
      assert.ok(names.includes('north'));
      assert.deepEqual(
        (await readdir(directory)).filter((name) => name.endsWith('.tmp')),
        [],
      );
      if (outcome instanceof Crash) continue;
      assert.deepEqual(names, ['north', 'east']);
      break;
    }
  });

  describe('forgets what has expired once that is most of it', () => {
    const line = (index: number, notAfter: number): string =>
      JSON.stringify({ siteName: 'east', serial: String(index), notAfter: new Date(notAfter).toISOString() });
    const linesOf = async (path: string): Promise<readonly string[]> => (await readFile(path, 'utf8')).trimEnd().split('\n');

    it('when it is opened, but for what is damaged', async () => {
      await using place = await makePlace();
      const clock = makeClock();
      const path = join(place.path, 'issued.jsonl');
      const lines = Array.from({ length: 1_200 }, (_, index) => line(index, clock() + (index < 900 ? -1 : DAY)));
      await writeFile(path, `${lines.with(7, 'rubbish').join('\n')}\n`);
      await openLedger(place.path, { clock });
      assert.deepEqual(await linesOf(path), ['rubbish', ...lines.slice(900)]);
    });

    it('while it runs, and loses nothing where the writing of it is cut off', async () => {
      await using place = await makePlace();
      const clock = makeClock();
      const path = join(place.path, 'issued.jsonl');
      const lines = Array.from({ length: 120 }, (_, index) => line(index, clock() + DAY));
      await writeFile(path, `${lines.join('\n')}\n`);
      const quick = { ...realDisk, appendLine: (file: string, text: string) => appendFile(file, `${text}\n`) };
      let { create } = crashAfter(0).disk;
      const ledger = await openLedger(place.path, {
        clock,
        disk: { ...quick, create: (...values) => (values[0].includes('anchor') ? realDisk.create(...values) : create(...values)) },
      });
      clock.advance(2 * DAY);
      const entry = { siteName: 'east', serial: 'A', notAfter: clock() + DAY };
      for (let count = 1; count < 120; count += 1) await ledger.record(count <= 10 ? { ...entry, notAfter: clock() } : entry);
      assert.equal((await linesOf(path)).length, 239);
      await assert.rejects(ledger.record(entry), Crash);
      assert.equal((await linesOf(path)).length, 240);
      ({ create } = realDisk);
      await ledger.record(entry);
      assert.equal((await linesOf(path)).length, 111);
    });
  });
});

describe('A name that only the network shows', () => {
  it('is revoked by all ids that bear it, with what those sites got under second names', async () => {
    await using place = await makePlace();
    const [renamed, second, elsewhere] = ['1', '2', '3'].map((digit) => `${digit}1111111-1111-8111-8111-111111111111`);
    const network = [
      { id: renamed ?? '', name: 'east' },
      { id: second ?? '', name: 'east' },
      { id: elsewhere ?? '', name: 'north' },
    ];
    const ledger = await openLedger(place.path, { network });
    await ledger.record({ siteName: 'former', siteId: renamed ?? '', serial: 'A1', notAfter: Date.now() + DAY });
    await ledger.record({ siteName: 'north', siteId: elsewhere ?? '', serial: 'B1', notAfter: Date.now() + DAY });
    const { name, siteIds, serials } = await ledger.revoke('east');
    assert.deepEqual([name, siteIds.toSorted(), serials], ['east', [renamed, second], ['A1']]);
    assert.equal(await ledger.unrevoke('east'), true);
    await assert.rejects(ledger.revoke('nobody'), /known sites are east, former, north|known sites are/);
  });
});
