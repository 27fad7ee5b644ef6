import assert from 'node:assert/strict';
import { Socket } from 'node:net';
import { createServer } from 'node:tls';
import { it } from 'node:test';
import { AdmissionSlots } from '../../../src/limits/admission-slots.ts';
import { TlsAcceptor } from '../../../src/net/tls-acceptor.ts';

it('a connection that was reset before it was accepted gets no slot, and is closed at once', () => {
  const slots = new AdmissionSlots<Socket>({ most: 8, mostOfGroup: 8 });
  const acceptor = new TlsAcceptor({ slots, holds: 'handshake', side: () => undefined, only13: true, onEndless: () => {} });
  const server = createServer();
  let started = 0;
  server.on('connection', () => void (started += 1));
  // Without a peer, as Node.js has those that are reset by then.
  const gone = Array.from({ length: 200 }, () => new Socket());
  for (const socket of gone) {
    acceptor.accept(socket, server);
    assert.equal(socket.destroyed, true);
  }
  assert.deepEqual([started, slots.size], [0, 0]);
});
