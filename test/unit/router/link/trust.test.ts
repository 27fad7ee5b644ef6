import assert from 'node:assert/strict';
import { generateKeyPairSync, randomBytes, X509Certificate } from 'node:crypto';
import { createServer, type AddressInfo } from 'node:net';
import { once } from 'node:events';
import { createServer as createTlsServer } from 'node:tls';
import { test } from 'node:test';
import type { LinkConfig, Router, TlsBundle } from '../../../../src/router/contract.ts';
import { EarlyRenewalError } from '../../../../src/identity/issued.ts';
import { testAuthority } from '../support/certificates.ts';
import { freePort } from '../../support/free-port.ts';
import { UNREVOKE } from '../../../../src/router/link/refusal.ts';
import { openBundle, type LinkBundle } from '../../../../src/router/link/bundle.ts';
import { openLink, type OpenedLink } from '../../../../src/router/link/dial/outgoing.ts';
import { dialTls } from '../../../../src/router/link/dial/tls-dial.ts';
import { FORWARD } from '../../../../src/router/wire.ts';
import { linkHost } from '../support/link-host.ts';
import { access, accessPort, link, siteConfig, start, until } from '../support/site.ts';

const authority = await testAuthority();
const foreign = await testAuthority('another authority');
const YESTERDAY = new Date(Date.now() - 86_400_000);
const TOMORROW = new Date(Date.now() + 86_400_000);

/** The message of the problem that the link has, which has to be this one. */
async function problem(router: Router, code: string): Promise<string> {
  await until(router, `problem ${code}`, (state) => state.links.peer?.problem?.code === code);
  assert.equal(router.state.links.peer?.operational, false);
  return router.state.links.peer?.problem?.message ?? '';
}

/** A site whose one link has this bundle, to a port where `server` listens. */
async function attempt(
  server: TlsBundle,
  client: TlsBundle,
  more: Partial<LinkConfig> = {},
): Promise<AsyncDisposable & { readonly client: Router; readonly server: Router }> {
  const there = await start({ ...siteConfig('server'), accesses: [access(server)] });
  const here = await start({ ...siteConfig('client'), links: [link('peer', await accessPort(there), client, more)] });
  return {
    client: here,
    server: there,
    [Symbol.asyncDispose]: async () => {
      await here[Symbol.asyncDispose]();
      await there[Symbol.asyncDispose]();
    },
  };
}

test('an expired certificate of our own is named with its end and the clock', async () => {
  const expired = await authority.issue({ from: new Date(YESTERDAY.getTime() - 1_000), to: YESTERDAY });
  await using pair = await attempt(await authority.issue(), expired);
  const message = await problem(pair.client, 'tls-expired');
  assert.ok(message.includes(expired.name));
  assert.match(message, /expired at \d{4}-.*the clock here is at \d{4}-/);
});

test('a certificate of our own that is not yet valid is named with both clocks', async () => {
  await using pair = await attempt(
    await authority.issue(),
    await authority.issue({ from: TOMORROW, to: new Date(TOMORROW.getTime() + 1_000) }),
  );
  assert.match(await problem(pair.client, 'tls-not-yet-valid'), /valid from .*by the clock of its issuer.* the clock here is at/);
});

test('a certificate of the peer that is not for the host is named with the hosts that it is for', async () => {
  await using pair = await attempt(await authority.issue({ hosts: ['west.example'] }), await authority.issue());
  assert.match(await problem(pair.client, 'tls-host-mismatch'), /west\.example/);
});

test('a peer of another authority is not trusted, and the authority is named', async () => {
  await using pair = await attempt(await foreign.issue({ ca: authority.ca }), await authority.issue());
  assert.match(await problem(pair.client, 'tls-foreign-ca'), /another authority/);
});

test('a peer says why it does not accept our certificate', async () => {
  await using pair = await attempt(await authority.issue(), await foreign.issue({ ca: authority.ca }));
  assert.match(await problem(pair.client, 'tls-foreign-ca'), /refuses this link/);
});

test('a certificate that is not for clients is refused as such', async () => {
  await using pair = await attempt(await authority.issue(), await authority.issue({ uses: ['server'] }));
  await problem(pair.client, 'tls-wrong-purpose');
});

