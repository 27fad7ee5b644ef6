import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { describe, it } from 'node:test';
import { isKey } from '../../../src/x509/request.ts';
import { revocationsOf } from '../../../src/trust/revocation.ts';
import type { Bundles, Grant, GrantStore, IssuedEntry, Ledger, PendingKeys, RedeemAttempt } from '../../../src/trust/stores.ts';
import type { Clock } from '../../../src/trust/contract.ts';
import { refusal } from './support/refusal.ts';
import { DAY, makeClock, makeSite } from './support/site.ts';

/** All that one site keeps. */
export interface Stores extends AsyncDisposable {
  readonly bundles: Bundles;
  readonly ledger: Ledger;
  readonly grants: GrantStore;
  readonly pending: PendingKeys;
}

export interface StoreUnderTest {
  /** An empty one of its own for each test. */
  open(clock: Clock): Promise<Stores>;
  /** As the next process finds what this one has left. Absent where nothing outlives the process. */
  reopen?(stores: Stores, clock: Clock): Promise<Stores>;
}

/** Contract of every store, for any storage. */
export function storeContract(name: string, store: StoreUnderTest): void {
  describe(`${name}: bundles`, () => bundlesContract(store));
  describe(`${name}: grants`, () => grantsContract(store));
  describe(`${name}: redemptions`, () => redemptionsContract(store));
  describe(`${name}: the ledger`, () => ledgerContract(store));
  describe(`${name}: who is revoked`, () => revokedContract(store));
  describe(`${name}: pending keys`, () => pendingContract(store));
  if (store.reopen !== undefined) describe(`${name}: the next process`, () => reopenContract(store));
}

const NO_NAMES = ['../x', '', '.', '..', 'a/b', 'A', '-a', 'a'.repeat(254)];

function bundlesContract({ open }: StoreUnderTest): void {
  it('are given back as they were put, in the order of their names, each part that is left out gone', async () => {
    await using stores = await open(Date.now);
    const { bundles } = stores;
    await bundles.put({ name: 'web', cert: 'cert', key: 'key', ca: 'ca' });
    await bundles.put({ name: 'ca.only', ca: 'ca' });
    await bundles.put({ name: 'web', cert: 'new cert', key: 'new key' });
    const listed = await bundles.list();
    assert.deepEqual([...listed.bundles.keys()], ['ca.only', 'web']);
    assert.equal(await bundles.list(), listed, 'nothing has changed');
    assert.deepEqual(await bundles.get('web'), { name: 'web', cert: 'new cert', key: 'new key' });
    assert.deepEqual(await bundles.get('ca.only'), { name: 'ca.only', ca: 'ca' });
    assert.equal(await bundles.get('none'), undefined);
  });

  it('are made once, however many ask at once, and never again', async () => {
    await using stores = await open(Date.now);
    const { bundles } = stores;
    let count = 0;
    const make = () => ({ name: 'ca', key: `key ${++count}` });
    const all = await Promise.all(Array.from({ length: 5 }, () => bundles.make('ca', make)));
    assert.deepEqual(new Set(all.map(({ key }) => key)), new Set(['key 1']));
    await bundles.put({ name: 'half', cert: 'cert' });
    assert.deepEqual(await bundles.make('half', make), { name: 'half', cert: 'cert' });
    assert.equal(count, 1);
  });

  it('are refused under names that none can have', async () => {
    await using stores = await open(Date.now);
    const { bundles } = stores;
    for (const name of NO_NAMES) {
      await assert.rejects(bundles.get(name), refusal('bad-argument'), name);
      await assert.rejects(bundles.put({ name, key: 'x' }), refusal('bad-argument'), name);
      await assert.rejects(
        bundles.make(name, () => ({ name })),
        refusal('bad-argument'),
        name,
      );
    }
    assert.equal((await bundles.list()).bundles.size, 0);
  });
}

const spec = { name: 'g', redemptionsAllowed: 2, expirationWindowSeconds: 900 };

