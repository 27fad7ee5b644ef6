import assert from 'node:assert/strict';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { parseAllDocuments } from 'yaml';
import { certificateFacts } from '../../../src/x509/facts.ts';
import { Authorities } from '../../../src/agent/authorities.ts';
import { keepOfflineLinks } from '../../../src/agent/offline-links.ts';
import { DirectoryBundles } from '../../../src/trust/disk/bundles.ts';
import { openStores } from '../../../src/platform/linux/stores.ts';
import { revocationsOf } from '../../../src/trust/revocation.ts';
import { layoutOf } from '../../../src/platform/linux/layout.ts';
import { makeNamespace } from '../../../src/platform/linux/site.ts';
import { OfflineLinkFiles } from '../../../src/platform/linux/offline-links.ts';
import { listAccesses } from '../../../src/site/plan/access.ts';
import { aSite, resources } from '../site/fixtures.ts';

/** A site that is reached at two addresses. */
async function aSiteThatLinks(t: TestContext) {
  const base = await mkdtemp(join(tmpdir(), 'earshot-links-'));
  t.after(() => rm(base, { recursive: true, force: true }));
  const layout = layoutOf('west', base);
  await makeNamespace(layout);
  const site = aSite({ linkAccess: 'default' });
  const [access] = listAccesses(resources(site), site).accesses;
  assert.ok(access);
  const stores = openStores(layout, new DirectoryBundles(layout.internal.certs));
  const [links, ledger, authorities] = [new OfflineLinkFiles(layout.runtime.links), await stores.ledger(), new Authorities(stores)];
  const endpoints = ['192.0.2.1', 'west.example'].map((host) => ({ name: 'inter-router', host, port: '55671' }));
  return {
    links,
    ledger,
    files: () => readdir(layout.runtime.links),
    bundles: () => readdir(layout.internal.certs),
    keep: (now = Date.now()) => keepOfflineLinks([{ access, endpoints }], { links, ledger, authorities, site, now }),
    serial: async (): Promise<string> => {
      const [secret] = parseAllDocuments((await links.read('link-west', '192.0.2.1')) ?? '');
      const cert: unknown = secret?.getIn(['data', 'tls.crt']);
      return certificateFacts(Buffer.from(String(cert), 'base64').toString(), 'the link').serial;
    },
  };
}

test('a link for others is made where it was asked for, and for no other address; its key is in no other file', async (t) => {
  const { links, ledger, files, bundles, keep, serial } = await aSiteThatLinks(t);
  await keep();
  assert.deepEqual([await files(), await Array.fromAsync(ledger.issued())], [[], []]);
  await links.ask('link-west', '192.0.2.1');
  await keep();
  assert.deepEqual([await files(), await bundles()], [['link-west-192.0.2.1.yaml'], []]);
  const first = await serial();
  await links.ask('link-west', '192.0.2.1');
  await keep();
  assert.equal(await serial(), first, 'it is kept as long as it is good');
  assert.deepEqual(await Array.fromAsync(ledger.issued(), ({ siteName, serial: one }) => [siteName, one]), [['link-west', first]]);
});

test('a link for others is renewed as long as it is there, and goes with its access', async (t) => {
  const { links, files, keep, serial } = await aSiteThatLinks(t);
  await links.ask('link-west', '192.0.2.1');
  await keep();
  const first = await serial();
  await keep(Date.now() + 25 * 86_400_000);
  assert.notEqual(await serial(), first);
  await links.keepOnly(['link-west']);
  assert.equal((await files()).length, 1);
  await links.keepOnly(['link-far']);
  assert.deepEqual(await files(), []);
});

test('a link for others that was revoked is given a new certificate, since nobody could use the old one', async (t) => {
  const { links, ledger, keep, serial } = await aSiteThatLinks(t);
  await links.ask('link-west', '192.0.2.1');
  await keep();
  const first = await serial();
  await ledger.revoke('link-west');
  await keep();
  const second = await serial();
  assert.notEqual(second, first);
  assert.deepEqual(revocationsOf(await ledger.revoked()).serials, [first]);
  await keep();
  assert.equal(await serial(), second);
});
