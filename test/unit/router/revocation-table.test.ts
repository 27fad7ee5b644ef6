/** Each way in, and each way to revoke: open connections close at both ends, and new ones are refused. */
import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import type { ClientHttp2Session, ClientHttp2Stream } from 'node:http2';
import { connect, type Socket } from 'node:net';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { after, test } from 'node:test';
import type { RouterConfig, TlsBundle } from '../../../src/router/contract.ts';
import { authorityOf } from '../../../src/trust/authority.ts';
import { issueBundle } from '../../../src/trust/issue.ts';
import { freePort } from '../support/free-port.ts';
import { makeAuthority } from '../trust/support/site.ts';
import { testAuthority } from './support/certificates.ts';
import { access, accessPort, connector, echoServer, greeted, link, listener, siteConfig, start, until } from './support/site.ts';
import { standardClient } from './support/standard-client.ts';

const authority = await testAuthority();
/** As a user may bring one: nothing of it is on record here. */
const own = await testAuthority("the user's own");

const stack = new AsyncDisposableStack();
after(() => stack.disposeAsync());
const echo = stack.use(await echoServer('hello'));
/** The revoking site. Its ports: for its own authority's certificates, and for those of the user's. */
const base: RouterConfig = {
  ...siteConfig('here'),
  accesses: [access(await authority.issue()), access(await own.issue(), { name: 'own' })],
  connectors: [connector('key', echo.port)],
};
const here = stack.use(await start(base));
const [port, ownPort] = [await accessPort(here), await accessPort(here, 'own')];
const third = stack.use(
  await start({
    ...siteConfig('third'),
    accesses: [access(await authority.issue())],
    links: [link('here', port, await authority.issue())],
  }),
);
const thirdPort = await accessPort(third);
await until(here, 'its neighbour', (state) => state.network.length === 2);
await until(third, 'its neighbour', (state) => state.network.length === 2);

type Fate = 'served' | 'refused';

/** A revocable party with one open connection. */
interface Guest {
  readonly siteId: string;
  readonly serials: readonly string[];
  /** Resolves once its end of the connection has ended. */
  readonly ended: Promise<unknown>;
  again(): Promise<Fate>;
  /** Changes of the config of `here`, if it takes part. */
  readonly config?: Partial<RouterConfig>;
}

type Way = (owned: AsyncDisposableStack) => Promise<Guest>;

const serialOf = ({ cert = '' }: TlsBundle): string => new X509Certificate(cert).serialNumber;

/** Whatever the reason was. */
function closed(end: Socket | ClientHttp2Stream): Promise<void> {
  return new Promise((resolve) => end.on('error', () => {}).once('close', resolve));
}

/** Whether a client that connects there is greeted. */
async function fate(at: number): Promise<Fate> {
  const socket = connect({ host: '127.0.0.1', port: at });
  const { promise, resolve } = Promise.withResolvers<Fate>();
  socket.once('data', () => resolve('served')).once('error', () => resolve('refused'));
  socket.once('close', () => resolve('refused'));
  return promise.finally(() => socket.destroy());
}

/** A site with a listener and one link; its certificate names it or not. */
function site(at: number, issuer = authority, named = true): Way {
  return async (owned) => {
    const config = siteConfig('guest');
    const bundle = await issuer.issue(named ? { siteId: config.site.id } : {});
    const local = await freePort();
    const guest = owned.use(await start({ ...config, links: [link('host', at, bundle)], listeners: [listener('key', local)] }));
    await until(guest, 'its listener', (state) => state.listeners['Listener/key']?.listening === true);
    await until(here, 'the guest', (state) => state.network.some(({ site: { id } }) => id === config.site.id));
    const socket = await greeted(local);
    return { siteId: config.site.id, serials: [serialOf(bundle)], ended: closed(socket), again: () => fate(local) };
  };
}

