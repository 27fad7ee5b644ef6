import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { test } from 'node:test';
import { FrameType, PREFACE } from '../../../../src/http2/frames.ts';
import { frame, headers } from '../../../fuzz/frames.ts';
import { testAuthority } from '../support/certificates.ts';
import { access, accessPort, connector, siteConfig, start } from '../support/site.ts';

test('streams that are opened and reset in one go reach no server', async (t) => {
  let connections = 0;
  const server = createServer((socket) => {
    connections += 1;
    socket.on('error', () => {});
    socket.end('hello');
  }).listen(0, '127.0.0.1');
  t.after(() => server.close());
  await once(server, 'listening');
  const authority = await testAuthority();
  // A TCP server that listens has an address.
  const { port: at } = server.address() as AddressInfo;
  await using router = await start({
    ...siteConfig('server'),
    accesses: [access(await authority.issue())],
    connectors: [{ ...connector('key', at), probe: 'none' }],
  });
  const { cert = '', key = '', ca = '' } = await authority.issue();
  const socket = connectTls({ host: '127.0.0.1', port: await accessPort(router), cert, key, ca, ALPNProtocols: ['h2'] });
  t.after(() => socket.destroy());
  socket.on('error', () => {});
  await once(socket, 'secureConnect');
  const open = (id: number): Buffer =>
    headers(id, [
      [':method', 'CONNECT'],
      [':authority', 'key'],
    ]);
  const rapid = Array.from({ length: 100 }, (_, index) =>
    Buffer.concat([open(1 + 2 * index), frame(FrameType.RST_STREAM, 0, 1 + 2 * index, Buffer.of(0, 0, 0, 8))]),
  );
  // One TLS record, which arrives in one turn.
  socket.write(Buffer.concat([PREFACE, frame(FrameType.SETTINGS, 0, 0), ...rapid, open(201)]));
  let heard = '';
  socket.on('data', (chunk: Buffer) => {
    heard += chunk.toString('latin1');
  });
  for (const end = Date.now() + 60_000; !heard.includes('hello'); await once(socket, 'data'))
    assert.ok(Date.now() < end, 'the last stream is served');
  assert.equal(connections, 1);
});
