import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { test } from 'node:test';
import type { Router, RouterConfig, SiblingAddress, TlsBundle } from '../../../src/router/contract.ts';
import { siteIdOf } from '../../../src/identity/site-id.ts';
import { generateSiteKey } from '../../../src/identity/site-key.ts';
import { openBundle } from '../../../src/router/link/bundle.ts';
import { openLink, type OutgoingOptions } from '../../../src/router/link/dial/outgoing.ts';
import { dialTls } from '../../../src/router/link/dial/tls-dial.ts';
import { openFirst } from '../../../src/router/link/dial/dial-endpoints.ts';
import { TlsSiblingTarget } from '../../../src/router/link/dial/tls-sibling-target.ts';
import type { Link } from '../../../src/router/link/link.ts';
import { LinkError } from '../../../src/router/link/link-errors.ts';
import { AUTHORITY, FORWARD, RENEW_PATH } from '../../../src/router/wire.ts';
import { freePort } from '../support/free-port.ts';
import { testAuthority } from './support/certificates.ts';
import { linkHost } from './support/link-host.ts';
import { access, accessPort, ask, connector, echoServer, link, listener, siteConfig, start, until } from './support/site.ts';
import { routerProcess } from './support/router-process.ts';
import { standardClient } from './support/standard-client.ts';

const local = await testAuthority('local CA');
const { pem, key } = generateSiteKey();
const both = siteConfig('both');
const site: RouterConfig = { ...both, site: { ...both.site, id: siteIdOf(key.publicKey) }, siteKey: key };
const bundle = await local.issue({ hosts: ['skupper-router-local'] });

/** A router of the site that knows its siblings. */
const sibling = (
  router: string,
  ports: Readonly<Record<string, number>>,
  more: Partial<RouterConfig> = {},
  tls: TlsBundle = bundle,
): RouterConfig => ({
  ...site,
  router,
  siblings: { kind: 'tls', port: ports[router] ?? 0, tls, others: othersOf(router, ports) },
  ...more,
});

const othersOf = (router: string, ports: Readonly<Record<string, number>>): readonly SiblingAddress[] =>
  Object.entries(ports).flatMap(([other, port]) => (other === router ? [] : [{ router: other, host: '127.0.0.1', port }]));

/** Links that this router says that it has with routers of its own site. */
const linksWithin = ({ state }: Router): number => state.network[0]?.links.filter(({ siteId }) => siteId === site.site.id).length ?? 0;

test("two routers that know each other have one link, over which each reaches the other's keys", async () => {
  const ports = { one: await freePort(), two: await freePort() };
  const [here, there] = [await freePort(), await freePort()];
  await using echo = await echoServer();
  const connectors = [connector('first', echo.port)];
  await using one = await start(sibling('one', ports, { connectors, listeners: [listener('second', here)] }));
  const other = { connectors: [connector('second', echo.port)], listeners: [listener('first', there)] };
  await using two = await start(sibling('two', ports, other));
  await until(one, 'the listener', ({ listeners }) => listeners['Listener/second']?.listening === true);
  await until(two, 'the listener', ({ listeners }) => listeners['Listener/first']?.listening === true);
  assert.deepEqual([await ask(here, 'there'), await ask(there, 'back')], ['there', 'back']);
  assert.deepEqual([linksWithin(one), linksWithin(two)], [1, 1]);
  assert.deepEqual([one.state.incoming, two.state.incoming, two.state.accesses], [[], [], {}]);
});

test('others come and go, and a new certificate is taken up', async () => {
  const ports = { one: await freePort(), two: await freePort(), three: await freePort() };
  const few = { one: ports.one, two: ports.two };
  await using one = await start(sibling('one', few));
  await using two = await start(sibling('two', few));
  await until(one, 'the other', ({ network }) => network.length === 2);
  const three = await start(sibling('three', ports));
  one.apply(sibling('one', ports));
  two.apply(sibling('two', ports));
  await until(one, 'both others', ({ network }) => network.length === 3);
  await three[Symbol.asyncDispose]();
  one.apply(sibling('one', few));
  two.apply(sibling('two', few));
  await until(one, 'one other', ({ network }) => network.length === 2);
  const next = await testAuthority('next local CA');
  const ca = `${local.ca}${next.ca}`;
  const renewed = await next.issue({ hosts: ['skupper-router-local'], ca });
  // Taken up by one before the other: both know both authorities meanwhile.
  two.apply(sibling('two', few, {}, { ...bundle, ca }));
  one.apply(sibling('one', few, {}, { ...bundle, ca }));
  two.apply(sibling('two', few, {}, renewed));
  one.apply(sibling('one', few, {}, renewed));
  two.apply(sibling('two', few, {}, { ...renewed, ca: next.ca }));
  one.apply(sibling('one', few, {}, { ...renewed, ca: next.ca }));
  await using late = await start(sibling('three', ports, {}, { ...renewed, ca: next.ca }));
  one.apply(sibling('one', ports, {}, { ...renewed, ca: next.ca }));
  await until(late, 'the others, by the new authority alone', ({ network }) => network.length === 3);
});

