import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { createKey, createRequest } from '../../../src/x509/request.ts';
import { issueBundle } from '../../../src/trust/issue.ts';
import { openLedger } from '../../../src/trust/disk/ledger.ts';
import { siteAuthority } from '../../../src/trust/authority.ts';
import { DirectoryBundles } from '../../../src/trust/disk/bundles.ts';
import { startSite } from '../../../src/platform/linux/site.ts';
import { createLogger } from '../../../src/telemetry/log.ts';
import { aNamespace } from '../platform/support.ts';
import { FakeRouter } from './support/fake-router.ts';

const OTHER = '11111111-1111-8111-8111-111111111111';
const log = createLogger({ level: 'silent', component: 'test' });

test('every router of a site renews for its peers, since a link stays with the router that it came to', async (t) => {
  const layout = await aNamespace(t);
  const spec = { settings: { 'link-certificate-lifetime': '1h' } };
  const site = { apiVersion: 'skupper.io/v2alpha1', kind: 'Site', metadata: { name: 'west' }, spec };
  await writeFile(join(layout.input.resources, 'west.yaml'), JSON.stringify(site));
  const routers = { router: new FakeRouter(), second: new FakeRouter() };
  await using leader = await startSite({ layout, router: 'router', version: '1', log, start: routers.router.start });
  await using second = await startSite({ layout, router: 'second', version: '1', log, start: routers.second.start });
  assert.deepEqual([leader.unready, second.unready], [undefined, undefined]);

  const authority = await siteAuthority(new DirectoryBundles(layout.internal.site), 'ca', { siteName: 'west' });
  const siteId = 'b2b69931-5078-863f-be7c-731a4583ea47';
  const order = { subject: 'east', siteId, client: true, purpose: 'link' } as const;
  const peer = { certificate: new X509Certificate(issueBundle(authority, 'east', order).cert).raw, siteId };
  const ledger = await openLedger(layout.internal.root);
  for (const [router, { hooks }] of Object.entries(routers)) {
    const issued = await hooks?.renew?.(peer, createRequest(createKey(), 'east'));
    assert.ok(issued, router);
    const { serialNumber, validToDate } = new X509Certificate(issued.cert);
    assert.ok(validToDate.getTime() < Date.now() + 3_700_000, `${router}: the site says for how long`);
    assert.equal((await Array.fromAsync(ledger.issued())).at(-1)?.serial, serialNumber, `${router}: it is on record`);
  }
  const again = async () => routers.second.hooks?.renew?.(peer, createRequest(createKey(), 'east'));
  await assert.rejects(again, { code: 'renew-early' });
  const other = { certificate: new X509Certificate(issueBundle(authority, 'x', { subject: 'x', client: true }).cert).raw, siteId: OTHER };
  await ledger.revoke(OTHER);
  await assert.rejects(async () => routers.second.hooks?.renew?.(other, createRequest(createKey(), 'x')), { code: 'revoked' });
});
