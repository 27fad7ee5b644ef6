import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { test, type TestContext } from 'node:test';
import { Agent } from '../../../src/agent/agent.ts';
import type { Certificate } from '../../../src/api/skupper/index.ts';
import { purposeOf } from '../../../src/identity/certificate-purpose.ts';
import type { SiteObject } from '../../../src/site/resources.ts';
import { createLogger } from '../../../src/telemetry/log.ts';
import { authorityOf } from '../../../src/trust/authority.ts';
import { issueBundle } from '../../../src/trust/issue.ts';
import { until } from '../platform/support.ts';
import { makeAuthority } from '../trust/support/site.ts';
import { aLink, aListener, aRouterAccess, aSite } from '../site/fixtures.ts';
import { FakeRouter } from './support/fake-router.ts';
import { anAuthority, MemoryPlatform } from './support/memory-platform.ts';

const log = createLogger({ level: 'silent', component: 'test' });

const aCertificate = (name: string, more: Partial<Certificate['spec']> = {}): SiteObject => ({
  apiVersion: 'skupper.io/v2alpha1',
  kind: 'Certificate',
  metadata: { name },
  spec: { ca: 'earshot-site-ca', subject: name, client: true, ...more },
});

async function run(t: TestContext, platform = new MemoryPlatform()) {
  const router = new FakeRouter();
  let ahead = 0;
  const agent = new Agent({ platform, router: 'router', version: '1', log, start: router.start, clock: () => Date.now() + ahead });
  t.after(() => agent[Symbol.asyncDispose]());
  await agent.start();
  const { site } = platform;
  return {
    platform,
    site,
    router,
    /** Brings about a pass, so many milliseconds after the one before, and waits until it has ended. */
    pass: async (later = 0) => {
      ahead += later;
      const before = platform.count('siblings');
      agent.reload();
      await until(() => platform.count('siblings') > before, 'the pass has come to its end');
      await new Promise(setImmediate);
    },
    read: async (name: string) => new X509Certificate((await site.issued.get(name))?.cert ?? ''),
    remove: (key: string) => {
      site.objects.delete(key);
      site.changed();
    },
    revoked: async () => (await site.ledger.revoked()).flatMap(({ serials }) => serials),
    recorded: async () => Array.fromAsync(site.ledger.issued(), ({ siteName, serial }) => [siteName, serial]),
  };
}

test("what a site signs is on record, and marked: a Certificate's for applications, unless it asks for a link's or an access shows it", async (t) => {
  const { site, pass, read, recorded } = await run(t);
  site.put(aSite(), aRouterAccess('far', { tlsCredentials: 'shown' }), aCertificate('shown', { server: true }));
  site.put(aCertificate('app'), aCertificate('chosen', { settings: { purpose: 'link' } }), aCertificate('ca', { signing: true }));
  await pass();
  const names = ['app', 'ca', 'chosen', 'shown'];
  const certificates = await Promise.all(names.map(read));
  assert.deepEqual(certificates.map(purposeOf), ['application', undefined, 'link', 'link']);
  assert.deepEqual(
    (await recorded()).filter(([name]) => name?.startsWith('Certificate/')).sort(),
    certificates.map(({ serialNumber }, index) => [`Certificate/${names[index]}`, serialNumber]),
  );
});

test('a token cannot bring the TLS bundle that a Listener or an access of this site shows, whether that is there already or not', async (t) => {
  const { platform, site, pass } = await run(t);
  const { ca } = makeAuthority();
  const aToken = (name: string): SiteObject => ({
    apiVersion: 'skupper.io/v2alpha1',
    kind: 'AccessToken',
    metadata: { name },
    spec: { url: 'https://127.0.0.1:1/v1/redeem/g', code: 'x', ca },
  });
  site.put(
    aSite(),
    aListener('web', { tlsCredentials: 'web' }),
    aRouterAccess('far', { tlsCredentials: 'far' }),
    aToken('web'),
    aToken('far'),
  );
  await pass();
  for (const name of ['web', 'far']) {
    assert.match(platform.status(`AccessToken/${name}`)?.message ?? '', /is already the name of a Link or TLS bundle of this site/, name);
  }
});

test('a purpose that there is not is told, and the certificate stays', async (t) => {
  const { platform, site, pass, read } = await run(t);
  site.put(aSite(), aCertificate('app'));
  await pass();
  const { serialNumber } = await read('app');
  site.put(aCertificate('app', { settings: { purpose: 'linx' } }));
  await pass();
  assert.match(platform.status('Certificate/app')?.message ?? '', /settings\.purpose is "linx", and must be "link" or "application"/);
  assert.equal((await read('app')).serialNumber, serialNumber);
});

