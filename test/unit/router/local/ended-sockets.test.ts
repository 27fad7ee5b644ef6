import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { describe, it } from 'node:test';
import { watchEnded } from '../../../../src/router/local/ended-sockets.ts';
import { eventually } from '../../../harness/wait.ts';
import { listen } from './two-sides.ts';

interface Pair extends AsyncDisposable {
  readonly near: Socket;
  readonly far: Socket;
  readonly failure: () => NodeJS.ErrnoException | undefined;
}

/** `far` has ended its half, and `near`, which is watched, has heard that. */
async function halfClosed(): Promise<Pair> {
  const server = createServer({ allowHalfOpen: true });
  const far = connect({ port: await listen(server), host: '127.0.0.1', allowHalfOpen: true });
  // What `connection` brings.
  const [near] = (await once(server, 'connection')) as [Socket];
  let failure: NodeJS.ErrnoException | undefined;
  near.on('error', (error) => {
    failure = error;
  });
  near.resume();
  far.end('the last words');
  await once(near, 'end');
  watchEnded(near);
  return {
    near,
    far,
    failure: () => failure,
    async [Symbol.asyncDispose]() {
      near.destroy();
      far.destroy();
      server.close();
    },
  };
}

describe('a socket whose peer has ended', () => {
  it('hears that the peer is gone, though nobody writes', async () => {
    await using pair = await halfClosed();
    pair.far.resetAndDestroy();
    await eventually('it is closed', () => pair.near.closed);
    assert.equal(pair.failure()?.code, 'EPIPE');
  });

  it('is left alone while the peer listens', async () => {
    await using pair = await halfClosed();
    const begun = performance.now();
    // Longer than it takes to look twice: nothing else tells that it was looked at.
    await eventually('two looks', () => performance.now() - begun > 2_300);
    assert.equal(pair.near.destroyed, false);
    pair.near.end('an answer');
    const [said] = await once(pair.far, 'data');
    assert.equal(String(said), 'an answer');
    await eventually('both are closed', () => pair.near.closed && pair.far.closed);
    assert.equal(pair.failure(), undefined);
  });
});
