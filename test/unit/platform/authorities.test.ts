import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Authorities } from '../../../src/agent/authorities.ts';
import { DirectoryBundles } from '../../../src/trust/disk/bundles.ts';
import { openStores } from '../../../src/platform/linux/stores.ts';
import { issueBundle } from '../../../src/trust/issue.ts';
import { aSite } from '../site/fixtures.ts';
import { makeAuthority } from '../trust/support/site.ts';
import { aNamespace } from './support.ts';

test("an authority of the person's own is found although another site's certificate has its name", async (t) => {
  const layout = await aNamespace(t);
  const issued = new DirectoryBundles(layout.internal.certs);
  const own = makeAuthority();
  const key = own.key.export({ type: 'pkcs8', format: 'pem' }).toString();
  await new DirectoryBundles(layout.input.certs).put({ name: 'mine', cert: own.ca, key });
  await issued.put(issueBundle(makeAuthority(), 'mine', { subject: 'west', client: true }));
  const found = await new Authorities(openStores(layout, issued)).find('mine', aSite());
  assert.equal(found.certificate.serialNumber, own.certificate.serialNumber);
});
