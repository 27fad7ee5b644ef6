import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { connect, createServer, TLSSocket } from 'node:tls';
import { test } from 'node:test';
import { logInternalErrors } from '../../../src/telemetry/boundary.ts';
import { internalErrors } from '../../fuzz/internal-errors.ts';
import { testAuthority } from './support/certificates.ts';
import { link, quiet, siteConfig, start, until } from './support/site.ts';
import { pair } from './support/networks.ts';
import { waitForClose } from '../support/wait-for-close.ts';

const authority = await testAuthority();
logInternalErrors(quiet);
const fault = new TypeError('an unexpected fault');

test("an error while reading a client's certificate ends that connection only, and the router continues", async (t) => {
  await using net = await pair(authority);
  const before = await internalErrors();
  // Stands for an error of Node.js on a certificate of an unexpected kind.
  const look = t.mock.method(TLSSocket.prototype, 'getPeerX509Certificate', () => {
    throw fault;
  });
  const { cert = '', key = '', ca = '' } = await authority.issue();
  const peer = connect({ host: '127.0.0.1', port: net.access, cert, key, ca, ALPNProtocols: ['h2'] });
  peer.on('error', () => {}).resume();
  await waitForClose(peer);
  look.mock.restore();
  assert.equal((await internalErrors()) - before, 1);
  await net.service();
  assert.equal(net.client.state.links['server']?.operational, true);
});

test('and an error while reading the certificate of a dialed endpoint ends that attempt', async (t) => {
  const { cert = '', key = '' } = await authority.issue();
  const answering = createServer({ cert, key, ALPNProtocols: ['h2'] }, (socket) => socket.on('error', () => {}).resume());
  answering.listen(0, '127.0.0.1');
  await once(answering, 'listening');
  // A TCP server that listens has an address.
  const { port } = answering.address() as AddressInfo;
  const before = await internalErrors();
  t.mock.method(TLSSocket.prototype, 'getPeerX509Certificate', () => {
    throw fault;
  });
  await using client = await start({ ...siteConfig('client'), links: [link('server', port, await authority.issue())] });
  await until(client, 'the problem', (state) => state.links['server']?.problem !== undefined);
  assert.match(client.state.links['server']?.problem?.message ?? '', /an unexpected fault/);
  assert.ok((await internalErrors()) > before);
  answering.close();
});
