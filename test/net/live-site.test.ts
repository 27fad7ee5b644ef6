/** Every field of a site, its links and its trust is changed while it runs, and a connection over its link notices nothing. */
import assert from 'node:assert/strict';
import { mkdir } from 'node:fs/promises';
import { test } from 'node:test';
import {
  connector,
  createAuthority,
  createNetwork,
  eventually,
  issue,
  listener,
  manifest,
  startRedis,
  startSite,
  startSteady,
  type Host,
  type Manifest,
  type Site,
  type Status,
} from './harness/index.ts';

/** Users need about a second; a busy machine may take longer. */
const SOON = { timeoutMs: 40_000, everyMs: 100 };
const BOTH_ENDPOINTS = ['inter-router', 'edge'] as const;

interface World {
  readonly west: Site;
  readonly east: Site;
  readonly host: Host;
}

type Step = readonly [name: string, step: (world: World) => Promise<void>];

const soon = (what: string, look: () => Promise<boolean>): Promise<boolean> => eventually(what, look, SOON);

/** The link that a token made, as a resource of the person's own: that counts before it. */
function link(address: string, more: object = {}): Manifest {
  const endpoints = BOTH_ENDPOINTS.map((name) => ({ name, host: address, port: name === 'edge' ? '45671' : '55671' }));
  return manifest('Link', 'east', { endpoints, tlsCredentials: 'east', cost: 1, ...more });
}

/** The first one does not answer. */
const SECOND = ['10.66.1.77', '10.66.1.2'].map((host) => ({ name: 'inter-router', host, port: '55671' }));

/** Ends of connections that this host has opened to a port. */
async function peersAt(host: Host, port: number): Promise<string> {
  const lines = await host.run(['ss', '-Htn', 'state', 'established', `dport = :${port}`]);
  // Without how much waits to be read and sent.
  return lines
    .split('\n')
    .map((line) => line.trim().split(/\s+/).slice(2).join(' '))
    .sort()
    .join('\n')
    .trim();
}

/** The site's own word on the link that came up last: where it leads is in no status. */
const lastUp = (site: Site): string => site.process.output.split('\n').findLast((line) => line.includes('"link up"')) ?? '';

/** Output of `openssl x509` with these options for the certificate shown at a port. */
const shown = async (host: Host, port: number, ...options: readonly string[]): Promise<string> =>
  (
    await host.attempt([
      'sh',
      '-c',
      `openssl s_client -connect 10.66.1.1:${port} </dev/null 2>/dev/null | openssl x509 -noout ${options.join(' ')}`,
    ])
  ).stdout;

const endpointsOf = ({ endpoints }: Status): readonly { readonly host: string; readonly port: string }[] =>
  // As the system wrote it.
  (endpoints ?? []) as readonly { readonly host: string; readonly port: string }[];

const linkSteps: readonly Step[] = [
  [
    'a link moves to another address',
    async ({ west, host }) => {
      await west.apply(link('fd66:1::2'));
      await soon('a connection to the new address', async () => (await peersAt(host, 55671)).includes('[fd66:1::2]'));
      // Not only a connection: what is applied next would end the attempt, and the link would be where it was.
      await soon('the link at the new address', async () => lastUp(west).includes('[fd66:1::2]:55671'));
      await west.waitFor('Link', 'east', 'Ready', SOON);
    },
  ],
  [
    'an endpoint without an answer is skipped',
    async ({ west, host }) => {
      await west.apply(link('', { endpoints: SECOND }));
      await soon('connections to the second only', async () => !(await peersAt(host, 55671)).includes('fd66'));
      await west.waitFor('Link', 'east', 'Ready', SOON);
    },
  ],
  [
    'a cost changes, with the link as it is',
    async ({ west, host }) => {
      const before = await peersAt(host, 55671);
      await west.apply(link('', { endpoints: SECOND, cost: 9 }));
      await soon('the cost in the status', async () => (await west.read('Link', 'east'))?.spec?.['cost'] === 9);
      assert.equal((await west.status('Link', 'east'))?.status, 'Ready');
      assert.equal(await peersAt(host, 55671), before);
    },
  ],
  [
    'credentials change, and those that are not there are named',
    async ({ west }) => {
      await west.apply(link('10.66.1.2', { tlsCredentials: 'nowhere' }));
      const { message } = await west.waitFor('Link', 'east', 'Error', SOON);
      assert.match(message ?? '', /spec\.tlsCredentials: .*nowhere/);
      const issued = `${west.layout.internal.certs}/east`;
      await west.bundle('own', { cert: `${issued}/tls.crt`, key: `${issued}/tls.key`, ca: `${issued}/ca.crt` });
      await west.apply(link('10.66.1.2', { tlsCredentials: 'own' }));
      await west.waitFor('Link', 'east', 'Ready', SOON);
      await west.apply(link('10.66.1.2'));
      await west.waitFor('Link', 'east', 'Ready', SOON);
      await west.waitFor('Listener', 'steady', 'Ready', SOON);
    },
  ],
];

