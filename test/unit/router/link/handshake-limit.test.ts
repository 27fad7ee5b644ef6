import assert from 'node:assert/strict';
import { Socket } from 'node:net';
import { test } from 'node:test';
import { HandshakeLimit } from '../../../../src/router/link/accept/handshake-limit.ts';

test('a connection that was reset before it was accepted takes no place, is closed at once, and takes no other with it', () => {
  const limit = new HandshakeLimit();
  // Without a peer, as Node.js has those that are reset by then.
  const gone = Array.from({ length: 200 }, () => new Socket());
  let begun = 0;
  for (const socket of gone) {
    assert.equal(
      limit.begin(socket, () => (begun += 1)),
      undefined,
    );
    assert.equal(socket.destroyed, true);
  }
  assert.equal(begun, 0);
});