test('a router that is not linked to a sibling reports the reason until that changes', async () => {
  const ports = { one: await freePort(), two: await freePort() };
  const other = createServer((socket) => void socket.destroy()).listen(ports.two);
  await once(other, 'listening');
  await using one = await start(sibling('one', ports));
  await using two = await start(sibling('two', ports));
  await until(two, "its port to be another one's", ({ siblings }) => siblings?.problem?.code === 'port-in-use');
  await until(one, 'the other one not to be there', ({ siblings }) => siblings?.links['two']?.problem !== undefined);
  other.close();
  await until(two, 'its port', ({ siblings }) => siblings !== undefined && siblings.problem === undefined);
  await until(
    one,
    'the link',
    ({ siblings, siblingLinks }) => siblings?.links['two']?.operational === true && 'two' in (siblingLinks ?? {}),
  );
});

test("a link moves to the other of a site's two routers as soon as one drains", async () => {
  const ports = { one: await freePort(), two: await freePort() };
  const port = await freePort();
  const ca = await testAuthority('site CA');
  await using echo = await echoServer('hello');
  const part = async (): Promise<Partial<RouterConfig>> => ({
    accesses: [access(await ca.issue())],
    connectors: [connector('key', echo.port)],
  });
  await using one = await start(sibling('one', ports, await part()));
  await using two = await start(sibling('two', ports, await part()));
  const links = await Promise.all([one, two].map(async (router, index) => link(`to-${index}`, await accessPort(router), await ca.issue())));
  await using client = await start({ ...siteConfig('client'), links, listeners: [listener('key', port)] });
  await until(client, 'all three', ({ network, listeners }) => network.length === 3 && listeners['Listener/key']?.listening === true);
  const draining = one.drain(10_000);
  await until(two, 'the other says that it goes', ({ network }) => network.every(({ router }) => router !== 'one'));
  assert.equal(await ask(port, ''), 'hello');
  await draining;
});

test("the other of a site's two routers takes over from a killed one, inside the site and from outside", async () => {
  const ports = { one: await freePort(), two: await freePort() };
  const [outside, inside, entry] = [await freePort(), await freePort(), await freePort()];
  const ca = await testAuthority('site CA');
  await using echo = await echoServer('hello');
  const connectors = [connector('key', echo.port)];
  const { siteKey: _, ...config } = sibling('one', ports, { accesses: [access(await ca.issue(), { port: entry })], connectors });
  using killed = await routerProcess({ ...config, pem });
  const more = { accesses: [access(await ca.issue())], connectors, listeners: [listener('key', inside)] };
  await using two = await start(sibling('two', ports, more));
  const links = [link('to-one', entry, await ca.issue()), link('to-two', await accessPort(two), await ca.issue())];
  await using client = await start({ ...siteConfig('client'), links, listeners: [listener('key', outside)] });
  await until(client, 'both links', (state) => links.every(({ name }) => state.links[name]?.operational === true));
  await until(two, 'all three routers', ({ network }) => network.length === 3);
  await killed.kill();
  // Its sockets are closed. Silence would end the link only after 30 s.
  await until(client, 'its end', (state) => state.links['to-one']?.operational === false, 15_000);
  await until(two, 'its end', ({ network }) => network.every(({ router }) => router !== 'one'), 15_000);
  assert.deepEqual([await ask(outside, ''), await ask(inside, '')], ['hello', 'hello']);
});

interface Attempt {
  readonly who: RouterConfig;
  /** Bundles of the connection for requests, and of the one for the other end's. */
  readonly ports: readonly [number, number];
  readonly bundles: readonly [TlsBundle, TlsBundle];
}

