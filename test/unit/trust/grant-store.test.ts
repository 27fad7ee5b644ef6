import assert from 'node:assert/strict';
import { readdir, readFile, stat, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { openGrantStore } from '../../../src/trust/disk/grant-store.ts';
import { openLedger } from '../../../src/trust/disk/ledger.ts';
import type { GrantStore } from '../../../src/trust/stores.ts';
import { Crash, crashAfter, failing } from './support/failing-disk.ts';
import { makePlace } from './support/place.ts';
import { refusal } from './support/refusal.ts';
import { attempt } from './stores-contract.ts';

const spec = { name: 'g', redemptionsAllowed: 2, expirationWindowSeconds: 900 };

describe('A grant on disk', () => {
  it('never gives more than is allowed, wherever the process dies', async () => {
    await using place = await makePlace();
    let deaths = 0;
    for (let limit = 0; ; limit += 1) {
      const directory = join(place.path, String(limit));
      const ledger = await openLedger(directory);
      const handedOut = new Set<string>();
      const { disk } = crashAfter(limit);
      const dying = await openGrantStore(join(directory, 'grants'), { ledger, disk }).catch((error: unknown) => error);
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
    await using store = await openGrantStore(join(place.path, 'grants'), { ledger: await openLedger(place.path), disk });
    await store.ensure(spec);
    isFull = true;
    await assert.rejects(store.redeem(attempt(store)), /ENOSPC/);
    isFull = false;
    await store.redeem(attempt(store));
    assert.equal(store.get('g')?.redemptions, 1);
  });

  it('whose file is damaged is refused and named, and never created again', async () => {
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
});

/** Acts as a server: a certificate goes out only after its redemption has returned. */
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
