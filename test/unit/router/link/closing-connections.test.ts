import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Connection } from '../../../../src/router/link/session/connection.ts';
import { refuse } from '../../../../src/router/link/refusal.ts';
import { eventually } from '../../../harness/wait.ts';
import { loopback, type Loopback } from '../../http2/support/loopback.ts';
import { linkHost } from '../support/link-host.ts';
import { siteConfig } from '../support/site.ts';

test('closed connections of a peer that does not close its ends keep a bounded number of sockets', async () => {
  await using lines = new AsyncDisposableStack();
  using host = linkHost(siteConfig('acceptor'));
  const close = async (owner: string): Promise<Loopback> => {
    const line = lines.use(await loopback());
    const connection = new Connection({
      socket: line.near,
      dialed: false,
      role: 'server',
      owner,
      host,
      events: { onRequest: (stream) => refuse(stream, 404, 'destination_not_found'), onGoaway() {}, onSilence() {}, onClose() {} },
    });
    connection.destroy();
    return line;
  };
  const other = await close('other');
  const closed: Loopback[] = [];
  for (let count = 0; count < 20; count += 1) closed.push(await close('peer'));
  const open = (): readonly number[] => closed.flatMap(({ near }, index) => (near.destroyed ? [] : [index]));
  assert.deepEqual(
    open(),
    Array.from({ length: 16 }, (_, index) => index + 4),
  );
  assert.equal(other.near.destroyed, false, 'another peer loses nothing by it');
  for (const { far } of [other, ...closed]) far.end();
  await eventually('no slot to be taken', () => host.closing.size === 0);
});
