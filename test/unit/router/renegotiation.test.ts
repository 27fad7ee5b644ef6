/** Peers that request TLS renegotiation (before TLS 1.3) without end, which takes time and yields nothing. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { test } from 'node:test';
import { eventually } from '../../harness/wait.ts';
import { freePort } from '../support/free-port.ts';
import { testAuthority } from './support/certificates.ts';
import { askingClient, askingServer } from './support/renegotiation.ts';
import { connector, echoServer, listener, siteConfig, start, until } from './support/site.ts';

const [ALERT, APPLICATION_DATA] = [21, 23];
const authority = await testAuthority();
const { cert = '', key = '' } = await authority.issue();

test('a client of a Listener with TLS is ended at the first', async () => {
  const port = await freePort();
  await using echo = await echoServer();
  const config = { ...siteConfig('west'), listeners: [{ ...listener('key', port), tls: { name: 'key', cert, key } }] };
  await using west = await start({ ...config, connectors: [connector('key', echo.port)] });
  await until(west, 'the listener', (state) => state.listeners['Listener/key']?.listening === true);
  using client = await askingClient(port);
  client.ask(1);
  await eventually('it to be ended', () => client.raw.closed);
});

async function served(server: { readonly port: number }): Promise<AsyncDisposable & { readonly client: Socket }> {
  const port = await freePort();
  const tls = { bundle: { name: 'key', ca: authority.ca }, verifyHostname: false };
  const config = { ...siteConfig('west'), connectors: [{ ...connector('key', server.port), tls, probe: 'none' as const }] };
  const west = await start({ ...config, listeners: [listener('key', port)] });
  await until(west, 'the listener', (state) => state.listeners['Listener/key']?.listening === true);
  const client = connect({ port, host: '127.0.0.1' });
  client.on('error', () => {}).resume();
  await once(client, 'connect');
  return {
    client,
    async [Symbol.asyncDispose]() {
      client.destroy();
      await west[Symbol.asyncDispose]();
    },
  };
}

test('a server behind a Connector with TLS that does so now and then is served', async () => {
  await using server = await askingServer(4, { cert, key });
  await using west = await served(server);
  await eventually('each request to be refused', () => server.answers.length === 4);
  west.client.write('a');
  await eventually('the server to receive it', () => server.answers.length === 5);
  assert.deepEqual(server.answers, [ALERT, ALERT, ALERT, ALERT, APPLICATION_DATA]);
});

test('one that does so without end is ended', async () => {
  await using server = await askingServer(10_000, { cert, key });
  await using west = await served(server);
  await eventually('the client to be ended', () => west.client.closed);
});