/** By a new site with a new key, if nothing else is said. */
export function attempt(store: GrantStore, changes: Partial<RedeemAttempt> = {}): RedeemAttempt {
  const { siteId, siteName } = makeSite();
  return { grant: 'g', code: store.get('g')?.code ?? '', siteId, siteName, keyHash: randomBytes(32).toString('hex'), ...changes };
}

function grantsContract({ open }: StoreUnderTest): void {
  it('have codes of 160 bits, which stay, and are listed in the order in which they were made', async () => {
    await using stores = await open(Date.now);
    const { grants } = stores;
    const { code } = await grants.ensure(spec);
    assert.equal(Buffer.from(code, 'base64url').length, 20);
    await grants.ensure({ ...spec, name: 'a' });
    assert.equal((await grants.ensure(spec)).code, code);
    assert.deepEqual(
      grants.list().map(({ name }) => name),
      ['g', 'a'],
    );
    await grants.remove('g');
    await grants.remove('none');
    assert.equal(grants.get('g'), undefined);
    assert.notEqual((await grants.ensure(spec)).code, code);
  });

  it("take the owner's code and follow changes of the spec, counted from when they were made", async () => {
    const clock = makeClock();
    await using stores = await open(clock);
    const { grants } = stores;
    const ensured = await grants.ensure({ ...spec, code: 'open sesame' });
    assert.equal(ensured.code, 'open sesame');
    clock.advance(600_000);
    const changed = await grants.ensure({ ...spec, code: 'close sesame', redemptionsAllowed: 5, expirationWindowSeconds: 3_600 });
    assert.deepEqual([changed.code, changed.redemptionsAllowed, changed.expires], ['close sesame', 5, ensured.created + 3_600_000]);
    const own = await grants.ensure(spec);
    assert.notEqual(own.code, 'close sesame');
    assert.equal((await grants.ensure(spec)).code, own.code);
  });

  it('are refused with names and numbers that none can have', async () => {
    await using stores = await open(Date.now);
    const { grants } = stores;
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
    for (const change of bad) await assert.rejects(grants.ensure({ ...spec, ...change }), refusal('bad-argument'), JSON.stringify(change));
    assert.deepEqual(grants.list(), []);
  });

  it('are no longer changed once the store is closed', async () => {
    const stores = await open(Date.now);
    await stores.grants.ensure(spec);
    const one = attempt(stores.grants);
    await stores.grants[Symbol.asyncDispose]();
    await assert.rejects(stores.grants.ensure({ ...spec, name: 'new' }), refusal('state-busy'));
    await assert.rejects(stores.grants.redeem(one), refusal('state-busy'));
    assert.equal(stores.grants.get('g')?.redemptions, 0);
    await stores[Symbol.asyncDispose]();
  });
}

function redemptionsContract({ open }: StoreUnderTest): void {
  it('are as many as are allowed and not one more, by a hundred at once', async () => {
    await using stores = await open(Date.now);
    const { grants } = stores;
    await grants.ensure({ ...spec, redemptionsAllowed: 7 });
    const outcomes = await Promise.allSettled(Array.from({ length: 100 }, () => grants.redeem(attempt(grants))));
    assert.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, 7);
    for (const outcome of outcomes) if (outcome.status === 'rejected') refusal('token-used-up', /7 of 7 redemptions/)(outcome.reason);
    assert.equal(grants.get('g')?.redemptions, 7);
  });

  it('count the same key of the same site once, also at once', async () => {
    await using stores = await open(Date.now);
    const { grants } = stores;
    await grants.ensure({ ...spec, redemptionsAllowed: 1 });
    const one = attempt(grants);
    await Promise.all([grants.redeem(one), grants.redeem(one), grants.redeem(one)]);
    assert.equal(grants.get('g')?.redemptions, 1);
    assert.deepEqual(
      grants.get('g')?.redeemedBy.map(({ siteId, siteName }) => [siteId, siteName]),
      [[one.siteId, one.siteName]],
    );
    await assert.rejects(grants.redeem({ ...one, siteId: makeSite().siteId }), refusal('token-used-up'));
  });

  it("end at the grant's time, by the clock of the day", async () => {
    const clock = makeClock();
    await using stores = await open(clock);
    const { grants } = stores;
    await grants.ensure(spec);
    clock.advance(899_999);
    await grants.redeem(attempt(grants));
    clock.advance(1);
    await assert.rejects(grants.redeem(attempt(grants)), refusal('token-expired', /2027-01-01T00:15:00/));
  });

  it('reveal nothing for a wrong code, not even that the grant has ended; a check counts nothing', async () => {
    const clock = makeClock();
    await using stores = await open(clock);
    const { grants } = stores;
    const { code } = await grants.ensure(spec);
    assert.equal(grants.check('g', code).redemptions, 0);
    clock.advance(DAY);
    for (const wrong of ['', 'x', code.slice(0, -1), `${code}x`, code.toUpperCase()]) {
      await assert.rejects(grants.redeem(attempt(grants, { code: wrong })), refusal('token-wrong-code'));
      assert.throws(() => grants.check('g', wrong), refusal('token-wrong-code'));
    }
    await assert.rejects(grants.redeem(attempt(grants, { grant: 'other' })), refusal('token-unknown-grant', /other/));
  });

  it('are reported to watchers, each once', async () => {
    await using stores = await open(Date.now);
    const { grants } = stores;
    await grants.ensure(spec);
    const seen: number[] = [];
    const end = grants.onChange(({ redemptions }) => seen.push(redemptions));
    const one = attempt(grants);
    await grants.redeem(one);
    await grants.redeem(one);
    end();
    await grants.redeem(attempt(grants));
    assert.deepEqual(seen, [1]);
  });
}

