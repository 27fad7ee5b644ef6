import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { test } from 'node:test';
import { connect as connectTls } from 'node:tls';
import { freePort } from '../../support/free-port.ts';
import { testAuthority } from '../support/certificates.ts';
import { ask, connector, echoServer, listener, siteConfig, start, until } from '../support/site.ts';
import { waitForClose } from '../../support/wait-for-close.ts';

const authority = await testAuthority();

async function connected(port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  await once(socket, 'connect');
  socket.on('error', () => {});
  return socket;
}

test('clients in their TLS handshakes are closed when the last connector is removed, and the router continues', async () => {
  const [port, plain] = [await freePort(), await freePort()];
  const { cert, key } = await authority.issue();
  assert.ok(cert !== undefined && key !== undefined);
  await using echo = await echoServer();
  const listeners = [{ ...listener('key', port), tls: { name: 'tls', cert, key } }, listener('other', plain)];
  const config = { ...siteConfig('west'), listeners, connectors: [connector('other', echo.port)] };
  await using west = await start({ ...config, connectors: [...config.connectors, connector('key', echo.port)] });
  await until(west, 'both listeners', (state) => Object.values(state.listeners).every(({ listening }) => listening));
  const sockets = await Promise.all(Array.from({ length: 10 }, () => connected(port)));
  // They are accepted in order: once this one has its answer, the others have been accepted.
  const last = connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false });
  await once(last, 'secureConnect');
  last.on('error', () => {});
  west.apply(config);
  await until(west, 'the end of the key', (state) => state.listeners['Listener/key']?.listening === false);
  for (const socket of sockets) await waitForClose(socket);
  last.destroy();
  assert.equal(await ask(plain, 'still there'), 'still there');
});

test('a client in its TLS handshake when its Listener is taken away is let in no more', async () => {
  const port = await freePort();
  const { cert, key } = await authority.issue();
  assert.ok(cert !== undefined && key !== undefined);
  await using echo = await echoServer();
  const config = { ...siteConfig('west'), connectors: [connector('key', echo.port)] };
  await using west = await start({ ...config, listeners: [{ ...listener('key', port), tls: { name: 'tls', cert, key } }] });
  await until(west, 'the listener', (state) => state.listeners['Listener/key']?.listening === true);
  const socket = await connected(port);
  const last = connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false });
  last.on('error', () => {});
  await once(last, 'secureConnect');
  west.apply(config);
  await until(west, 'the end of the listener', (state) => state.listeners['Listener/key'] === undefined);
  await waitForClose(socket);
  last.destroy();
});