/** A site whose link has a new certificate since the connection was made. */
const renewed: Way = async (owned) => {
  const config = siteConfig('guest');
  const bundles = [await authority.issue({ siteId: config.site.id }), await authority.issue({ siteId: config.site.id })] as const;
  const local = await freePort();
  const first = { ...config, links: [link('host', port, bundles[0])], listeners: [listener('key', local)] };
  const guest = owned.use(await start(first));
  await until(guest, 'its listener', (state) => state.listeners['Listener/key']?.listening === true);
  const socket = await greeted(local);
  guest.apply({ ...first, links: [link('host', port, bundles[1])] });
  await until(here, 'the new certificate', (state) => state.incoming.some(({ serial }) => serial === serialOf(bundles[1])));
  return { siteId: config.site.id, serials: bundles.map(serialOf), ended: closed(socket), again: () => fate(local) };
};

/** This site dials, and the other serves. */
const dialed: Way = async (owned) => {
  const config = siteConfig('guest');
  const bundle = await authority.issue({ siteId: config.site.id });
  const guest = owned.use(await start({ ...config, accesses: [access(bundle)], connectors: [connector('theirs', echo.port)] }));
  const local = await freePort();
  const mine = { links: [link('guest', await accessPort(guest), await authority.issue())], listeners: [listener('theirs', local)] };
  here.apply({ ...base, ...mine });
  await until(here, 'the listener', (state) => state.listeners['Listener/theirs']?.listening === true);
  const socket = await greeted(local);
  const ended = closed(socket);
  return { siteId: config.site.id, serials: [serialOf(bundle)], ended, again: () => fate(local), config: mine };
};

/** A program of its own, which says no hello and knows no route. */
function client(at: number, issuer = authority, named = true): Way {
  return async (owned) => {
    const { site: who } = siteConfig('guest');
    const bundle = await issuer.issue(named ? { siteId: who.id } : {});
    const { session } = owned.use(await standardClient(at, bundle));
    const stream = session.request({ ':method': 'CONNECT', ':authority': 'key' }, { endStream: false });
    const ended = closed(stream);
    await once(stream, 'data');
    const again = async (): Promise<Fate> => {
      // On its old connection if that is still there, as at a third site; else on a new one.
      if (!session.closed && !session.destroyed) return request(session);
      using newer = await standardClient(at, bundle);
      // It ends with this block.
      return await request(newer.session);
    };
    return { siteId: who.id, serials: [serialOf(bundle)], ended, again };
  };
}

async function request(session: ClientHttp2Session): Promise<Fate> {
  const { promise, resolve } = Promise.withResolvers<Fate>();
  const refused = (): void => resolve('refused');
  session.once('close', refused);
  if (session.closed || session.destroyed) return 'refused';
  const stream = session.request({ ':method': 'CONNECT', ':authority': 'key' }, { endStream: false });
  stream.once('response', ({ ':status': status }) => resolve(status === 200 ? 'served' : 'refused'));
  stream.once('error', refused).once('close', refused);
  return promise.finally(() => stream.close());
}

const ways: readonly [name: string, way: Way, by: { readonly id: Fate; readonly serial: Fate }][] = [
  ['with a hello, on its own link', site(port), { id: 'refused', serial: 'refused' }],
  [
    'with a hello and a certificate without a name, as of a static link',
    site(port, authority, false),
    { id: 'refused', serial: 'refused' },
  ],
  ["with a hello and a certificate of the user's own authority", site(ownPort, own), { id: 'refused', serial: 'refused' }],
  ['on a link that this site dials', dialed, { id: 'refused', serial: 'refused' }],
  ['with a certificate that was renewed', renewed, { id: 'refused', serial: 'refused' }],
  ['without a hello', client(port), { id: 'refused', serial: 'refused' }],
  ["without a hello, with a certificate of the user's own authority", client(ownPort, own), { id: 'refused', serial: 'refused' }],
  // A certificate without a name is known by its serial number only.
  ['without a hello, with a certificate without a name', client(port, authority, false), { id: 'served', serial: 'refused' }],
  // The third site's certificate is what is shown here.
  ['by way of a third site, with a route', site(thirdPort), { id: 'refused', serial: 'served' }],
  ['by way of a third site, without a route', client(thirdPort), { id: 'refused', serial: 'served' }],
];