test('a certificate of another site is refused on the second connection of a link, too', async () => {
  await using there = await start({ ...siteConfig('server'), accesses: [access(await authority.issue())] });
  const port = await accessPort(there);
  const [own, other] = [siteConfig('client'), siteConfig('other')];
  using host = linkHost(own);
  const bundles = await Promise.all(
    [own, other, own].map(async ({ site }) => openBundle(await authority.issue({ siteId: site.id }), 'client')),
  );
  const open = (first: LinkBundle | undefined, second: LinkBundle | undefined): Promise<OpenedLink> =>
    openLink({
      host,
      peer: 'there',
      cost: 1,
      id: randomBytes(10).toString('hex'),
      signal: new AbortController().signal,
      dial: (protocol, deadline, signal) => {
        const bundle = protocol === FORWARD ? first : second;
        assert.ok(bundle);
        return dialTls({ endpoint: { host: '127.0.0.1', port }, bundle, protocol, deadline, signal });
      },
    });
  await assert.rejects(open(bundles[0], bundles[1]), { code: 'wrong-site' });
  const { link: opened } = await open(bundles[2], bundles[2]);
  const { serialNumber } = new X509Certificate(bundles[2]?.cert ?? '');
  await until(there, 'the second link', (state) => state.incoming.some(({ serial }) => serial === serialNumber));
  assert.equal(there.state.incoming.length, 1, 'the first never came up');
  opened.cut(new Error('the test is over'));
});

test('a weak key is refused before it is used', async () => {
  await using pair = await attempt(await authority.issue(), await authority.issue({ weak: true }));
  assert.match(await problem(pair.client, 'tls-weak'), /1024 bits/);
});

test('a server that shows a certificate of another site is not that site', async () => {
  await using pair = await attempt(await authority.issue({ siteId: siteConfig('another').site.id }), await authority.issue());
  await problem(pair.client, 'wrong-site');
});

test('a certificate that was issued to another site is refused', async () => {
  await using pair = await attempt(await authority.issue(), await authority.issue({ siteId: siteConfig('another').site.id }));
  assert.match(await problem(pair.client, 'wrong-site'), /issued to site .* Redeem a new token/);
});

/** Tests of the check itself cover other faults. */
const incomplete: readonly [string, (bundle: TlsBundle) => TlsBundle][] = [
  ['tls-no-ca', ({ name, cert = '', key = '' }) => ({ name, cert, key })],
  [
    'tls-key-mismatch',
    (bundle) => ({
      ...bundle,
      key: generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    }),
  ],
];

for (const [code, spoil] of incomplete) {
  test(`a bundle with ${code} is named in the problems of link and access, which recover with a whole one`, async () => {
    const whole = await authority.issue();
    const broken = spoil(whole);
    const [serverConfig, clientConfig] = [siteConfig('server'), siteConfig('client')];
    const port = await freePort();
    await using server = await start({ ...serverConfig, accesses: [access(broken, { port })] });
    await using client = await start({ ...clientConfig, links: [link('peer', port, broken)] });
    assert.ok((await problem(client, code)).includes(broken.name));
    assert.equal(server.state.accesses.access?.problem?.code, code);
    server.apply({ ...serverConfig, accesses: [access(whole, { port })] });
    client.apply({ ...clientConfig, links: [link('peer', port, await authority.issue())] });
    await until(client, 'the link', (state) => state.links.peer?.operational === true && state.links.peer.problem === undefined);
    assert.deepEqual(server.state.accesses.access, { listening: true, port });
  });
}

test('a port without a listener is refused, an invalid name is unknown', async () => {
  await using client = await start({
    ...siteConfig('client'),
    links: [
      link('peer', await freePort(), await authority.issue()),
      link('named', 1, await authority.issue(), { endpoints: [{ host: 'nowhere.invalid', port: 1 }] }),
    ],
  });
  await problem(client, 'refused');
  await until(client, 'the name', (state) => state.links.named?.problem?.code === 'name-unknown');
});

test('a server without TLS, or without the link protocol, is reported as not being Earshot', async () => {
  const bundle = await authority.issue();
  const plain = createServer((socket) => socket.end('220 mail.example ESMTP\r\n')).listen(0, '127.0.0.1');
  const web = createTlsServer({ cert: bundle.cert, key: bundle.key, ALPNProtocols: ['http/1.1'] }).listen(0, '127.0.0.1');
  await Promise.all([once(plain, 'listening'), once(web, 'listening')]);
  // Servers that listen on TCP have an address.
  const [plainPort, webPort] = [(plain.address() as AddressInfo).port, (web.address() as AddressInfo).port];
  await using client = await start({
    ...siteConfig('client'),
    links: [link('peer', plainPort, await authority.issue()), link('web', webPort, await authority.issue())],
  });
  await problem(client, 'not-earshot');
  await until(client, 'the web server', (state) => state.links.web?.problem?.code === 'not-earshot');
  plain.close();
  web.close();
});

