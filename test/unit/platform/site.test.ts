import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { mkdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { connect } from 'node:net';
import os from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { parse } from 'yaml';
import { certificateFacts } from '../../../src/x509/facts.ts';
import { createKey } from '../../../src/x509/request.ts';
import { issueBundle } from '../../../src/trust/issue.ts';
import { OfflineLinkFiles } from '../../../src/platform/linux/offline-links.ts';
import { openLedger } from '../../../src/trust/disk/ledger.ts';
import { makeAuthority, openSiteAuthority } from '../trust/support/site.ts';
import { writeBundle } from '../../../src/trust/disk/bundle-files.ts';
import type { NamespaceLayout } from '../../../src/platform/linux/layout.ts';
import type { Agent } from '../../../src/agent/agent.ts';
import { startSite } from '../../../src/platform/linux/site.ts';
import { createLogger } from '../../../src/telemetry/log.ts';
import { FakeRouter } from '../agent/support/fake-router.ts';
import { freePort } from '../support/free-port.ts';
import { aNamespace, until } from './support.ts';

const log = createLogger({ level: 'silent', component: 'test' });

interface Setting {
  readonly layout: NamespaceLayout;
  readonly router: FakeRouter;
  readonly put: (name: string, text: string) => Promise<void>;
  readonly status: (file: string) => Promise<Record<string, unknown> | undefined>;
  readonly start: () => Promise<Agent>;
}

async function prepare(t: TestContext): Promise<Setting> {
  const sites: Agent[] = [];
  // Before the directory's own: hooks run in their order, and a site writes until it ends.
  t.after(async () => {
    for (const site of sites) await site[Symbol.asyncDispose]();
  });
  const layout = await aNamespace(t);
  const router = new FakeRouter();
  const start = async (): Promise<Agent> => {
    const site = await startSite({ layout, router: 'router', version: '1', log, start: router.start });
    sites.push(site);
    return site;
  };
  return {
    layout,
    router,
    start,
    // In one step: a pass never sees half of it.
    put: async (name, text) => {
      await writeFile(join(layout.root, name), text);
      await rename(join(layout.root, name), join(layout.input.resources, name));
    },
    status: async (file) => {
      const text = await readFile(join(layout.runtime.resources, file), 'utf8').catch(() => undefined);
      if (text === undefined) return undefined;
      const { status } = parse(text) as { status: Record<string, unknown> };
      return status;
    },
  };
}

const document = (kind: string, name: string, spec: object): string =>
  `${JSON.stringify({ apiVersion: 'skupper.io/v2alpha1', kind, metadata: { name }, spec })}\n`;
const siteFile = document('Site', 'west', {});
const listenerFile = (port: number, more: object = {}): string =>
  document('Listener', 'web', { routingKey: 'web', host: '127.0.0.1', port, ...more });

test('an edit reaches the router, and the status follows the router', async (t) => {
  const { router, put, status, start } = await prepare(t);
  await put('site.yaml', siteFile);
  await put('web.yaml', listenerFile(8080));
  const site = await start();
  assert.equal(site.unready, undefined);
  assert.deepEqual(
    router.config.listeners.map(({ port }) => port),
    [8080],
  );
  await until(async () => (await status('Listener-web.yaml'))?.['status'] === 'Pending', 'the listener is pending');
  router.reach('web');
  await until(async () => (await status('Listener-web.yaml'))?.['status'] === 'Ready', 'the listener is ready');
  await put('web.yaml', listenerFile(9090));
  await until(() => router.config.listeners[0]?.port === 9090, 'the router has the new port');
});

test('a namespace that is moved away while its site runs changes nothing, until it is back', async (t) => {
  const { layout, router, put, start } = await prepare(t);
  await put('site.yaml', siteFile);
  await put('web.yaml', listenerFile(8080));
  await put(
    'link.yaml',
    document('Link', 'east', { endpoints: [{ name: 'inter-router', host: '192.0.2.1', port: '55671' }], tlsCredentials: 'east' }),
  );
  const site = await start();
  const { listeners } = router.config;
  const away = `${layout.root}-away`;
  await rename(layout.root, away);
  site.reload();
  await until(() => site.unready?.includes(`${layout.input.resources} does not exist any more`) === true, 'the site says so');
  assert.deepEqual(router.config.listeners, listeners);
  await rename(away, layout.root);
  await put('web.yaml', listenerFile(9090));
  site.reload();
  await until(() => router.config.listeners[0]?.port === 9090, 'an edit reaches the router');
  assert.equal(site.unready, undefined);
});

test('a report that fails, as where no file can be opened any more, ends nothing, and the next one is made', async (t) => {
  const { router, put, status, start } = await prepare(t);
  await put('site.yaml', siteFile);
  await put('web.yaml', listenerFile(8080));
  await start();
  await until(async () => (await status('Listener-web.yaml'))?.['status'] === 'Pending', 'the listener is pending');
  // Error of a query for the machine's addresses at EMFILE.
  const ask = t.mock.method(os, 'networkInterfaces', () => {
    throw new Error('uv_interface_addresses returned Unknown system error 24');
  });
  syncBuiltinESMExports();
  // More often than passes ask at the start: the others are reports.
  await until(() => {
    router.reach('web');
    return ask.mock.callCount() >= 8;
  }, 'reports have failed');
  ask.mock.restore();
  syncBuiltinESMExports();
  router.reach('web');
  await until(async () => (await status('Listener-web.yaml'))?.['status'] === 'Ready', 'the listener is ready');
});

test('a mistake is in the status with its place, and the last valid version runs', async (t) => {
  const { layout, router, put, status, start } = await prepare(t);
  await put('site.yaml', siteFile);
  await put('web.yaml', listenerFile(8080));
  await start();
  await put('web.yaml', listenerFile(99_999));
  await until(
    async () => String((await status('Listener-web.yaml'))?.['message']).startsWith('input/resources/web.yaml:1:'),
    'the status gives the line',
  );
  assert.deepEqual(
    router.config.listeners.map(({ port }) => port),
    [8080],
  );
  await until(async () => {
    const written = parse(await readFile(layout.runtime.problems, 'utf8')) as { problems: readonly { field: string }[] };
    return isDeepStrictEqual(
      written.problems.map(({ field }) => field),
      ['spec.port'],
    );
  }, 'the list of problems has it');
});

test('a resource that never was valid has a status all the same', async (t) => {
  const { put, status, start } = await prepare(t);
  await put('site.yaml', siteFile);
  await put('web.yaml', listenerFile(99_999));
  await start();
  await until(async () => (await status('Listener-web.yaml'))?.['status'] === 'Error', 'the listener is in error');
});

test('without a Site nothing runs, and the site starts as soon as there is one', async (t) => {
  const { router, put, start } = await prepare(t);
  const site = await start();
  assert.match(site.unready ?? '', /no Site/);
  assert.equal(router.configs.length, 0);
  await put('site.yaml', siteFile);
  await until(() => site.unready === undefined, 'the site runs');
  assert.equal(router.config.site.name, 'west');
});

test('a Site that cannot be used is named, with the place of its mistake, and not taken for none', async (t) => {
  const { put, status, start } = await prepare(t);
  await put('site.yaml', document('Site', 'west', { linkAccess: 7 }));
  await put('web.yaml', listenerFile(8080));
  const site = await start();
  assert.match(
    site.unready ?? '',
    /^no site runs in this namespace: its Site west cannot be used: input\/resources\/site\.yaml:1:\d+: spec\.linkAccess: /,
  );
  await until(
    async () => /its Site west cannot be used/.test(String((await status('Listener-web.yaml'))?.['message'])),
    'the listener says why',
  );
  await put('site.yaml', 'kind: [');
  await until(
    () => /it has no readable Site, and a file is invalid: input\/resources\/site\.yaml/.test(site.unready ?? ''),
    'it may be in that file',
  );
});

test('statuses of a crashed process do not say Ready before anything works', async (t) => {
  const { layout, put, status, start } = await prepare(t);
  await put('site.yaml', siteFile);
  await put('web.yaml', listenerFile(8080));
  await writeFile(
    join(layout.runtime.resources, 'Listener-web.yaml'),
    document('Listener', 'web', {}).replace('}\n', ',"status":{"status":"Ready"}}\n'),
  );
  await writeFile(layout.internal.identityKey, 'garbage');
  const site = await start();
  assert.match(site.unready ?? '', /damaged/);
  const left = await status('Listener-web.yaml');
  assert.equal(left?.['status'], 'Error');
  assert.match(String(left?.['message']), /^the router cannot start: .*identity\.key is damaged/);
});

test('a site that has ended says so in its statuses', async (t) => {
  const { router, put, status, start } = await prepare(t);
  await put('site.yaml', siteFile);
  await put('web.yaml', listenerFile(8080));
  const site = await start();
  router.reach('web');
  await until(async () => (await status('Listener-web.yaml'))?.['status'] === 'Ready', 'the listener is ready');
  await site.drain(10);
  assert.deepEqual(
    [(await status('Listener-web.yaml'))?.['status'], (await status('Listener-web.yaml'))?.['message']],
    ['Pending', 'the router is stopping'],
  );
  await site[Symbol.asyncDispose]();
  assert.match(String((await status('Site-west.yaml'))?.['message']), /^no process runs the namespace west; start it/);
});

test('a new site name is passed to the router', async (t) => {
  const { router, put, start } = await prepare(t);
  await put('site.yaml', siteFile);
  await start();
  await put('site.yaml', document('Site', 'far-west', {}));
  await until(() => router.config.site.name === 'far-west', 'the router has the name');
});

test('linkAccess gets a certificate, listens, and gives links for other sites, which only their owner can read, to who asks', async (t) => {
  const { layout, router, put, status, start } = await prepare(t);
  await put('site.yaml', document('Site', 'west', { linkAccess: 'default' }));
  await put(
    'access.yaml',
    document('RouterAccess', 'far', {
      roles: [{ name: 'inter-router', port: 7000 }],
      tlsCredentials: 'far',
      generateTlsCredentials: true,
      bindHost: '127.0.0.1',
    }),
  );
  await start();
  assert.deepEqual(router.config.accesses.map(({ name }) => name).sort(), [
    'RouterAccess/far/inter-router',
    'Site/west/edge',
    'Site/west/inter-router',
  ]);
  const server = router.config.accesses.find(({ name }) => name.startsWith('RouterAccess'))?.tls;
  assert.ok(certificateFacts(server?.cert ?? '', 'far').hosts.includes('127.0.0.1'));
  await until(async () => (await status('RouterAccess-far.yaml'))?.['status'] === 'Ready', 'the access is ready');
  const links = new OfflineLinkFiles(layout.runtime.links);
  await until(async () => (await links.read('link-far', '127.0.0.1')) !== undefined, 'the link for other sites is written');
  assert.equal((await stat(join(layout.runtime.links, 'link-far-127.0.0.1.yaml'))).mode & 0o777, 0o600);
});

test('tokens are redeemed where links are let in, and at no other address', async (t) => {
  const { put, status, start } = await prepare(t);
  const port = await freePort();
  const access = (bindHost?: string): string =>
    document('RouterAccess', 'far', {
      roles: [{ name: 'inter-router', port: 7000 }],
      tlsCredentials: 'far',
      generateTlsCredentials: true,
      bindHost,
    });
  await put('site.yaml', document('Site', 'west', { settings: { 'grant-port': String(port) } }));
  await put('access.yaml', access('127.0.0.1'));
  // A written 0 is 1, as in Skupper's manifests.
  await put('grant.yaml', document('AccessGrant', 'east', { redemptionsAllowed: 0 }));
  await start();
  await until(async () => (await status('AccessGrant-east.yaml'))?.['status'] === 'Ready', 'the grant is ready');
  assert.equal((await status('AccessGrant-east.yaml'))?.['message'], 'OK', 'it can be redeemed once');
  assert.equal((await status('AccessGrant-east.yaml'))?.['url'], `https://127.0.0.1:${port}/v1/redeem/east`);
  assert.equal(await accepts('127.0.0.1', port), true);
  assert.equal(await accepts('127.0.0.2', port), false);
  await put('access.yaml', access());
  await until(() => accepts('127.0.0.2', port), 'it listens on all addresses');
});

async function accepts(host: string, port: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const socket = connect(port, host)
    .on('connect', () => resolve(true))
    .on('error', () => resolve(false));
  const answer = await promise;
  socket.destroy();
  return answer;
}

test('a certificate issued while the clock was ahead is issued again once the clock is right', async (t) => {
  const { layout, router, put, start } = await prepare(t);
  const authority = await openSiteAuthority(layout.internal.ca, { siteName: 'west' });
  const order = { subject: 'far', hosts: ['127.0.0.1'], server: true };
  await writeBundle(
    join(layout.internal.certs, 'far'),
    issueBundle(authority, 'far', order, () => Date.now() + 366 * 86_400_000),
  );
  await put('site.yaml', siteFile);
  await put(
    'access.yaml',
    document('RouterAccess', 'far', {
      roles: [{ name: 'inter-router', port: 7000 }],
      tlsCredentials: 'far',
      generateTlsCredentials: true,
      bindHost: '127.0.0.1',
    }),
  );
  await start();
  const [access] = router.config.accesses;
  assert.ok(certificateFacts(access?.tls.cert ?? '', 'far').notBefore <= Date.now());
});

test('a Certificate that gains use by clients is issued again', async (t) => {
  const { layout, put, start } = await prepare(t);
  const certificate = (more: object): string =>
    document('Certificate', 'api', { ca: 'earshot-site-ca', subject: 'api', hosts: ['api'], server: true, ...more });
  const uses = async (): Promise<readonly string[]> => {
    const pem = await readFile(join(layout.internal.certs, 'api', 'tls.crt'), 'utf8').catch(() => undefined);
    return pem === undefined ? [] : (new X509Certificate(pem).keyUsage ?? []);
  };
  await put('site.yaml', siteFile);
  await put('api.yaml', certificate({}));
  await start();
  assert.equal((await uses()).length, 1);
  await put('api.yaml', certificate({ client: true }));
  await until(async () => (await uses()).length === 2, 'it is for both');
});

test('a Certificate whose file is removed has nothing in force any more', async (t) => {
  const { layout, router, put, start } = await prepare(t);
  await put('site.yaml', siteFile);
  await put('app.yaml', document('Certificate', 'app', { ca: 'earshot-site-ca', subject: 'app', client: true }));
  await start();
  const { serialNumber } = new X509Certificate(await readFile(join(layout.internal.certs, 'app', 'tls.crt')));
  await rm(join(layout.input.resources, 'app.yaml'));
  await until(() => router.config.revoked.serials.includes(serialNumber), 'the router refuses it');
});

test('a site that was revoked by a command is out at once', async (t) => {
  const { layout, router, put, start } = await prepare(t);
  await put('site.yaml', siteFile);
  await start();
  const ledger = await openLedger(layout.internal.root);
  await ledger.record({ siteName: 'east', siteId: 'e-id', serial: 'AB', notAfter: Date.now() + 3_600_000 });
  await ledger.revoke('east');
  await until(() => router.config.revoked.sites.includes('e-id'), 'the router refuses the site');
  assert.deepEqual(router.config.revoked.serials, ['AB']);
});

test("a bundle of the person's own is used, and a new one as soon as it is there", async (t) => {
  const { layout, router, put, start } = await prepare(t);
  const directory = join(layout.input.certs, 'mine');
  const authority = makeAuthority({ name: 'my' });
  const write = async (parts: { readonly cert?: string; readonly key?: string }): Promise<void> => {
    await mkdir(directory, { recursive: true });
    if (parts.cert !== undefined) await writeFile(join(directory, 'tls.crt'), parts.cert);
    if (parts.key !== undefined) await writeFile(join(directory, 'tls.key'), parts.key);
  };
  const [first, second] = [0, 1].map(() => issueBundle(authority, 'mine', { subject: 'web', hosts: ['web'], server: true }));
  assert.ok(first && second);
  await write(first);
  await put('site.yaml', siteFile);
  await put('web.yaml', listenerFile(8080, { tlsCredentials: 'mine' }));
  await start();
  assert.equal(router.config.listeners[0]?.tls?.cert, first.cert);
  const before = router.configs.length;
  await write({ cert: second.cert });
  await until(() => router.configs.length > before, 'the half-written bundle has been seen');
  assert.equal(router.config.listeners[0]?.tls?.cert, first.cert, 'the listener goes on with the old one');
  await write({ key: second.key });
  await until(() => router.config.listeners[0]?.tls?.cert === second.cert, 'the new bundle is in use');
});

test('a bundle whose key stays wrong closes its listener, and says so', async (t) => {
  const { layout, router, put, status, start } = await prepare(t);
  const directory = join(layout.input.certs, 'mine');
  const authority = makeAuthority({ name: 'my' });
  const { cert } = issueBundle(authority, 'mine', { subject: 'web', hosts: ['web'], server: true });
  await mkdir(directory);
  await writeFile(join(directory, 'tls.crt'), cert);
  await writeFile(join(directory, 'tls.key'), createKey());
  await put('site.yaml', siteFile);
  await put('web.yaml', listenerFile(8080, { tlsCredentials: 'mine' }));
  await start();
  assert.deepEqual(router.config.listeners, []);
  await until(
    async () => String((await status('Listener-web.yaml'))?.['message']).startsWith('spec.tlsCredentials: '),
    'the status says so',
  );
});

test('a damaged identity is named and never replaced', async (t) => {
  const { layout, put, start } = await prepare(t);
  await put('site.yaml', siteFile);
  await writeFile(layout.internal.identityKey, 'garbage');
  const site = await start();
  assert.match(site.unready ?? '', /identity\.key is damaged/);
  assert.equal(await readFile(layout.internal.identityKey, 'utf8'), 'garbage');
});

test('the site is the same after a restart', async (t) => {
  const { layout, router, put, start } = await prepare(t);
  await put('site.yaml', siteFile);
  const first = await start();
  const { id } = router.config.site;
  await first.drain(10);
  await first[Symbol.asyncDispose]();
  assert.equal(router.drained, true);
  await rm(layout.runtime.resources, { recursive: true });
  await mkdir(layout.runtime.resources);
  await start();
  assert.equal(router.config.site.id, id);
});

test('a second process of the site runs its router and leaves statuses to the first', async (t) => {
  const { router, put, start } = await prepare(t);
  await put('site.yaml', siteFile);
  const first = await start();
  const second = await start();
  assert.equal(second.unready, undefined);
  assert.equal(router.configs.length >= 2, true);
  await first[Symbol.asyncDispose]();
  second.reload();
  await put('web.yaml', listenerFile(8080));
  await until(() => router.config.listeners.length === 1, 'the second goes on');
});