for (const [name, way, expected] of ways) {
  for (const by of ['id', 'serial'] as const) {
    test(`${name}, revoked by ${by}: ${expected[by]}`, { timeout: 20_000 }, async () => {
      await using owned = new AsyncDisposableStack();
      const { siteId, serials, ended, again, config } = await way(owned);
      const atServer = [...echo.sockets].at(-1);
      assert.ok(atServer);
      const gone = closed(atServer);
      here.apply({ ...base, ...config, revoked: by === 'id' ? { sites: [siteId], serials: [] } : { sites: [], serials } });
      if (expected[by] === 'refused') await Promise.all([ended, gone]);
      assert.equal(await again(), expected[by]);
      here.apply(base);
    });
  }
}

test('a session is not resumed, also where the access has a new certificate, so each certificate is looked at', async () => {
  const bundle = await authority.issue();
  const tickets: Buffer[] = [];
  const dial = async (): Promise<TLSSocket> => {
    const { cert, key, ca } = bundle;
    const session = tickets.at(-1);
    const socket = connectTls({
      host: '127.0.0.1',
      port,
      cert,
      key,
      ca,
      ALPNProtocols: ['h2'],
      ...(session === undefined ? {} : { session }),
    });
    socket.on('session', (ticket) => tickets.push(ticket));
    await once(socket, 'secureConnect');
    // Tickets come before the first frame.
    await once(socket, 'data');
    return socket;
  };
  const renewedBase = { ...base, accesses: [access(await authority.issue()), ...base.accesses.slice(1)] };
  for (const config of [base, renewedBase]) {
    here.apply(config);
    for (const _ of [1, 2]) {
      const socket = await dial();
      assert.equal(socket.isSessionReused(), false);
      socket.destroy();
    }
  }
  here.apply(base);
});

test('a certificate is revoked with the one that it comes from', async () => {
  const root = makeAuthority();
  const signer = issueBundle(root, 'signer', { subject: 'signer', signing: true });
  const tls = issueBundle(root, 'access', { subject: 'access', hosts: ['127.0.0.1'], server: true });
  const bundle = { ...issueBundle(authorityOf(signer, 'signer', Date.now), 'guest', { subject: 'guest', client: true }), ca: tls.ca };
  const chained = { ...base, accesses: [...base.accesses, access(tls, { name: 'chained' })] };
  here.apply(chained);
  const at = await accessPort(here, 'chained');
  const ask = async (shown: TlsBundle = bundle): Promise<Fate> => {
    using guest = await standardClient(at, shown);
    // The session ends with this block.
    return await request(guest.session);
  };
  assert.equal(await ask(), 'served');
  here.apply({ ...chained, revoked: { sites: [], serials: [signer.serial] } });
  assert.equal(await ask(), 'refused');
  here.apply(chained);
  // A router that knows the certificate between needs not receive it.
  const [leaf = '', between = ''] = bundle.cert.split(/(?<=END CERTIFICATE-----\n)/);
  const known = { ...base, accesses: [...base.accesses, access({ ...tls, ca: tls.ca + between }, { name: 'chained' })] };
  here.apply(known);
  const alone = { ...bundle, cert: leaf };
  assert.equal(await ask(alone), 'served');
  here.apply({ ...known, revoked: { sites: [], serials: [signer.serial] } });
  assert.equal(await ask(alone), 'refused');
  here.apply(base);
});

/** Its own neighbours' routes are as ever. */
test('a party that is not revoked is still served', async () => {
  await using owned = new AsyncDisposableStack();
  const { again } = await site(thirdPort)(owned);
  here.apply({ ...base, revoked: { sites: [siteConfig('somebody').site.id], serials: ['4F'] } });
  assert.equal(await again(), 'served');
  here.apply(base);
});
