import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { connect as connectTls } from 'node:tls';
import { eventually } from '../../../harness/wait.ts';
import { freePort } from '../../support/free-port.ts';
import { comeAndGo, openSockets } from '../../support/gone-strangers.ts';
import { testAuthority } from '../support/certificates.ts';
import { access, accessPort, connector, echoServer, link, listener, siteConfig, start, until } from '../support/site.ts';

const STRANGERS = 200;
const authority = await testAuthority();

test('strangers who have gone before an access accepts them leave nothing open, and a site links meanwhile', async () => {
  const config = siteConfig('west');
  await using west = await start({ ...config, accesses: [access(await authority.issue())] });
  const port = await accessPort(west);
  const before = openSockets();
  comeAndGo(port, STRANGERS);
  await using east = await start({ ...siteConfig('east'), links: [link('west', port, await authority.issue())] });
  await until(east, 'the link', ({ links }) => links.west?.operational === true);
  await east[Symbol.asyncDispose]();
  await eventually('all of them are closed', () => openSockets() <= before);
});

test('strangers who have gone before a Listener with TLS accepts them leave nothing open, and a client is served', async () => {
  const port = await freePort();
  const { cert = '', key = '' } = await authority.issue();
  await using echo = await echoServer();
  const listeners = [{ ...listener('key', port), tls: { name: 'tls', cert, key } }];
  await using west = await start({ ...siteConfig('west'), listeners, connectors: [connector('key', echo.port)] });
  await until(west, 'the listener', (state) => state.listeners['Listener/key']?.listening === true);
  const before = openSockets();
  comeAndGo(port, STRANGERS);
  const client = connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false });
  client.write('still there');
  const [said] = await once(client, 'data');
  assert.equal(String(said), 'still there');
  client.destroy();
  await eventually('all of them are closed', () => openSockets() <= before);
});
