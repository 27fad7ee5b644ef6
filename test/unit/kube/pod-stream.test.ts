import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type AddressInfo, type Server } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { describe, it } from 'node:test';
import { startForwardingApiServer } from '../support/forwarding-api-server.ts';
import { failure } from './raw-server.ts';

const pod = { namespace: 'west', name: 'router' };

/** A server that returns each byte, and ends with its client. */
async function echo(): Promise<{ readonly port: number } & AsyncDisposable> {
  const server: Server = createServer({ allowHalfOpen: true }, (socket) => void socket.pipe(socket));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  // It listens at an address.
  const { port } = server.address() as AddressInfo;
  return { port, [Symbol.asyncDispose]: async () => void server.close() };
}

describe('a stream to a port of a pod', () => {
  for (const [what, bytes, frame] of [
    ['a few bytes', 5, 65_536],
    ['messages of more than 125 bytes', 300, 65_536],
    ['messages of more than 64 KiB', 400_000, 400_000],
    ['fragmented messages', 10_000, 7],
  ] as const) {
    it(`carries ${what} both ways`, async () => {
      await using server = await echo();
      await using api = await startForwardingApiServer({ port: server.port, frame });
      const stream = await api.client.openPort(pod, server.port);
      const sent = randomBytes(bytes);
      const received = buffer(stream);
      stream.end(sent);
      assert.ok(sent.equals(await received));
      assert.deepEqual(api.paths, [`/api/v1/namespaces/west/pods/router/portforward?ports=${server.port}`]);
    });
  }

  it('fails with the text of the kubelet if the port refuses', async () => {
    await using api = await startForwardingApiServer({ port: 1, fault: 'connection refused' });
    const stream = await api.client.openPort(pod, 1);
    await assert.rejects(buffer(stream), /portforward.*: connection refused/);
  });

  it('is refused with the reason of the API server', async () => {
    const refuse = { status: 403, body: failure(403, 'Forbidden', 'cannot create resource "pods/portforward"') };
    await using api = await startForwardingApiServer({ port: 1, refuse });
    await assert.rejects(api.client.openPort(pod, 1), /cannot create resource "pods\/portforward"/);
  });
});
