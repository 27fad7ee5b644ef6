import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { readdir, readFile, stat, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { openGrantStore, openGrantStore as openGrantStoreOn } from '../../../src/trust/disk/grant-store.ts';
import { openLedger } from '../../../src/trust/ledger.ts';
import type { GrantStore, RedeemAttempt } from '../../../src/trust/stores.ts';
import { Crash, crashAfter, failing } from './support/failing-disk.ts';
import { makePlace } from './support/place.ts';
import { refusal } from './support/refusal.ts';
import { DAY, makeClock, makeSite } from './support/site.ts';

const spec = { name: 'g', redemptionsAllowed: 2, expirationWindowSeconds: 900 };

/** By a new site with a new key, if nothing else is said. */
function attempt(store: GrantStore, changes: Partial<RedeemAttempt> = {}): RedeemAttempt {
  const { siteId, siteName } = makeSite();
  return { grant: 'g', code: store.get('g')?.code ?? '', siteId, siteName, keyHash: randomBytes(32).toString('hex'), ...changes };
}

describe('A grant', () => {
  it('has a code of 160 bits, which stays over a restart, as its count does', async () => {
    await using place = await makePlace();
    const ledger = await openLedger(place.path);
    const first = await openGrantStore(join(place.path, 'grants'), { ledger });
    const { code } = await first.ensure(spec);
    assert.equal(Buffer.from(code, 'base64url').length, 20);
    await first.redeem(attempt(first));
    const before = first.get('g');
    await first[Symbol.asyncDispose]();
    await using second = await openGrantStore(join(place.path, 'grants'), { ledger });
    assert.deepEqual(second.get('g'), before);
    assert.deepEqual(await second.ensure(spec), before);
    assert.equal(before?.redemptions, 1);
  });

  it("takes the owner's code and follows changes of the spec, counted from when it was made", async () => {
    await using place = await makePlace();
    const clock = makeClock();
    await using store = await openGrantStore(join(place.path, 'grants'), { ledger: await openLedger(place.path), clock });
    const made = await store.ensure({ ...spec, code: 'open sesame' });
    assert.equal(made.code, 'open sesame');
    clock.advance(600_000);
    const changed = await store.ensure({ ...spec, code: 'close sesame', redemptionsAllowed: 5, expirationWindowSeconds: 3_600 });
    assert.deepEqual([changed.code, changed.redemptionsAllowed, changed.expires], ['close sesame', 5, made.created + 3_600_000]);
    const own = await store.ensure(spec);
    assert.notEqual(own.code, 'close sesame');
    assert.equal((await store.ensure(spec)).code, own.code);
  });

  it('is redeemed as often as is allowed and not once more, by a hundred at once', async () => {
    await using place = await makePlace();
    await using store = await openGrantStore(join(place.path, 'grants'), { ledger: await openLedger(place.path) });
    await store.ensure({ ...spec, redemptionsAllowed: 7 });
    const outcomes = await Promise.allSettled(Array.from({ length: 100 }, () => store.redeem(attempt(store))));
    assert.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, 7);
    for (const outcome of outcomes) if (outcome.status === 'rejected') refusal('token-used-up', /7 times of 7/)(outcome.reason);
    assert.equal(store.get('g')?.redemptions, 7);
  });

  it('counts the same key of the same site once', async () => {
    await using place = await makePlace();
    await using store = await openGrantStore(join(place.path, 'grants'), { ledger: await openLedger(place.path) });
    await store.ensure({ ...spec, redemptionsAllowed: 1 });
    const one = attempt(store);
    await Promise.all([store.redeem(one), store.redeem(one), store.redeem(one)]);
    assert.equal(store.get('g')?.redemptions, 1);
    await assert.rejects(store.redeem({ ...one, siteId: makeSite().siteId }), refusal('token-used-up'));
  });

  it('ends at its time, by the clock of the day', async () => {
    await using place = await makePlace();
    const clock = makeClock();
    await using store = await openGrantStore(join(place.path, 'grants'), { ledger: await openLedger(place.path), clock });
    await store.ensure(spec);
    clock.advance(899_999);
    await store.redeem(attempt(store));
    clock.advance(1);
    await assert.rejects(store.redeem(attempt(store)), refusal('token-expired', /2027-01-01T00:15:00/));
  });

  it('tells nothing to a wrong code, not even that it has ended', async () => {
    await using place = await makePlace();
    const clock = makeClock();
    await using store = await openGrantStore(join(place.path, 'grants'), { ledger: await openLedger(place.path), clock });
    const { code } = await store.ensure(spec);
    clock.advance(DAY);
    for (const wrong of ['', 'x', code.slice(0, -1), `${code}x`, code.toUpperCase()]) {
      await assert.rejects(store.redeem(attempt(store, { code: wrong })), refusal('token-wrong-code'));
    }
    await assert.rejects(store.redeem(attempt(store, { grant: 'other' })), refusal('token-unknown-grant', /other/));
  });

  it('never gives more than is allowed, wherever the process dies', async () => {
    await using place = await makePlace();
    let deaths = 0;
    for (let limit = 0; ; limit += 1) {
      const directory = join(place.path, String(limit));
      const ledger = await openLedger(directory);
      const handedOut = new Set<string>();
      const { disk } = crashAfter(limit);
      const dying = await openGrantStoreOn(join(directory, 'grants'), { ledger, disk }).catch((error: unknown) => error);
      let outcome: unknown = dying;
      if (!(dying instanceof Error)) {
        // It was a store just now.
        outcome = await redeemThree(dying as GrantStore, handedOut).catch((error: unknown) => error);
        await (dying as GrantStore)[Symbol.asyncDispose]();
      }
      await using store = await openGrantStore(join(directory, 'grants'), { ledger });
      const kept = store.get('g')?.redemptions ?? 0;
      assert.ok(kept >= handedOut.size, `step ${limit}: ${handedOut.size} were handed out and ${kept} are on disk`);
      await redeemThree(store, handedOut);
      assert.ok(handedOut.size <= 2, `step ${limit}: ${handedOut.size} were handed out`);
      assert.deepEqual(store.damaged, []);
      assert.deepEqual(
        (await readdir(join(directory, 'grants'))).filter((name) => name.endsWith('.tmp')),
        [],
      );
      if (!(outcome instanceof Crash)) break;
      deaths += 1;
    }
    assert.ok(deaths > 6);
  });

  it('is not redeemed on a full disk, and costs nothing there', async () => {
    await using place = await makePlace();
    let isFull = false;
    const disk = failing('create', 'ENOSPC', () => isFull);
    await using store = await openGrantStoreOn(join(place.path, 'grants'), { ledger: await openLedger(place.path), disk });
    await store.ensure(spec);
    isFull = true;
    await assert.rejects(store.redeem(attempt(store)), /ENOSPC/);
    isFull = false;
    await store.redeem(attempt(store));
    assert.equal(store.get('g')?.redemptions, 1);
  });

  it('whose file is damaged is refused and named, and never begun anew', async () => {
    const damages: readonly ((path: string) => Promise<void>)[] = [
      (path) => truncate(path, 40),
      (path) => truncate(path, 0),
      (path) => writeFile(path, '{}'),
      async (path) => writeFile(path, (await readFile(path, 'utf8')).replace('"redemptions": 1', '"redemptions": 0')),
      async (path) => writeFile(path, (await readFile(path, 'utf8')).replace('"redemptions": 1', '"redemptions": -1')),
    ];
    for (const damage of damages) {
      await using place = await makePlace();
      const ledger = await openLedger(place.path);
      const directory = join(place.path, 'grants');
      const before = await openGrantStore(directory, { ledger });
      await before.ensure(spec);
      await before.redeem(attempt(before));
      await before[Symbol.asyncDispose]();
      await damage(join(directory, 'g.json'));
      await using store = await openGrantStore(directory, { ledger });
      assert.equal(store.damaged[0]?.code, 'state-damaged');
      await assert.rejects(store.ensure(spec), refusal('state-damaged', /g\.json is damaged/, /new code/));
      await assert.rejects(store.redeem(attempt(store)), refusal('state-damaged'));
      await store.remove('g');
      assert.equal((await store.ensure(spec)).redemptions, 0);
    }
  });

  it('is of one process at a time', async () => {
    await using place = await makePlace();
    const ledger = await openLedger(place.path);
    const first = await openGrantStore(join(place.path, 'grants'), { ledger });
    await assert.rejects(
      openGrantStore(join(place.path, 'grants'), { ledger }),
      refusal('state-busy', new RegExp(`process ${process.pid}`)),
    );
    await first[Symbol.asyncDispose]();
    await assert.rejects(first.ensure(spec), refusal('state-busy'));
    await using second = await openGrantStore(join(place.path, 'grants'), { ledger });
    assert.deepEqual(second.list(), []);
  });

  it('lies in a file for its user alone', async () => {
    await using place = await makePlace();
    await using store = await openGrantStore(join(place.path, 'grants'), { ledger: await openLedger(place.path) });
    await store.ensure(spec);
    assert.equal((await stat(join(place.path, 'grants/g.json'))).mode & 0o777, 0o600);
  });

  it('is refused with names and numbers that no grant can have', async () => {
    await using place = await makePlace();
    await using store = await openGrantStore(join(place.path, 'grants'), { ledger: await openLedger(place.path) });
    const bad = [
      { name: '../g' },
      { name: '' },
      { name: 'a/b' },
      { name: 'a..b' },
      { name: 'G' },
      { name: 'g'.repeat(201) },
      { redemptionsAllowed: -1 },
      { redemptionsAllowed: 1.5 },
      { redemptionsAllowed: 10_001 },
      { expirationWindowSeconds: 0 },
      { expirationWindowSeconds: Number.NaN },
      { code: '' },
      { code: 'x'.repeat(1_025) },
    ];
    for (const change of bad) await assert.rejects(store.ensure({ ...spec, ...change }), refusal('bad-argument'), JSON.stringify(change));
    assert.deepEqual(
      (await readdir(join(place.path, 'grants'))).filter((name) => !name.includes('lock')),
      [],
    );
  });

  it('tells who watches of each redemption, once', async () => {
    await using place = await makePlace();
    await using store = await openGrantStore(join(place.path, 'grants'), { ledger: await openLedger(place.path) });
    await store.ensure(spec);
    const seen: number[] = [];
    const end = store.onChange(({ redemptions }) => seen.push(redemptions));
    const one = attempt(store);
    await store.redeem(one);
    await store.redeem(one);
    end();
    await store.redeem(attempt(store));
    assert.deepEqual(seen, [1]);
  });
});