const east = '11111111-1111-8111-8111-111111111111';
const other = '22222222-2222-8222-8222-222222222222';
const north = '33333333-3333-8333-8333-333333333333';
const entry = (serial: string, siteId = east, siteName = 'east'): IssuedEntry => ({
  siteName,
  siteId,
  serial,
  notAfter: Date.UTC(2030, 1, 1),
});

function ledgerContract({ open }: StoreUnderTest): void {
  it('has everything that was issued, in order, also what was recorded at once', async () => {
    await using stores = await open(Date.now);
    const { ledger } = stores;
    const entries = ['A1', 'A2', 'A3'].map((serial) => entry(serial));
    await Promise.all(entries.map((one) => ledger.record(one)));
    const anonymous = { siteName: 'link-edge', serial: 'B1', notAfter: Date.UTC(2030, 1, 1) };
    await ledger.record(anonymous);
    assert.deepEqual(await Array.fromAsync(ledger.issued()), [...entries, anonymous]);
  });

  it("revokes all ids and serials of a name, and lists them in the router's format", async () => {
    const clock = makeClock();
    await using stores = await open(clock);
    const { ledger } = stores;
    for (const one of [entry('A1'), entry('A2', other), entry('B1', north, 'north')]) await ledger.record(one);
    assert.deepEqual(await ledger.revoke('east'), { name: 'east', at: clock(), siteIds: [east, other], serials: ['A1', 'A2'] });
    assert.deepEqual(revocationsOf(await ledger.revoked()), { sites: [east, other], serials: ['A1', 'A2'] });
  });

  it('revokes by a site id only what that site got', async () => {
    await using stores = await open(Date.now);
    const { ledger } = stores;
    for (const one of [entry('A1'), entry('A2', other)]) await ledger.record(one);
    const { name, siteIds, serials } = await ledger.revoke(other);
    assert.deepEqual([name, siteIds, serials], ['east', [other], ['A2']]);
  });

  it('lists who is revoked in order, each once', async () => {
    await using stores = await open(Date.now);
    const { ledger } = stores;
    for (const one of [entry('A1'), entry('B1', north, 'north')]) await ledger.record(one);
    await Promise.all([ledger.revoke('east'), ledger.revoke('north')]);
    await ledger.revoke('east');
    assert.deepEqual(
      (await ledger.revoked()).map(({ name }) => name),
      ['north', 'east'],
    );
  });

  it('refuses a site to which nothing was issued, and lists the known sites', async () => {
    await using stores = await open(Date.now);
    const { ledger } = stores;
    await assert.rejects(ledger.revoke('nobody'), refusal('unknown-site', /no site is known yet/));
    await ledger.record(entry('A1'));
    await assert.rejects(ledger.revoke('nobody'), refusal('unknown-site', /known sites are east/));
    assert.deepEqual(await ledger.revoked(), []);
  });

  it('revokes an unrecorded certificate by its serial number', async () => {
    await using stores = await open(Date.now);
    const { ledger } = stores;
    const revoked = await ledger.revoke('4f:00:aa:00:aa:00:aa:00:aa');
    assert.deepEqual([revoked.name, revoked.siteIds, revoked.serials], ['4F00AA00AA00AA00AA', [], ['4F00AA00AA00AA00AA']]);
    await assert.rejects(ledger.revoke('beef'), refusal('unknown-site'));
    assert.equal(await ledger.unrevoke('4F00AA00AA00AA00AA'), true);
  });

  it('takes back a serial number and an id as they were written for the revocation, and with zeros before them', async () => {
    await using stores = await open(Date.now);
    const { ledger } = stores;
    for (const [written, otherwise] of [
      ['00:ab:cd:ef:01:23:45:67:89', 'ABCDEF0123456789'],
      ['abcdef0123456789', '00:AB:CD:EF:01:23:45:67:89'],
      [north.toUpperCase(), north],
    ] as const) {
      for (const taken of [written, otherwise]) {
        await ledger.revoke(written);
        await ledger.revoke(otherwise);
        assert.equal((await ledger.revoked()).length, 1, written);
        assert.equal(await ledger.unrevoke(taken), true, taken);
        assert.deepEqual(await ledger.revoked(), [], taken);
      }
    }
  });

  it('takes back one id with its certificates, and leaves out others that have borne its name', async () => {
    await using stores = await open(Date.now);
    const { ledger } = stores;
    for (const one of [entry('A1'), entry('B1', north)]) await ledger.record(one);
    await ledger.revoke('east');
    assert.equal(await ledger.unrevoke(north), true);
    assert.deepEqual(revocationsOf(await ledger.revoked()), { sites: [east], serials: ['A1'] });
    assert.equal(await ledger.unrevoke(north), false);
    assert.equal(await ledger.unrevoke(east), true);
    assert.deepEqual(await ledger.revoked(), []);
  });

  it('revokes an id to which nothing was issued, by that id', async () => {
    const clock = makeClock();
    await using stores = await open(clock);
    const { ledger } = stores;
    assert.deepEqual(await ledger.revoke(east), { name: east, at: clock(), siteIds: [east], serials: [] });
    await assert.rejects(ledger.record(entry('A1')), refusal('revoked'));
    assert.equal(await ledger.unrevoke(east), true);
    await ledger.record(entry('A1'));
  });

  it('revokes what a Certificate gave, by its name, unless a site has that name; and not what it gives afterwards', async () => {
    await using stores = await open(Date.now);
    const { ledger } = stores;
    const certificate = (name: string, serial: string) => ({ siteName: `Certificate/${name}`, serial, notAfter: Date.UTC(2030, 1, 1) });
    for (const one of [certificate('web', 'C1'), certificate('east', 'C2'), entry('A1')]) await ledger.record(one);
    assert.deepEqual((await ledger.revoke('web')).serials, ['C1']);
    await ledger.record(certificate('web', 'C3'));
    assert.deepEqual((await ledger.revoke('east')).serials, ['A1']);
    assert.deepEqual((await ledger.revoke('Certificate/east')).serials, ['C2']);
    assert.deepEqual(revocationsOf(await ledger.revoked()), { sites: [east], serials: ['C1', 'A1', 'C2'] });
    assert.equal(await ledger.unrevoke('web'), true);
    assert.deepEqual(revocationsOf(await ledger.revoked()).serials, ['A1', 'C2']);
  });

  it('gives nothing more to a revoked site, whatever it calls itself, until that is taken back', async () => {
    await using stores = await open(Date.now);
    const { ledger } = stores;
    await ledger.record(entry('A1'));
    await ledger.revoke('east');
    await assert.rejects(ledger.record(entry('A2', east, 'west')), refusal('revoked', /is revoked here/));
    assert.equal(await ledger.unrevoke('east'), true);
    assert.equal(await ledger.unrevoke('east'), false);
    await ledger.record(entry('A2'));
    assert.deepEqual(
      (await Array.fromAsync(ledger.issued())).map(({ serial }) => serial),
      ['A1', 'A2'],
    );
  });

  it('revokes what is issued at the same moment, or that is refused', async () => {
    await using stores = await open(Date.now);
    const { ledger } = stores;
    await ledger.record(entry('A0'));
    const records = Array.from({ length: 8 }, (_, index) => ledger.record(entry(`A${index + 1}`)));
    const [revoked, recorded] = await Promise.all([ledger.revoke('east'), Promise.allSettled(records)]);
    const handedOut = recorded.flatMap(({ status }, index) => (status === 'fulfilled' ? [`A${index + 1}`] : []));
    assert.deepEqual(
      handedOut.filter((serial) => !revoked.serials.includes(serial)),
      [],
    );
  });
}

