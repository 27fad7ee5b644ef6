/**
 * A process with a grant server's parts: it redeems by one new key after the other, and says each key only after its
 * redemption has returned, as a server hands a certificate out. It is killed from outside.
 */
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { openGrantStore } from '../../../../src/trust/disk/grant-store.ts';
import { openLedger } from '../../../../src/trust/disk/ledger.ts';
import { makeSite } from './site.ts';

const [, , directory = ''] = process.argv;
const store = await openGrantStore(join(directory, 'grants'), { ledger: await openLedger(directory) });
// As many as are possible: its parent may kill it late.
const { code } = await store.ensure({ name: 'g', redemptionsAllowed: 10_000, expirationWindowSeconds: 3_600 });
for (;;) {
  const { siteId, siteName } = makeSite();
  const keyHash = randomBytes(8).toString('hex');
  await store.redeem({ grant: 'g', code, siteId, siteName, keyHash });
  process.stdout.write(`${keyHash}\n`);
}