describe('A revoked site', () => {
  it('gets in by no grant, old or new, until its revocation is taken back', async () => {
    await using place = await makePlace();
    const clock = makeClock();
    const ledger = await openLedger(place.path, { clock });
    await using store = await openGrantStore(join(place.path, 'grants'), { ledger, clock });
    await store.ensure({ ...spec, redemptionsAllowed: 9 });
    const east = attempt(store);
    await store.redeem(east);
    await ledger.record({ siteName: 'east', siteId: east.siteId, serial: 'A1', notAfter: clock() + DAY });
    await ledger.revoke('east');
    clock.advance(1_000);
    await store.ensure({ ...spec, name: 'new' });
    const { code = '' } = store.get('new') ?? {};
    for (const change of [{}, { keyHash: 'another' }, { grant: 'new', code }, { grant: 'new', code, siteName: 'renamed' }]) {
      await assert.rejects(store.redeem({ ...east, ...change }), refusal('revoked', /is revoked/), JSON.stringify(change));
    }
    await ledger.unrevoke('east');
    await store.redeem({ ...east, grant: 'new', code });
  });

  it('does not get in under a new id by the grant that it had used, whatever it calls itself', async () => {
    await using place = await makePlace();
    const ledger = await openLedger(place.path);
    await using store = await openGrantStore(join(place.path, 'grants'), { ledger });
    await store.ensure({ ...spec, redemptionsAllowed: 9 });
    const east = attempt(store);
    await store.redeem(east);
    await ledger.record({ siteName: 'east', siteId: east.siteId, serial: 'A1', notAfter: Date.now() + DAY });
    await ledger.revoke('east');
    await assert.rejects(store.redeem(attempt(store, { siteName: 'disguised' })), refusal('revoked', /may have the token still/));
  });

  it('gets in under a new id by a grant made after its revocation, and not by one made before', async () => {
    await using place = await makePlace();
    const clock = makeClock();
    const ledger = await openLedger(place.path, { clock });
    await using store = await openGrantStore(join(place.path, 'grants'), { ledger, clock });
    await store.ensure(spec);
    await ledger.record({ siteName: 'east', siteId: makeSite().siteId, serial: 'A1', notAfter: clock() + DAY });
    clock.advance(1_000);
    await ledger.revoke('east');
    await assert.rejects(store.redeem(attempt(store)), refusal('revoked', /was revoked after grant g was made/));
    clock.advance(1_000);
    const { code } = await store.ensure({ ...spec, name: 'new' });
    const { redemptions } = await store.redeem(attempt(store, { grant: 'new', code }));
    assert.equal(redemptions, 1);
  });
});

/** What a server does: a certificate goes out only after its redemption has returned. */
async function redeemThree(store: GrantStore, handedOut: Set<string>): Promise<void> {
  await store.ensure(spec);
  for (let count = 0; count < 3; count += 1) {
    const one = attempt(store);
    try {
      await store.redeem(one);
      handedOut.add(one.keyHash);
    } catch (error) {
      if (error instanceof Crash) throw error;
      refusal('token-used-up')(error);
    }
  }
}