const siteSteps: readonly Step[] = [
  [
    'an edge site takes its links to the other port, and back',
    async ({ west, host }) => {
      await west.apply(manifest('Site', 'west', { edge: true }));
      await soon('a connection to the port for edge sites', async () => (await peersAt(host, 45671)) !== '');
      await west.waitFor('Link', 'east', 'Ready', SOON);
      await west.apply(manifest('Site', 'west', {}));
      await west.waitFor('Link', 'east', 'Ready', SOON);
      await soon('no connection there any more', async () => (await peersAt(host, 45671)) === '');
      await west.waitFor('Link', 'east', 'Ready', SOON);
    },
  ],
  [
    'a site has another name, everywhere',
    async ({ west, east }) => {
      await west.write('Site-west.yaml', JSON.stringify(manifest('Site', 'far-west')));
      await soon('the name at the other site', async () => (await east.earshot(['network'])).includes('far-west ('));
      await west.waitFor('Site', 'far-west', 'Ready', SOON);
      await west.write('Site-west.yaml', JSON.stringify(manifest('Site', 'west')));
      await soon('the old name again', async () => /^west \(/m.test(await east.earshot(['network'])));
    },
  ],
  [
    'links are let in, and not any more',
    async ({ west, host }) => {
      await west.apply(manifest('Site', 'west', { linkAccess: 'default' }));
      await host.listening(55671, SOON);
      await host.listening(45671, SOON);
      const isTold = (status: Status): boolean =>
        status.status === 'Ready' && endpointsOf(status).some(({ host: at }) => at === '10.66.1.1');
      await west.waitFor('Site', 'west', isTold, SOON);
      await west.apply(manifest('Site', 'west', { linkAccess: 'none' }));
      await soon('closed ports', async () => !(await host.listens(55671)) && !(await host.listens(45671)));
      await west.waitFor('Site', 'west', (status) => endpointsOf(status).length === 0, SOON);
    },
  ],
  [
    'another authority signs',
    async ({ west, host }) => {
      await west.apply(manifest('Site', 'west', { linkAccess: 'default' }));
      await host.listening(55671, SOON);
      const own = await createAuthority(`${host.dir}/own-authority`, 'The Own One');
      const folder = `${west.layout.input.issuers}/mine`;
      await mkdir(folder, { recursive: true });
      await host.run(['cp', own.cert, `${folder}/tls.crt`]);
      await host.run(['cp', own.key, `${folder}/tls.key`]);
      await west.apply(manifest('Site', 'west', { linkAccess: 'default', defaultIssuer: 'mine' }));
      await soon('its certificate', async () => (await shown(host, 55671, '-issuer')).includes('The Own One'));
      await west.apply(manifest('Site', 'west', { linkAccess: 'default' }));
      await soon("the site's own again", async () => /issuer=(?!.*The Own One)/.test(await shown(host, 55671, '-issuer')));
    },
  ],
  [
    'tokens are redeemed at another port, and give certificates of another length',
    async ({ west, east, host }) => {
      await west.apply(manifest('AccessGrant', 'guest', {}));
      const before = await west.waitFor('AccessGrant', 'guest', 'Ready', SOON);
      assert.match(String(before['url']), /:9090\//);
      const settings = { 'grant-port': '9191', 'link-certificate-lifetime': '1h' };
      await west.apply(manifest('Site', 'west', { linkAccess: 'default', settings }));
      const after = await west.waitFor(
        'AccessGrant',
        'guest',
        ({ status, url }) => status === 'Ready' && /:9191\//.test(String(url)),
        SOON,
      );
      await soon('the old port to be closed', async () => !(await host.listens(9090)));
      await east.apply(manifest('AccessToken', 'back', { url: after['url'], code: after['code'], ca: after['ca'] }));
      await east.waitFor('Link', 'back', 'Ready', SOON);
      const file = `${east.layout.internal.certs}/back/tls.crt`;
      const lasts = async (seconds: number): Promise<boolean> =>
        (await host.attempt(['openssl', 'x509', '-noout', '-checkend', String(seconds), '-in', file])).code === 0;
      assert.deepEqual([await lasts(3300), await lasts(3700)], [true, false]);
      await west.waitFor('AccessGrant', 'guest', ({ message = '' }) => /all its redemptions are used up/.test(message), SOON);
      await west.apply(manifest('AccessGrant', 'guest', { redemptionsAllowed: 3 }));
      await west.waitFor('AccessGrant', 'guest', ({ message = '' }) => message === 'OK', SOON);
      await east.remove('AccessToken', 'back');
      await west.remove('AccessGrant', 'guest');
      await soon('the port to be closed without a grant', async () => !(await host.listens(9191)));
    },
  ],
  [
    'an invalid setting is reported, and its default holds',
    async ({ west }) => {
      await west.apply(manifest('Site', 'west', { linkAccess: 'default', settings: { 'grant-port': 'high' } }));
      await west.waitFor(
        'Site',
        'west',
        ({ status, message = '' }) => status === 'Ready' && /grant-port: "high" is not a port/.test(message),
        SOON,
      );
      await west.apply(manifest('Site', 'west', { linkAccess: 'default' }));
    },
  ],
];

const access = (port: number, more: object = {}): Manifest =>
  manifest('RouterAccess', 'extra', {
    roles: [{ name: 'inter-router', port }],
    tlsCredentials: 'extra',
    generateTlsCredentials: true,
    ...more,
  });

const accessSteps: readonly Step[] = [
  [
    'an access opens, and its port moves',
    async ({ west, host }) => {
      await west.apply(access(7001));
      await host.listening(7001, SOON);
      await west.apply(access(7002));
      await host.listening(7002, SOON);
      await soon('the old port to be closed', async () => !(await host.listens(7001)));
      await west.waitFor('RouterAccess', 'extra', (status) => endpointsOf(status).some(({ port }) => port === '7002'), SOON);
    },
  ],
  [
    'a role is added',
    async ({ west, host }) => {
      await west.apply(
        access(7002, {
          roles: [
            { name: 'inter-router', port: 7002 },
            { name: 'edge', port: 7003 },
          ],
        }),
      );
      await host.listening(7003, SOON);
      assert.ok(await host.listens(7002));
      await west.apply(access(7002));
      await soon('the role to be gone', async () => !(await host.listens(7003)));
    },
  ],
  [
    'it is bound to one address',
    async ({ west, host }) => {
      await west.apply(access(7002, { bindHost: '10.66.1.1' }));
      await soon('that address only', async () => /10\.66\.1\.1:7002/.test(await host.run(['ss', '-Hltn', 'sport = :7002'])));
      await west.waitFor('RouterAccess', 'extra', (status) => endpointsOf(status).every(({ host: at }) => at === '10.66.1.1'), SOON);
    },
  ],
  [
    'further names are in its certificate, and reported',
    async ({ west, host }) => {
      await west.apply(access(7002, { subjectAlternativeNames: ['west.example'] }));
      await soon('the name in the certificate', async () => (await shown(host, 7002, '-ext', 'subjectAltName')).includes('west.example'));
      await west.waitFor('RouterAccess', 'extra', (status) => endpointsOf(status).some(({ host: at }) => at === 'west.example'), SOON);
    },
  ],
  [
    "it shows a certificate of the person's own",
    async ({ west, host }) => {
      const own = await issue(await createAuthority(`${host.dir}/access-authority`, 'Access CA'), 'extra', { hosts: ['10.66.1.1'] });
      await west.bundle('own-access', own);
      await west.apply(access(7002, { tlsCredentials: 'own-access', generateTlsCredentials: false }));
      await soon('that certificate', async () => (await shown(host, 7002, '-issuer')).includes('Access CA'));
    },
  ],
  [
    'it goes',
    async ({ west, host }) => {
      await west.remove('RouterAccess', 'extra');
      await soon('a closed port', async () => !(await host.listens(7002)));
    },
  ],
];

const trustSteps: readonly Step[] = [
  [
    "a grant has a code of the person's own, and lasts longer",
    async ({ west }) => {
      const grant = (spec: object): Promise<void> => west.apply(manifest('AccessGrant', 'guest', { ...spec }));
      await grant({});
      const first = await west.waitFor('AccessGrant', 'guest', 'Ready', SOON);
      await grant({ code: 'a code of my own' });
      await west.waitFor('AccessGrant', 'guest', ({ code }) => code === 'a code of my own', SOON);
      await grant({ code: 'a code of my own', expirationWindow: '2h' });
      await west.waitFor(
        'AccessGrant',
        'guest',
        ({ expirationTime }) => Date.parse(String(expirationTime)) - Date.parse(String(first['expirationTime'])) === 105 * 60_000,
        SOON,
      );
      await west.remove('AccessGrant', 'guest');
    },
  ],
  [
    'a certificate is issued again for other hosts, subjects and uses',
    async ({ west, host }) => {
      const certificate = (spec: object): Promise<void> =>
        west.apply(manifest('Certificate', 'service', { ca: 'earshot-site-ca', subject: 'service', server: true, ...spec }));
      const file = `${west.layout.internal.certs}/service/tls.crt`;
      const says = async (...options: readonly string[]): Promise<string> =>
        (await host.attempt(['openssl', 'x509', '-noout', '-in', file, ...options])).stdout;
      await certificate({ hosts: ['one.example'] });
      await soon('the certificate', async () => (await says('-ext', 'subjectAltName')).includes('one.example'));
      await certificate({ hosts: ['two.example'] });
      await soon('the other host', async () => (await says('-ext', 'subjectAltName')).includes('two.example'));
      await certificate({ hosts: ['two.example'], subject: 'renamed' });
      await soon('the other subject', async () => /CN ?= ?renamed/.test(await says('-subject')));
      await certificate({ hosts: ['two.example'], subject: 'renamed', client: true });
      await soon('the further use', async () => (await says('-ext', 'extendedKeyUsage')).includes('Client Authentication'));
    },
  ],
];

test('every field of a site, its links, accesses and grants changes while it runs', async (t) => {
  await using net = await createNetwork({ hosts: ['west', 'east'], test: t });
  const host = net.host('west');
  await startRedis(net.host('east'), { port: 6379 });
  const [east, west] = await Promise.all([
    startSite(net.host('east'), { access: true, resources: [connector('steady', '127.0.0.1', 6379)] }),
    startSite(host, { resources: [listener('steady', '127.0.0.1', 6379)] }),
  ]);
  const token = `${host.dir}/token.yaml`;
  await east.earshot(['token', 'issue', token]);
  await west.earshot(['token', 'redeem', token, '--name', 'east']);
  await west.waitFor('Listener', 'steady');
  const steady = await startSteady(host, 6379);
  for (const [name, step] of [...linkSteps, ...siteSteps, ...accessSteps, ...trustSteps]) {
    await t.test(name, async () => {
      await step({ west, east, host });
      await steady.unharmed();
    });
  }
});