function revokedContract({ open }: StoreUnderTest): void {
  it('gets in by no grant, old or new, until the revocation is taken back', async () => {
    const clock = makeClock();
    await using stores = await open(clock);
    const { grants, ledger } = stores;
    await grants.ensure({ ...spec, redemptionsAllowed: 9 });
    const one = attempt(grants);
    await grants.redeem(one);
    await ledger.record(entry('A1', one.siteId));
    await ledger.revoke('east');
    clock.advance(1_000);
    const { code } = await grants.ensure({ ...spec, name: 'new' });
    for (const change of [{}, { keyHash: 'another' }, { grant: 'new', code }, { grant: 'new', code, siteName: 'renamed' }]) {
      await assert.rejects(grants.redeem({ ...one, ...change }), refusal('revoked', /is revoked/), JSON.stringify(change));
    }
    await ledger.unrevoke('east');
    await grants.redeem({ ...one, grant: 'new', code });
  });

  it('does not get in under a new id by the grant that it had used, whatever it calls itself', async () => {
    await using stores = await open(Date.now);
    const { grants, ledger } = stores;
    await grants.ensure({ ...spec, redemptionsAllowed: 9 });
    const one = attempt(grants);
    await grants.redeem(one);
    await ledger.record(entry('A1', one.siteId));
    await ledger.revoke('east');
    await assert.rejects(grants.redeem(attempt(grants, { siteName: 'disguised' })), refusal('revoked', /may still have the token/));
  });

  it('gets no certificate on record for what was counted before the revocation, under its id, its name or by its grant', async () => {
    const clock = makeClock();
    await using stores = await open(clock);
    const { grants, ledger } = stores;
    await ledger.record(entry('A0', makeSite().siteId));
    await grants.ensure({ ...spec, redemptionsAllowed: 9 });
    const record = async (one: RedeemAttempt, grant: Grant, serial: string): Promise<void> =>
      ledger.record(entry(serial, one.siteId, one.siteName), { kind: 'redemption', attempt: one, grant });
    const [first, again, disguised] = [attempt(grants), attempt(grants), attempt(grants, { siteName: 'disguised' })];
    await record(first, await grants.redeem(first), 'A1');
    const counted = [await grants.redeem(first), await grants.redeem(again), await grants.redeem(disguised)] as const;
    clock.advance(1_000);
    await ledger.revoke('east');
    await assert.rejects(record(first, counted[0], 'A2'), refusal('revoked', /it cannot redeem tokens/));
    await assert.rejects(record(again, counted[1], 'A3'), refusal('revoked', /was revoked after grant g was created/));
    await assert.rejects(record(disguised, counted[2], 'A4'), refusal('revoked', /may still have the token/));
    assert.deepEqual(
      (await Array.fromAsync(ledger.issued())).map(({ serial }) => serial),
      ['A0', 'A1'],
    );
  });

  it('gets in under a new id by a grant made afterwards, and not by one made before', async () => {
    const clock = makeClock();
    await using stores = await open(clock);
    const { grants, ledger } = stores;
    await grants.ensure(spec);
    await ledger.record(entry('A1', makeSite().siteId));
    clock.advance(1_000);
    await ledger.revoke('east');
    await assert.rejects(grants.redeem(attempt(grants)), refusal('revoked', /was revoked after grant g was created/));
    assert.equal(grants.get('g')?.redemptions, 0);
    clock.advance(1_000);
    const { code } = await grants.ensure({ ...spec, name: 'new' });
    const { redemptions } = await grants.redeem(attempt(grants, { grant: 'new', code }));
    assert.equal(redemptions, 1);
  });

  it('gets in by no grant of before, and by those of afterwards, also where the clock was set back meanwhile', async () => {
    const clock = makeClock();
    await using stores = await open(clock);
    const { grants, ledger } = stores;
    await ledger.record(entry('A1', makeSite().siteId));
    const grant = async (name: string): Promise<string> =>
      (await grants.ensure({ ...spec, name, redemptionsAllowed: 9, expirationWindowSeconds: 86_400 })).code;
    const first = await grant('first');
    clock.advance(-3_600_000);
    await ledger.revoke('east');
    const second = await grant('second');
    await assert.rejects(
      grants.redeem(attempt(grants, { grant: 'first', code: first })),
      refusal('revoked', /after grant first was created/),
    );
    await grants.redeem(attempt(grants, { grant: 'second', code: second }));
    clock.advance(7_200_000);
    const third = await grant('third');
    clock.advance(-3_600_000);
    await ledger.revoke('east');
    for (const [name, code] of [
      ['second', second],
      ['third', third],
    ] as const)
      await assert.rejects(grants.redeem(attempt(grants, { grant: name, code })), refusal('revoked', /was revoked/), name);
  });
}