test('a Certificate from before there were marks is made anew with one, and what it gave is refused', async (t) => {
  const platform = new MemoryPlatform();
  const { site, pass, read, revoked, recorded } = await run(t, platform);
  site.put(aSite(), aCertificate('app'), aCertificate('chosen', { settings: { purpose: 'link' } }));
  await pass();
  const authority = authorityOf((await site.authority.get('ca')) ?? { name: 'ca' }, 'ca', Date.now);
  const old = issueBundle(authority, 'app', { subject: 'app', client: true });
  await site.issued.put(old);
  await site.issued.put(issueBundle(authority, 'chosen', { subject: 'chosen', client: true }));
  await pass();
  assert.deepEqual([purposeOf(await read('app')), purposeOf(await read('chosen'))], ['application', 'link']);
  const refused = await revoked();
  assert.ok(refused.includes(old.serial));
  assert.ok(!refused.includes((await read('app')).serialNumber));
  assert.deepEqual(
    (await recorded()).filter(([, serial]) => serial === old.serial),
    [['Certificate/app', old.serial]],
  );
  const before = platform.count('writeBundle');
  await pass();
  assert.equal(platform.count('writeBundle'), before);
});

test('what a Certificate gave is refused once it is gone, and a new one gives another', async (t) => {
  const { site, router, pass, read, remove } = await run(t);
  site.put(aSite(), aCertificate('app'), aCertificate('other'));
  await pass();
  const { serialNumber } = await read('app');
  remove('Certificate/app');
  await pass();
  await pass(500);
  assert.deepEqual(router.config.revoked.serials, [serialNumber]);
  site.put(aCertificate('app'));
  await pass();
  assert.notEqual((await read('app')).serialNumber, serialNumber);
  assert.deepEqual(router.config.revoked.serials, [serialNumber]);
});

test('one that is taken away and put back at once loses nothing', async (t) => {
  const { site, pass, read, remove, revoked } = await run(t);
  site.put(aSite(), aCertificate('app'));
  await pass();
  const { serialNumber } = await read('app');
  remove('Certificate/app');
  await pass();
  site.put(aCertificate('app'));
  await pass(100);
  await pass(500);
  assert.deepEqual([await revoked(), (await read('app')).serialNumber], [[], serialNumber]);
});

test('one that goes together with its Site loses nothing until there is a Site again', async (t) => {
  const { site, pass, read, remove, revoked } = await run(t);
  site.put(aSite(), aCertificate('app'));
  await pass();
  const { serialNumber } = await read('app');
  remove('Certificate/app');
  remove('Site/west');
  await pass();
  await pass(5_000);
  assert.deepEqual(await revoked(), []);
  site.put(aSite());
  await pass();
  await pass(500);
  assert.deepEqual(await revoked(), [serialNumber]);
});

test('one that went while nothing ran is refused by the next process; not while something that was written cannot be read', async (t) => {
  const platform = new MemoryPlatform();
  platform.site.put(aSite());
  await platform.site.ledger.record({ siteName: 'Certificate/gone', serial: 'A1', notAfter: Date.now() + 3_600_000 });
  platform.incomplete = true;
  const { pass, revoked } = await run(t, platform);
  await pass(500);
  await pass(500);
  assert.deepEqual(await revoked(), []);
  platform.incomplete = false;
  platform.site.put(aCertificate('new'));
  await pass();
  await pass(500);
  assert.deepEqual(await revoked(), ['A1']);
});

test('a certificate that was revoked by its name is followed by the next one', async (t) => {
  const { site, pass, read } = await run(t);
  site.put(aSite(), aCertificate('app', { settings: { purpose: 'link' } }));
  await pass();
  const { serialNumber } = await read('app');
  await site.ledger.revoke('app');
  await pass();
  assert.notEqual((await read('app')).serialNumber, serialNumber);
});

test("a token cannot have the name of a bundle of the site's own, and a Certificate not that of a token's", async (t) => {
  const { platform, site, pass, read } = await run(t);
  const foreign = issueBundle(anAuthority('east'), 'east', { subject: 'west', client: true, purpose: 'link' });
  await site.issued.put(foreign);
  const endpoints = [{ name: 'inter-router', host: 'east', port: '55671' }];
  const annotations = { 'earshot/site-id': '521b6329-d741-89f7-b6de-37f28aa75c79' };
  site.put(aSite(), aCertificate('east'), aCertificate('app'));
  site.put({ ...aLink('east', { tlsCredentials: 'east', endpoints }), metadata: { name: 'east', annotations } });
  for (const name of ['earshot-site-server', 'app']) {
    const spec = { url: 'https://127.0.0.1:1/v1/redeem/g', code: 'code', ca: anAuthority('x').ca };
    site.put({ apiVersion: 'skupper.io/v2alpha1', kind: 'AccessToken', metadata: { name }, spec });
  }
  await pass();
  for (const resource of ['AccessToken/earshot-site-server', 'AccessToken/app', 'Certificate/east'] as const) {
    const [condition] = platform.status(resource)?.conditions ?? [];
    assert.equal(condition?.reason, 'NameTaken', resource);
  }
  assert.equal((await read('east')).serialNumber, foreign.serial);
});
