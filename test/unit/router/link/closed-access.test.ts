import assert from 'node:assert/strict';
import { test } from 'node:test';
import { testAuthority } from '../support/certificates.ts';
import { access, accessPort, siteConfig, start } from '../support/site.ts';
import { lateHandshake } from './support/late-handshake.ts';

const authority = await testAuthority();

test('a client whose handshake ends after the access was removed is refused', async () => {
  const bundle = await authority.issue();
  const config = siteConfig('west');
  await using west = await start({ ...config, accesses: [access(bundle)] });
  const told = await lateHandshake(await accessPort(west), bundle, () => west.apply(config));
  assert.equal(told.length, 0);
});
