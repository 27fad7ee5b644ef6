/**
 * The judge of HTTP/2 conformance, h2spec, against a small web server on the session: all cases of its groups `generic`, `http2` and `hpack`, in strict
 * mode, over TCP and over TLS. None is left out.
 *
 * The server's limits differ from a link's in three ways. It takes the methods that h2spec uses. It allows 100 streams, since one case
 * opens as many as allowed and one more. And it advertises the least frame size: one case (http2/4.2/3) exceeds that, and not the one advertised.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer as createTcpServer } from 'node:net';
import type { AddressInfo, Server } from 'node:net';
import type { Duplex } from 'node:stream';
import { test } from 'node:test';
import { createServer as createTlsServer } from 'node:tls';

import { createSession } from '../../src/http2/session.ts';
import { run } from '../harness/command.ts';
import { toolFolder } from '../harness/tools.ts';
import { freshCertificate } from '../unit/support/certificate.ts';
import { H2SPEC_LIMITS, WEB_SERVER } from './h2spec-server.ts';

/** Seconds that each case waits for an answer. The server is in this process: none that it owes may come too late. */
const PATIENCE = '20';

async function judge(server: Server, flags: readonly string[]): Promise<string> {
  const folder = await toolFolder('h2spec');
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  try {
    const { port } = server.address() as AddressInfo; // a TCP server's address is never a string
    return await run(`${folder}/h2spec`, ['--host', '127.0.0.1', '--port', String(port), '--timeout', PATIENCE, '--strict', ...flags]);
  } finally {
    server.close();
  }
}

function serve(socket: Duplex): void {
  createSession(socket, { role: 'server', events: WEB_SERVER, limits: H2SPEC_LIMITS });
}

test('h2spec passes over TCP', async () => {
  assert.match(await judge(createTcpServer({ noDelay: true }, serve), []), /\n146 tests, 146 passed, 0 skipped, 0 failed/);
});

test('h2spec passes over TLS', async () => {
  const server = createTlsServer({ ...freshCertificate(), ALPNProtocols: ['h2'] }, serve);
  server.on('tlsClientError', () => undefined);
  assert.match(await judge(server, ['--tls', '--insecure']), /\n146 tests, 146 passed, 0 skipped, 0 failed/);
});
