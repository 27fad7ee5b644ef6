/** Clients and servers that make OpenSSL verify many signatures of untrusted certificates. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect as connectTcp } from 'node:net';
import { test } from 'node:test';
import { connect as connectTls, createSecureContext, type SecureContext, type TLSSocket } from 'node:tls';
import { limitOutgoingTls } from '../../../../src/net/outgoing-tls.ts';
import { freePort } from '../../support/free-port.ts';
import { testAuthority } from '../support/certificates.ts';
import { hostileServer, longChain } from '../support/long-chain.ts';
import { access, accessPort, connector, echoServer, link, listener, siteConfig, start, until } from '../support/site.ts';

const UNTRUSTED = 16;
const authority = await testAuthority();
/** As many as are taken; and as many as OpenSSL would take. */
const [costly, endless] = [createSecureContext(longChain(24)), createSecureContext(longChain())];

test('those at an access are looked at one by one, and a site of another address links meanwhile', async () => {
  await using west = await start({ ...siteConfig('west'), accesses: [access(await authority.issue())] });
  const port = await accessPort(west);
  using untrusted = arrive(port, '127.0.0.2');
  await untrusted.looked();
  await using east = await start({ ...siteConfig('east'), links: [link('west', port, await authority.issue())] });
  await until(east, 'the link', ({ links }) => links.west?.operational === true);
  assert.ok(untrusted.answered < UNTRUSTED / 2, `${untrusted.answered} of them were verified`);
});

test('so are those at a Listener that wants certificates, and a client that has one is served meanwhile', async () => {
  const port = await freePort();
  const [tls, own] = [await authority.issue(), await authority.issue()];
  await using echo = await echoServer();
  const listeners = [{ ...listener('key', port), tls }];
  await using west = await start({ ...siteConfig('west'), listeners, connectors: [connector('key', echo.port)] });
  await until(west, 'the listener', (state) => state.listeners['Listener/key']?.listening === true);
  using untrusted = arrive(port, '127.0.0.3');
  await untrusted.looked();
  const { cert = '', key = '', ca = '' } = own;
  const client = connectTls({ port, host: '127.0.0.1', cert, key, ca });
  client.write('still there');
  const [said] = await once(client, 'data');
  assert.equal(String(said), 'still there');
  client.destroy();
  assert.ok(untrusted.answered < UNTRUSTED / 2, `${untrusted.answered} of them were verified`);
});

test('so are servers behind a Connector with TLS, and clients of another server are served meanwhile', async () => {
  const [port, otherPort] = [await freePort(), await freePort()];
  await using hostile = await hostileServer();
  await using echo = await echoServer();
  const tls = { bundle: { name: 'ca', ca: (await authority.issue()).ca ?? '' }, verifyHostname: false };
  const connectors = [{ ...connector('key', hostile.port), tls }, connector('other', echo.port)];
  const config = { ...siteConfig('west'), listeners: [listener('key', port), listener('other', otherPort)], connectors };
  await using west = await start(config);
  await until(west, 'both listeners', (state) => Object.values(state.listeners).every(({ listening }) => listening));
  const clients = Array.from({ length: UNTRUSTED }, () => connectTcp(port, '127.0.0.1').on('error', () => {}));
  await hostile.looked();
  const other = connectTcp(otherPort, '127.0.0.1').on('error', () => {});
  // Clients refused in the same iteration as the first are counted a few iterations later.
  for (let times = 0; times < 10; times += 1) {
    other.write('still there');
    const [said] = await once(other, 'data');
    assert.equal(String(said), 'still there');
  }
  assert.ok(hostile.refused < UNTRUSTED / 2, `${hostile.refused} of them were looked at`);
  for (const socket of [...clients, other]) socket.destroy();
});

test('so are peers that links dial, and another link opens meanwhile', async () => {
  await using hostile = await hostileServer();
  await using east = await start({ ...siteConfig('east'), accesses: [access(await authority.issue())] });
  const port = await accessPort(east);
  const tls = await authority.issue();
  const config = siteConfig('west');
  const links = Array.from({ length: UNTRUSTED }, (_, number) => link(`hostile-${number}`, hostile.port, tls));
  await using west = await start({ ...config, links });
  await hostile.looked();
  west.apply({ ...config, links: [...links, link('east', port, tls)] });
  await until(west, 'the link', (state) => state.links['east']?.operational === true);
  assert.ok(hostile.refused < UNTRUSTED / 2, `${hostile.refused} of them were looked at`);
});

test('a client with more certificates than usual is closed before OpenSSL verifies them', async () => {
  await using west = await start({ ...siteConfig('west'), accesses: [access(await authority.issue())] });
  const socket = arriveOnce(await accessPort(west), '127.0.0.4', endless);
  const said: Buffer[] = [];
  socket.on('data', (bytes: Buffer) => said.push(bytes));
  const { promise, resolve } = Promise.withResolvers<void>();
  socket.once('close', () => resolve());
  await promise;
  assert.deepEqual(said, [], 'the certificates were not verified');
});

test('nor are those of a server that shows more', async () => {
  await using hostile = await hostileServer(100);
  const socket = connectTls({ port: hostile.port, host: '127.0.0.1' });
  limitOutgoingTls(socket, 'hostile');
  const [error] = await once(socket, 'error');
  assert.match(String(error), /more bytes/);
});

interface UntrustedClients extends Disposable {
  readonly answered: number;
  /** The first of them has been. */
  looked(): Promise<void>;
}

function arriveOnce(port: number, localAddress: string, secureContext: SecureContext): TLSSocket {
  const raw = connectTcp({ port, host: '127.0.0.1', localAddress });
  const socket = connectTls({ socket: raw, secureContext, rejectUnauthorized: false, ALPNProtocols: ['h2'] });
  socket.on('error', () => {});
  return socket;
}

/** All of one address. */
function arrive(port: number, localAddress: string): UntrustedClients {
  let answered = 0;
  const first = Promise.withResolvers<void>();
  let left = false;
  const sockets = Array.from({ length: UNTRUSTED }, (): TLSSocket => {
    const socket = arriveOnce(port, localAddress, costly);
    // TLS 1.3 sends nothing to the client before its certificate is verified; a refused client receives an alert, or is closed.
    const told = (): void => {
      if (!left) answered += 1;
      first.resolve();
    };
    socket.once('data', () => socket.destroy());
    socket.once('close', told);
    return socket;
  });
  return {
    get answered() {
      return answered;
    },
    looked: () => first.promise,
    [Symbol.dispose]: () => {
      left = true;
      for (const socket of sockets) socket.destroy();
    },
  };
}
