import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { connect, createServer } from 'node:tls';
import type { AddressInfo } from 'node:net';
import { certificates } from '../../../fuzz/certificates.ts';
import { namelessCertificate } from '../../../fuzz/odd-certificates.ts';
import { testAuthority } from '../support/certificates.ts';
import { access, accessPort, link, siteConfig, start, until } from '../support/site.ts';

const authority = await testAuthority();

test('a client whose certificate has no issuer is refused, and receives the reason', async () => {
  await using server = await start({ ...siteConfig('server'), accesses: [access(await authority.issue())] });
  const { cert, key } = namelessCertificate();
  const socket = connect({ host: '127.0.0.1', port: await accessPort(server), cert, key, ca: authority.ca, ALPNProtocols: ['h2'] });
  const chunks: Buffer[] = [];
  for await (const chunk of socket) chunks.push(chunk as Buffer);
  assert.match(
    Buffer.concat(chunks).toString('latin1'),
    /tls-foreign-ca: The certificate of the peer at 127\.0\.0\.1:\d+ was issued by an authority without a name/,
  );
  assert.equal(server.state.accesses['access']?.listening, true);
});

test('a server whose certificate has no issuer is refused, and the link reports it', async () => {
  const { cert, key } = namelessCertificate();
  const tlsServer = createServer({ cert, key, ALPNProtocols: ['h2'] }, (socket) => socket.on('error', () => {}).resume());
  tlsServer.listen(0, '127.0.0.1');
  await once(tlsServer, 'listening');
  // A TCP server that listens has an address.
  const { port } = tlsServer.address() as AddressInfo;
  await using client = await start({ ...siteConfig('client'), links: [link('server', port, await authority.issue())] });
  await until(client, 'the problem', (state) => state.links['server']?.problem !== undefined);
  const { code, message } = client.state.links['server']?.problem ?? {};
  assert.equal(code, 'tls-foreign-ca');
  assert.match(message ?? '', /was issued by an authority without a name, not by the authority in ca\.crt/);
  tlsServer.close();
});

// A short run of what `npm run fuzz -- certificates` does for long.
test('whatever stands in a certificate, it ends at most the connection that showed it', async () => {
  const { accepted, refused } = await certificates.run({ cases: 300, seed: 1, first: 0, step: () => {} });
  assert.ok(accepted > 5 && refused > 100, `${accepted} accepted, ${refused} refused`);
});