test('a link to the router itself is a problem that says so', async () => {
  const config = siteConfig('self');
  const port = await freePort();
  await using router = await start({
    ...config,
    accesses: [access(await authority.issue(), { port })],
    links: [link('peer', port, await authority.issue())],
  });
  await problem(router, 'self');
});

test('a link to another router of the same site is a problem that says so', async () => {
  const site = siteConfig('self');
  await using one = await start({ ...site, accesses: [access(await authority.issue())] });
  const links = [link('peer', await accessPort(one), await authority.issue())];
  await using other = await start({ ...site, router: 'other', links });
  await problem(other, 'self');
});

test('the next endpoint is tried where the first cannot be reached', async () => {
  await using server = await start({ ...siteConfig('server'), accesses: [access(await authority.issue())] });
  const port = await accessPort(server);
  const endpoints = [
    { host: '127.0.0.1', port: await freePort() },
    { host: 'localhost', port },
  ];
  await using client = await start({ ...siteConfig('client'), links: [link('peer', 0, await authority.issue(), { endpoints })] });
  await until(client, 'the link', (state) => state.links.peer?.operational === true);
  assert.equal(client.state.links.peer?.endpoint, `localhost:${port}`);
});

test('an access whose port is taken says so, and opens once it is free', async () => {
  const port = await freePort();
  const taker = createServer().listen(port, '127.0.0.1');
  await once(taker, 'listening');
  await using server = await start({ ...siteConfig('server'), accesses: [access(await authority.issue(), { port })] });
  await until(server, 'the problem', (state) => state.accesses.access?.problem?.code === 'port-in-use');
  taker.close();
  await until(server, 'the access', (state) => state.accesses.access?.listening === true && state.accesses.access.problem === undefined);
});

test('a certificate is renewed over the link, for the certificate that was shown', async () => {
  const config = siteConfig('client');
  const bundle = await authority.issue({ siteId: config.site.id });
  await using server = await start(
    { ...siteConfig('server'), accesses: [access(await authority.issue())] },
    { renew: (peer, request) => Promise.resolve({ cert: `${peer.siteId} ${request}`, ca: String(peer.certificate.length > 100) }) },
  );
  await using client = await start({ ...config, links: [link('peer', await accessPort(server), bundle)] });
  await assert.rejects(client.renew('nothing', 'request'), { code: 'renew-no-link' });
  await until(client, 'the link', (state) => state.links.peer?.operational === true);
  assert.deepEqual(await client.renew('peer', 'request'), { cert: `${config.site.id} request`, ca: 'true' });
  await assert.rejects(client.renew('peer', 'x'.repeat(20_000)), { code: 'renew-refused' });
});

test('a site that renews later says when', async () => {
  const later = (): Promise<never> => Promise.reject(new EarlyRenewalError('it is renewed tomorrow', 3_599_001));
  await using server = await start({ ...siteConfig('server'), accesses: [access(await authority.issue())] }, { renew: later });
  await using client = await start({ ...siteConfig('client'), links: [link('peer', await accessPort(server), await authority.issue())] });
  await until(client, 'the link', (state) => state.links.peer?.operational === true);
  const error: unknown = await client.renew('peer', 'request').catch((reason: unknown) => reason);
  assert.ok(error instanceof EarlyRenewalError);
  assert.match(error.message, /does not renew the certificate: it is renewed tomorrow\./);
  assert.equal(error.retryAfter, 3_600_000);
});

test('a site that renews nothing refuses with its reason', async () => {
  await using pair = await attempt(await authority.issue(), await authority.issue());
  await until(pair.client, 'the link', (state) => state.links.peer?.operational === true);
  await assert.rejects(pair.client.renew('peer', 'request'), { code: 'renew-refused', message: /does not renew certificates/ });
});

test('a site that was revoked reads who alone can let it in again', async () => {
  const client = await authority.issue();
  const serial = new X509Certificate(client.cert ?? '').serialNumber;
  const revoked = { sites: [], serials: [serial] };
  await using there = await start({ ...siteConfig('server'), accesses: [access(await authority.issue())], revoked });
  await using here = await start({ ...siteConfig('client'), links: [link('peer', await accessPort(there), client)] });
  const message = await problem(here, 'revoked');
  assert.match(
    message,
    /^The site at 127\.0\.0\.1:\d+ has revoked this site\. To lift the revocation, use `earshot site unrevoke client` there\.$/,
  );
  // A GOAWAY holds 120 characters, and a serial number of Earshot's own 32.
  assert.ok(`revoked: Certificate ${'0'.repeat(32)} is revoked here. ${UNREVOKE}`.length <= 120);
});