function pendingContract({ open }: StoreUnderTest): void {
  it('are the same until they are dropped, also for who asks at once', async () => {
    await using stores = await open(Date.now);
    const { pending } = stores;
    const [key = '', again] = await Promise.all([pending.keyFor('to-west'), pending.keyFor('to-west')]);
    assert.ok(isKey(key));
    assert.equal(again, key);
    assert.notEqual(await pending.keyFor('to-east'), key);
    await pending.drop('to-west');
    await pending.drop('none');
    assert.notEqual(await pending.keyFor('to-west'), key);
  });

  it('cannot be asked for under names that no bundle can have', async () => {
    await using stores = await open(Date.now);
    for (const name of NO_NAMES) {
      await assert.rejects(stores.pending.keyFor(name), refusal('bad-argument'), name);
      await assert.rejects(stores.pending.drop(name), refusal('bad-argument'), name);
    }
  });
}

function reopenContract({ open, reopen }: StoreUnderTest): void {
  it('finds everything as it was left', async () => {
    const clock = makeClock();
    const first = await open(clock);
    await first.bundles.put({ name: 'web', cert: 'cert', key: 'key' });
    const bundle = await first.bundles.make('ca', () => ({ name: 'ca', key: 'made once' }));
    await first.grants.ensure(spec);
    const one = attempt(first.grants);
    await first.grants.redeem(one);
    for (const issued of [entry('A1'), entry('B1', north, 'north')]) await first.ledger.record(issued);
    await first.ledger.revoke('north');
    const key = await first.pending.keyFor('to-west');
    const before = [
      first.grants.list(),
      await Array.fromAsync(first.ledger.issued()),
      await first.ledger.revoked(),
      await first.bundles.list(),
    ];

    assert.ok(reopen !== undefined);
    await using next = await reopen(first, clock);
    assert.deepEqual(
      [next.grants.list(), await Array.fromAsync(next.ledger.issued()), await next.ledger.revoked(), await next.bundles.list()],
      before,
    );
    assert.deepEqual(await next.bundles.get('web'), { name: 'web', cert: 'cert', key: 'key' });
    assert.deepEqual(await next.bundles.make('ca', () => ({ name: 'ca', key: 'made twice' })), bundle);
    assert.equal(await next.pending.keyFor('to-west'), key);
    assert.deepEqual(await next.grants.ensure(spec), next.grants.get('g'));
    await next.grants.redeem(one);
    assert.equal(next.grants.get('g')?.redemptions, 1, 'the same key again is the same redemption');
    await assert.rejects(next.ledger.record(entry('B2', north, 'north')), refusal('revoked'));
  });
}
