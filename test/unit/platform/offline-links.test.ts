import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { parseAllDocuments } from 'yaml';
import { certificateFacts } from '../../../src/x509/facts.ts';
import { Authorities } from '../../../src/agent/authorities.ts';
import { makeOfflineLinks } from '../../../src/agent/offline-links.ts';
import { DirectoryBundles } from '../../../src/trust/disk/bundles.ts';
import { openStores } from '../../../src/platform/linux/stores.ts';
import { revocationsOf } from '../../../src/trust/revocation.ts';
import { layoutOf } from '../../../src/platform/linux/layout.ts';
import { makeNamespace } from '../../../src/platform/linux/site.ts';
import { replaceOfflineLinks } from '../../../src/platform/linux/offline-links.ts';
import { listAccesses } from '../../../src/site/plan/access.ts';
import { aSite, resources } from '../site/fixtures.ts';

test('a link for others that was revoked is given a new certificate, since nobody could use the old one', async (t) => {
  const base = await mkdtemp(join(tmpdir(), 'earshot-links-'));
  t.after(() => rm(base, { recursive: true, force: true }));
  const layout = layoutOf('west', base);
  await makeNamespace(layout);
  const site = aSite({ linkAccess: 'default' });
  const [access] = listAccesses(resources(site), site).accesses;
  assert.ok(access);
  const stores = openStores(layout, new DirectoryBundles(layout.internal.certs));
  const ledger = await stores.ledger();
  const authorities = new Authorities(stores);
  const serial = async (): Promise<string> => {
    const endpoints = [{ name: 'inter-router', host: '192.0.2.1', port: '55671' }];
    const options = { bundles: stores.bundles, ledger, authorities, site, now: Date.now() };
    await replaceOfflineLinks(layout.runtime.links, await makeOfflineLinks([{ access, endpoints }], options));
    const [secret] = parseAllDocuments(await readFile(join(layout.runtime.links, `link-${access.name}-192.0.2.1.yaml`), 'utf8'));
    const cert: unknown = secret?.getIn(['data', 'tls.crt']);
    return certificateFacts(Buffer.from(String(cert), 'base64').toString(), 'the link').serial;
  };

  const first = await serial();
  assert.equal(await serial(), first, 'it is kept as long as it is good');
  await ledger.revoke(`link-${access.name}`);
  const second = await serial();
  assert.notEqual(second, first);
  assert.deepEqual(revocationsOf(await ledger.revoked()).serials, [first]);
  assert.equal(await serial(), second);
});
