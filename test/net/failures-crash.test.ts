import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import {
  eventually,
  failuresOf,
  startHeldDownload,
  startLinkedPair,
  startNginx,
  startRequests,
  type LinkedPair,
  type Requests,
  type Site,
} from './harness/index.ts';

/** Two sites with a web server behind them, and a client that never stops asking. */
async function underLoad(pair: LinkedPair): Promise<Requests> {
  await startNginx(pair.server, { port: 80 });
  await pair.ready();
  const requests = await startRequests(pair.client, 'http://127.0.0.1:80/', { perSecond: 100 });
  assert.deepEqual(failuresOf(await requests.next(50)), []);
  return requests;
}

/** A request fails at once or not at all: none waits until its client loses patience. */
function assertNoneWaited(requests: Requests): void {
  assert.deepEqual(
    failuresOf(requests.results).filter((error) => /timed out/i.test(error)),
    [],
  );
}

const linked = (site: Site): Promise<boolean> =>
  eventually(`${site.name} to have its link`, async () => (await site.metric('earshot_router_links')) === 1);

test('whichever end is killed under load, the other closes at once, and serves again as soon as it is back', async (t) => {
  await using pair = await startLinkedPair(t, { web: 80 });
  const { west, east } = pair;
  const requests = await underLoad(pair);

  await t.test("the server's end, three times", async () => {
    for (let round = 0; round < 3; round += 1) {
      await east.kill9();
      await west.waitFor('Listener', 'web', 'Pending');
      await east.start();
      await west.waitFor('Listener', 'web');
      assert.deepEqual(failuresOf(await requests.next(50)), [], 'from Ready on');
    }
  });

  await t.test("the client's end", async () => {
    const descriptors = await east.process.descriptors();
    await west.kill9();
    await eventually('east to see it go', async () => (await east.metric('earshot_router_links')) === 0);
    await eventually('east to have let its connections go', async () => (await east.metric('earshot_router_connections_open')) === 0);
    await west.start();
    await linked(east);
    await eventually('requests to go well', async () => failuresOf(await requests.next(10)).length === 0);
    assert.deepEqual(failuresOf(await requests.next(50)), []);
    await eventually('east to hold no more descriptors than before', async () => (await east.process.descriptors()) <= descriptors);
  });

  await t.test('both at once', async () => {
    await Promise.all([west.kill9(), east.kill9()]);
    await Promise.all([west.start(), east.start()]);
    await Promise.all([west, east].map(linked));
    await eventually('requests to go well', async () => failuresOf(await requests.next(10)).length === 0);
    assert.deepEqual(failuresOf(await requests.next(50)), []);
  });

  await t.test('both stopped in order at once', async () => {
    await Promise.all([west.restart(), east.restart()]);
    await Promise.all([west, east].map(linked));
    await eventually('requests to go well', async () => failuresOf(await requests.next(10)).length === 0);
    assert.deepEqual(failuresOf(await requests.next(50)), []);
  });

  assertNoneWaited(requests);
});

test('a link whose connections are reset, with both ends alive, is opened again at once', async (t) => {
  await using pair = await startLinkedPair(t, { web: 80 });
  const { west, east, client } = pair;
  const requests = await underLoad(pair);
  for (let round = 0; round < 3; round += 1) {
    const opened = await west.metric('earshot_router_link_attempts_total', { outcome: 'up' });
    // As a firewall does that has lost its state, or an administrator.
    await client.run(['ss', '-K', 'dst', pair.server.v4, 'dport', '=', ':55671']);
    await eventually('the next link', async () => (await west.metric('earshot_router_link_attempts_total', { outcome: 'up' })) > opened);
    await Promise.all([west, east].map(linked));
    await west.waitFor('Listener', 'web');
    assert.deepEqual(failuresOf(await requests.next(50)), []);
  }
  assertNoneWaited(requests);
  t.diagnostic(`${failuresOf(requests.results).length} of ${requests.results.length} requests failed`);
});

test('a site that stops in order finishes what it carries', async (t) => {
  await using pair = await startLinkedPair(t, { web: 80 });
  const { west, east, client, server } = pair;
  const big = Buffer.alloc(100_000_000, 'a page that takes its time\n');
  await startNginx(server, { port: 80, files: { '/big': big } });
  await pair.ready();
  const download = await startHeldDownload(client, 'http://127.0.0.1:80/big');
  const stopped = east.stop();
  await west.waitFor('Listener', 'web', 'Pending');
  assert.ok(
    (await west.metric('earshot_router_bytes_total', { direction: 'to_client' })) < big.length,
    'some has to come after the listener has closed',
  );
  const { sha256, stderr } = await download.readOn();
  assert.equal(stderr, '');
  assert.equal(sha256, createHash('sha256').update(big).digest('hex'));
  await stopped;
});
