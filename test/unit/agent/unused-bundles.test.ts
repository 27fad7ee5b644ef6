import assert from 'node:assert/strict';
import { describe, it, test } from 'node:test';
import { access, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { pino } from 'pino';
import { Tokens } from '../../../src/agent/tokens.ts';
import { UNUSED_FOR, UnusedBundles } from '../../../src/agent/unused-bundles.ts';
import { openStores } from '../../../src/platform/linux/stores.ts';
import { DirectoryBundles } from '../../../src/trust/disk/bundles.ts';
import { aNamespace } from '../platform/support.ts';
import { aSite } from '../site/fixtures.ts';
import { makeSite } from '../trust/support/site.ts';

const STEP = UNUSED_FOR / 10;

describe('A bundle of a token', () => {
  it('is removed only after an hour in which all was readable and no resource named it', () => {
    const look = fc.record({
      after: fc.integer({ min: 0, max: 12 }),
      inUse: fc.option(fc.uniqueArray(fc.constantFrom<string>('a', 'b', 'c')), { nil: undefined }),
    });
    fc.assert(
      fc.property(fc.array(look, { maxLength: 30 }), (looks) => {
        const bundles = new UnusedBundles();
        const created = ['a', 'b'];
        const unusedSince = new Map<string, number>();
        let now = 0;
        for (const { after, inUse } of looks) {
          now += after * STEP;
          const found = bundles.find(created, inUse === undefined ? undefined : new Set(inUse), now);
          for (const name of created) {
            if (inUse === undefined || inUse.includes(name)) unusedSince.delete(name);
            else unusedSince.getOrInsert(name, now);
          }
          const expected = created.filter((name) => now - (unusedSince.get(name) ?? now) >= UNUSED_FOR);
          assert.deepEqual(found.unused, expected);
          const waiting = [...unusedSince].filter(([name]) => !expected.includes(name)).map(([, since]) => since + UNUSED_FOR);
          assert.equal(found.due, waiting.length === 0 ? undefined : Math.min(...waiting));
        }
      }),
    );
  });

  test('goes from the disk with the key of a renewal; what came otherwise stays', async (t) => {
    const layout = await aNamespace(t);
    const stores = openStores(layout, new DirectoryBundles(layout.internal.certs));
    for (const name of ['east', 'kept', 'of-certificate']) await stores.bundles.put({ name, cert: 'CERT', key: 'KEY', ca: 'CA' });
    const mine = join(layout.input.certs, 'east');
    await mkdir(mine, { recursive: true });
    await writeFile(join(mine, 'tls.key'), 'MINE');
    await stores.tokens.setRedeemed(new Map(['east', 'kept', 'gone'].map((name) => [name, 'mark'])));
    await stores.pendingKeys.keyFor('east');
    const { siteId, siteKey } = makeSite();
    using tokens = new Tokens({ stores, identity: { id: siteId, key: siteKey }, log: pino({ enabled: false }), onChange: () => {} });
    await tokens.ensure([], aSite());
    const names = async (): Promise<readonly string[]> => [...(await stores.bundles.list()).bundles.keys()];

    assert.equal(await tokens.removeUnused(new Set(['kept']), 0), UNUSED_FOR);
    await tokens.removeUnused(undefined, 20 * STEP);
    await tokens.removeUnused(new Set(['kept']), 21 * STEP);
    assert.deepEqual(await names(), ['east', 'kept', 'of-certificate']);
    await tokens.removeUnused(new Set(['kept']), 31 * STEP);
    assert.deepEqual(await names(), ['kept', 'of-certificate']);
    await assert.rejects(access(join(layout.internal.certs, 'east')));
    await assert.rejects(access(join(layout.internal.root, 'pending/east.key')));
    assert.equal(await readFile(join(mine, 'tls.key'), 'utf8'), 'MINE');
    assert.deepEqual([...(await stores.tokens.redeemed()).keys()], ['kept', 'gone']);
  });
});
