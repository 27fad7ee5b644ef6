import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import { ROUTER_PORTS } from '../../../../src/api/skupper/cluster-names.ts';
import { limitTable } from '../../../../src/limits/table.ts';
import { reachDirectly } from '../../../../src/platform/kubernetes/router-reach.ts';

test('metrics of a pod are not read beyond the limit of an answer', async () => {
  let sent = 0;
  const piece = Buffer.alloc(1_048_576, 'x');
  const most = 4 * limitTable.consoleAnswer.value;
  function* pieces(): Generator<Buffer> {
    for (; sent < most; sent += piece.length) yield piece;
  }
  const server = createServer((_, response) => void Readable.from(pieces()).pipe(response));
  // An address of its own, since the port is fixed.
  const address = '127.90.91.92';
  server.listen(ROUTER_PORTS.http, address);
  await once(server, 'listening');
  try {
    await assert.rejects(reachDirectly.metrics({ name: 'pod', isReady: true, address }), /has more than/);
    assert.ok(sent < most, `${sent} bytes were read`);
  } finally {
    server.closeAllConnections();
    server.close();
  }
});