/** Opens a link with that identity and certificate. @returns what ends it */
async function attempt({ who, ports, bundles }: Attempt, opened: (link: Link) => void): Promise<string> {
  const ended = Promise.withResolvers<void>();
  using host = linkHost(
    { ...who, router: 'zero' },
    {
      events: {
        onUp: opened,
        onDown: () => ended.resolve(),
        onClosed: () => {},
        onCost: () => {},
        onSilence: () => {},
        onLeaving: () => {},
      },
    },
  );
  const contexts = bundles.map((tls) => openBundle(tls, 'client'));
  const dial: OutgoingOptions['dial'] = (protocol, deadline, signal) => {
    const index = protocol === FORWARD ? 0 : 1;
    const shown = contexts[index];
    assert.ok(shown);
    return dialTls({ endpoint: { host: '127.0.0.1', port: ports[index] ?? 0 }, bundle: shown, protocol, deadline, signal, sibling: true });
  };
  const id = randomBytes(10).toString('hex');
  try {
    await openLink({ host, peer: 'one', cost: 1, id, signal: new AbortController().signal, dial });
    await ended.promise;
    return 'ended by the other end';
  } catch (error) {
    assert.ok(error instanceof LinkError);
    return error.code;
  }
}

test('only who has both a certificate of the local authority and the key of the site is let in as a sibling', async () => {
  const ca = await testAuthority('site CA');
  const ports = { one: await freePort(), two: await freePort() };
  await using one = await start(sibling('one', ports, { accesses: [access(await ca.issue())] }));
  const other = siteConfig('other');
  const [certificate, ofSite] = [await local.issue(), await ca.issue({ ca: local.ca })];
  const ofOthers = await (await testAuthority('anybody')).issue({ ca: local.ca });
  const forward = await accessPort(one);
  const at = (who: RouterConfig, tls: TlsBundle): Attempt => ({ who, ports: [ports.one, ports.one], bundles: [tls, tls] });
  const linked: Attempt = { who: other, ports: [forward, ports.one], bundles: [await ca.issue(), certificate] };
  const cut = (opened: Link): void => opened.cut(new Error('it was let in'));
  const closed = async (given: Attempt): Promise<string> => attempt(given, () => {});
  assert.equal(await attempt(at(site, certificate), cut), 'ended by the other end', 'with both it is let in');
  assert.equal(await closed(at(site, ofSite)), 'tls-foreign-ca', 'of the authority of links');
  assert.equal(await closed(at(site, ofOthers)), 'tls-foreign-ca', 'of anybody');
  assert.equal(await closed(at(other, certificate)), 'wrong-site', 'of another site');
  assert.equal(await closed(at({ ...other, site: site.site }, certificate)), 'wrong-proof', 'of another site that takes our id');
  assert.equal(await closed(linked), 'wrong-site', 'of another site that is linked to us, for its second connection');
});

test('one that may not link there may not connect there either', async () => {
  const sameHost = await local.issue();
  const ports = { one: await freePort() };
  await using echo = await echoServer();
  await using _one = await start(sibling('one', ports, { connectors: [connector('key', echo.port)] }, sameHost));
  using client = await standardClient(ports.one, sameHost);
  const asked = [
    { ':method': 'CONNECT', ':authority': 'key' },
    { ':method': 'POST', ':path': RENEW_PATH, ':scheme': 'https', ':authority': AUTHORITY },
  ];
  for (const head of asked) {
    const stream = client.session.request(head, { endStream: false });
    const [headers] = (await once(stream, 'response')) as [Record<string, unknown>];
    assert.equal(headers[':status'], 403);
  }
});

test("a server at a former sibling's address is not linked to, for any certificate it has", async () => {
  // It admits any certificate of the authority, and has one itself.
  await using impostor = await start({ ...siteConfig('other'), router: 'two', accesses: [access(await local.issue())] });
  const siblingPort = await freePort();
  await using _ = await start({
    ...site,
    router: 'three',
    siblings: { kind: 'tls', port: siblingPort, tls: await local.issue(), others: [] },
  });
  using host = linkHost({ ...site, router: 'one' });
  for (const port of [await accessPort(impostor), siblingPort]) {
    const target = new TlsSiblingTarget(site.site.id, { router: 'two', host: '127.0.0.1', port }, bundle);
    await assert.rejects(openFirst({ host, target, last: undefined, signal: new AbortController().signal }), { code: 'wrong-router' });
  }
});
