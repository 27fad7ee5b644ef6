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
import { aConnector, aLink, aListener, aRouterAccess, aSite } from '../site/fixtures.ts';
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

test("signed certificates are recorded and marked: those of Certificates for applications, unless they request a link's or an access uses them", async (t) => {
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

test('an unknown purpose is reported, and the certificate stays', async (t) => {
  const { platform, site, pass, read } = await run(t);
  site.put(aSite(), aCertificate('app'));
  await pass();
  const { serialNumber } = await read('app');
  site.put(aCertificate('app', { settings: { purpose: 'linx' } }));
  await pass();
  assert.match(platform.status('Certificate/app')?.message ?? '', /settings\.purpose is "linx", and must be "link" or "application"/);
  assert.equal((await read('app')).serialNumber, serialNumber);
});

test('a Certificate from before marks existed is created again with a mark, and its earlier bundle is refused', async (t) => {
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

test('the bundle of a deleted Certificate is refused, and a new Certificate issues another', async (t) => {
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

const inter = [{ name: 'inter-router' }];

test('bundles that resources name are issued, and removed once none names them; bundles of the user are not touched', async (t) => {
  const { platform, site, pass, read, remove } = await run(t);
  site.userBundles.set('mine', { name: 'mine', ca: anAuthority('my').ca });
  site.attached.set('given', { name: 'given', ca: anAuthority('my').ca });
  site.put(aSite(), aListener('web', { tlsCredentials: 'web', host: 'web.example' }), aConnector('own', { tlsCredentials: 'mine' }));
  site.put(aConnector('db', { tlsCredentials: 'db', host: 'db.example' }), aConnector('other', { tlsCredentials: 'given' }));
  site.put(aRouterAccess('far', { tlsCredentials: '', roles: inter, bindHost: '127.0.0.1' }));
  await pass();
  const names = async () => [...(await site.issued.list()).bundles.keys()];
  assert.deepEqual(await names(), ['client-far', 'db', 'far', 'web']);
  const serviceCa = (await site.createdIssuers.get('skupper-service-ca'))?.cert ?? '';
  for (const [name, host] of [
    ['web', 'web.example'],
    ['db', 'db.example'],
  ] as const) {
    const certificate = await read(name);
    assert.ok(certificate.checkHost(host) !== undefined && certificate.checkIssued(new X509Certificate(serviceCa)), name);
    assert.equal((await site.issued.get(name))?.ca, serviceCa);
  }
  assert.notEqual(platform.status('Connector/own')?.status, 'Error');
  assert.deepEqual([...site.published.keys()].sort(), ['client-far', 'db', 'far', 'given', 'mine', 'web']);
  site.userBundles.set('db', { name: 'db', ca: anAuthority('my').ca });
  remove('Listener/web');
  remove('RouterAccess/far');
  await pass();
  assert.deepEqual(await names(), []);
  assert.deepEqual([...site.userBundles.keys()], ['mine', 'db']);
});

test('a Listener that names the bundle of the server for tokens shares its certificate, which is issued once', async (t) => {
  const { platform, site, pass, read, remove } = await run(t);
  const grant: SiteObject = { apiVersion: 'skupper.io/v2alpha1', kind: 'AccessGrant', metadata: { name: 'g' }, spec: {} };
  site.put(aSite(), aRouterAccess('far'), grant, aListener('web', { tlsCredentials: 'earshot-grant-server', host: 'web.example' }));
  await pass();
  const before = platform.count('writeBundle');
  await pass();
  await pass();
  assert.equal(platform.count('writeBundle'), before);
  const certificate = await read('earshot-grant-server');
  assert.ok(certificate.checkHost('web.example') !== undefined && certificate.checkIP('127.0.0.1') !== undefined);
  remove('Listener/web');
  await pass();
  await pass();
  assert.equal(platform.count('writeBundle'), before + 1, 'it stays for the server, without the name');
  assert.equal((await read('earshot-grant-server')).checkHost('web.example'), undefined);
});

test('a generated certificate follows the hosts of its resource, and is issued again before it ends', async (t) => {
  const { site, pass, read } = await run(t);
  const put = (host: string): void => site.put(aSite(), aListener('web', { tlsCredentials: 'web', host }));
  put('one.example');
  await pass();
  const first = await read('web');
  await pass();
  assert.equal((await read('web')).serialNumber, first.serialNumber);
  put('two.example');
  await pass();
  const second = await read('web');
  assert.equal(second.subjectAltName, 'DNS:two.example');
  await pass(200 * 86_400_000);
  assert.equal((await read('web')).serialNumber, second.serialNumber, 'servers load it when they start, so it lasts a year');
  await pass(100 * 86_400_000);
  assert.notEqual((await read('web')).serialNumber, second.serialNumber);
});

test('a name that is taken out of an access with an address of its own leaves its certificate', async (t) => {
  const { site, pass, read } = await run(t);
  const put = (...subjectAlternativeNames: string[]): void =>
    site.put(aSite(), aRouterAccess('far', { tlsCredentials: 'far', bindHost: '192.0.2.9', subjectAlternativeNames }));
  put('one.example', 'two.example');
  await pass();
  assert.equal((await read('far')).subjectAltName, 'DNS:one.example, DNS:two.example, IP Address:192.0.2.9');
  put('two.example');
  await pass();
  assert.equal((await read('far')).subjectAltName, 'DNS:two.example, IP Address:192.0.2.9');
});

test("a CA of the user takes the place of a created one, and of the site's own, and what it signs follows", async (t) => {
  const { site, router, pass, read } = await run(t);
  site.put(aSite(), aListener('web', { tlsCredentials: 'web' }), aRouterAccess('far', { tlsCredentials: 'far', issuer: 'mine' }));
  site.put(aRouterAccess('near', { tlsCredentials: 'near', roles: [{ name: 'edge' }] }));
  await pass();
  const created = (await site.createdIssuers.get('mine'))?.cert ?? '';
  assert.ok((await read('far')).checkIssued(new X509Certificate(created)));
  for (const [bundle, issuer] of [
    ['far', 'mine'],
    ['web', 'skupper-service-ca'],
    ['near', 'skupper-site-ca'],
  ] as const) {
    const { certificate, key } = anAuthority(issuer);
    await site.userIssuers.put({
      name: issuer,
      cert: certificate.toString(),
      key: key.export({ type: 'pkcs8', format: 'pem' }).toString(),
    });
    await pass();
    assert.ok((await read(bundle)).checkIssued(certificate), bundle);
  }
  const ca = router.config.accesses.find(({ name }) => name.startsWith('RouterAccess/far'))?.tls.ca ?? '';
  assert.equal(ca.match(/BEGIN CERTIFICATE/g)?.length, 2, "clients of the access's CA and of the site's");
});

test('a router that does not lead trusts the CA that a Secret holds, as the leader does', async (t) => {
  const leader = await run(t);
  const { site } = leader;
  const { certificate, key, ca } = anAuthority('corp');
  const file = { cert: certificate.toString(), key: key.export({ type: 'pkcs8', format: 'pem' }).toString(), ca };
  site.attached.set('corp', { name: 'corp', ...file });
  site.put(aSite({ linkAccess: 'default', defaultIssuer: 'corp' }));
  await leader.pass();
  const follower = await run(t, new MemoryPlatform(site, 'second'));
  await follower.pass();
  const trusted = ({ router }: typeof leader): string | undefined => router.config.accesses[0]?.tls.ca;
  assert.ok(trusted(leader)?.includes(ca.trim()));
  assert.equal(trusted(follower), trusted(leader));
});

test('the bundle of a Link is not a CA of this site, whatever its name', async (t) => {
  const { site, pass, read } = await run(t);
  site.put(aSite(), aRouterAccess('far', { tlsCredentials: 'far' }));
  await pass();
  const { serialNumber } = await read('far');
  const { certificate, key, ca } = anAuthority('east');
  const file = { cert: certificate.toString(), key: key.export({ type: 'pkcs8', format: 'pem' }).toString(), ca };
  site.attached.set('skupper-site-ca', { name: 'skupper-site-ca', ...file });
  site.put(aLink('east', { tlsCredentials: 'skupper-site-ca' }));
  await pass();
  assert.equal((await read('far')).serialNumber, serialNumber);
});

test('a bundle that may belong to an unreadable Certificate is not replaced', async (t) => {
  const platform = new MemoryPlatform();
  const { site, pass, read } = await run(t, platform);
  site.put(aSite(), aCertificate('tls', { server: true }), aListener('web', { tlsCredentials: 'tls' }));
  await pass();
  const before = await read('tls');
  platform.incomplete = true;
  site.objects.delete('Certificate/tls');
  site.changed();
  await pass();
  assert.equal((await read('tls')).serialNumber, before.serialNumber);
});

test('static links have one certificate, on record under their name; revoked, they get another', async (t) => {
  const { site, pass, read, recorded, revoked } = await run(t);
  site.put(aSite(), aRouterAccess('far', { tlsCredentials: 'far', roles: inter, subjectAlternativeNames: ['west.example'] }));
  await pass();
  await pass();
  const first = await read('client-far');
  assert.deepEqual([purposeOf(first), first.subject], ['link', 'CN=link-far']);
  const links = (): readonly (readonly [string, string | undefined])[] =>
    [...site.offlineLinks].map(([name, link]) => [name, link.bundle.cert]);
  assert.deepEqual(links(), [
    ['link-far west.example', first.toString()],
    ['link-far 127.0.0.1', first.toString()],
  ]);
  assert.deepEqual(
    (await recorded()).filter(([name]) => name === 'link-far'),
    [['link-far', first.serialNumber]],
  );
  await site.ledger.revoke('link-far');
  await pass();
  await pass();
  const second = await read('client-far');
  assert.notEqual(second.serialNumber, first.serialNumber);
  assert.deepEqual(await revoked(), [first.serialNumber]);
  assert.ok(links().every(([, cert]) => cert === second.toString()));
  site.put(aRouterAccess('far', { tlsCredentials: 'far', roles: inter, subjectAlternativeNames: ['east.example'] }));
  await pass();
  assert.deepEqual(
    links().map(([name]) => name),
    ['link-far 127.0.0.1', 'link-far east.example'],
  );
  site.objects.delete('RouterAccess/far');
  site.changed();
  await pass();
  assert.deepEqual(links(), []);
});
