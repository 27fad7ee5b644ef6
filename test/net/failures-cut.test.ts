import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, test } from 'node:test';
import {
  eventually,
  startEcho,
  startHeldDownload,
  startLinkedPair,
  startNginx,
  untilRefused,
  type Host,
  type LinkedPair,
  type Program,
  type Site,
} from './harness/index.ts';

const PAGE = ['curl', '-sS', '--max-time', '5', 'http://127.0.0.1:80/'];

/** Milliseconds after which a silent link is given up: 30 s, and some for a busy machine. */
const DEAD_AFTER = 40_000;

const open = (site: Site): Promise<number> => site.metric('earshot_router_connections_open');

/** Connections that say nothing; each ends when the other side does. */
async function hold(client: Host, count: number): Promise<readonly Program[]> {
  return Promise.all(
    Array.from({ length: count }, (_, index) => client.spawn(['socat', '-u', 'TCP:127.0.0.1:7000', 'STDOUT'], { name: `held-${index}` })),
  );
}

/** Established connections to a server's port, as its host sees them. */
async function established(host: Host, port: number): Promise<number> {
  const rows = await host.run(['ss', '-Htn', 'state', 'established', `sport = :${port}`]);
  return rows.split('\n').filter((row) => row !== '').length;
}

/** State of both sites with their link up and idle. */
async function atRest({ west, east }: LinkedPair): Promise<readonly [number, number]> {
  await eventually('no connection to be open', async () => (await open(west)) + (await open(east)) === 0);
  await eventually(
    'the link to be up at both ends',
    async () => (await west.metric('earshot_router_links')) + (await east.metric('earshot_router_links')) === 2,
  );
  return [await west.process.descriptors(), await east.process.descriptors()];
}

/** Waits until they hold no more than before: sockets of a link that is gone may linger for a moment. */
async function nothingLeaked(pair: LinkedPair, [west, east]: readonly [number, number]): Promise<void> {
  await eventually('descriptors to be as few as before', async () => {
    const [nowWest, nowEast] = await atRest(pair);
    if (nowWest <= west && nowEast <= east) return true;
    const sockets = await pair.west.host.run(['ss', '-Htn']);
    throw new Error(`west holds ${nowWest}, it held ${west}; east holds ${nowEast}, it held ${east}; sockets of the west:\n${sockets}`);
  });
}

async function started(pair: LinkedPair): Promise<void> {
  await startNginx(pair.server, { port: 80, files: { '/big': Buffer.alloc(50_000_000, 'more than fits between the two\n') } });
  await startEcho(pair.server, { port: 7000 });
  await pair.ready();
  assert.equal(await pair.client.run(PAGE), 'hello from east\n');
}

async function allEnded(held: readonly Program[]): Promise<void> {
  await eventually('all held connections to end', () => held.every(({ running }) => !running));
}

/** Side by side: nearly all of their time is waiting. */
describe('packets that vanish', { concurrency: 3 }, () => {
  test('a cable that is out for fifty seconds: the listener closes, nothing leaks, and all comes back by itself', async (t) => {
    await using pair = await startLinkedPair(t, { web: 80, echo: 7000 });
    const { west, east, client, server } = pair;
    await started(pair);
    const before = await atRest(pair);
    const held = await hold(client, 20);
    const download = await startHeldDownload(client, 'http://127.0.0.1:80/big');
    await eventually('all of them to be open', async () => (await open(east)) === 21);

    const cutAt = performance.now();
    await server.cut();
    await west.waitFor('Listener', 'web', 'Pending', { timeoutMs: DEAD_AFTER });
    t.diagnostic(`found after ${((performance.now() - cutAt) / 1000).toFixed(1)} s`);
    await untilRefused(client, PAGE);
    // Each end learns it by itself, and lets its clients and servers know.
    await allEnded(held);
    assert.match((await download.readOn()).stderr, /reset by peer/i, 'a download fails, and does not seem to have ended');
    await eventually(
      "the servers' connections to end",
      async () => (await established(server, 7000)) + (await established(server, 80)) === 0,
    );
    assert.match((await west.status('Listener', 'web'))?.message ?? '', /./);

    await sleep(Math.max(0, cutAt + 50_000 - performance.now()));
    const mendedAt = performance.now();
    await server.restore();
    await west.waitFor('Listener', 'web', 'Ready');
    t.diagnostic(`back after ${((performance.now() - mendedAt) / 1000).toFixed(1)} s`);
    assert.equal(await client.run(PAGE), 'hello from east\n');
    await nothingLeaked(pair, before);
  });

  test("a firewall that drops the link's packets leaves no half-open peer at either end", async (t) => {
    await using pair = await startLinkedPair(t, { web: 80, echo: 7000 });
    const { west, east, client, server } = pair;
    await started(pair);
    const before = await atRest(pair);
    const held = await hold(client, 5);
    await eventually('all of them to be open', async () => (await open(east)) === 5);

    await client.drop(server.v4);
    await client.drop(server.v6);
    for (const site of [west, east]) {
      await eventually(`${site.name} to give the link up`, async () => (await site.metric('earshot_router_links')) === 0);
      // The link is two connections, and each is found silent by itself.
      await eventually(`${site.name} to end its connections`, async () => (await open(site)) === 0);
    }
    await allEnded(held);
    await eventually("the servers' connections to end", async () => (await established(server, 7000)) === 0);
    await west.waitFor('Listener', 'web', 'Pending');

    await client.heal();
    await west.waitFor('Listener', 'web', 'Ready');
    assert.equal(await client.run(PAGE), 'hello from east\n');
    await nothingLeaked(pair, before);
  });

  test('a peer that stands still is given up, and taken back when it goes on', async (t) => {
    await using pair = await startLinkedPair(t, { web: 80, echo: 7000 });
    const { west, east, client } = pair;
    await started(pair);
    const before = await atRest(pair);
    east.process.signal('SIGSTOP');
    await west.waitFor('Listener', 'web', 'Pending', { timeoutMs: DEAD_AFTER });
    east.process.signal('SIGCONT');
    await west.waitFor('Listener', 'web', 'Ready');
    assert.equal(await client.run(PAGE), 'hello from east\n');
    await nothingLeaked(pair, before);
  });

  for (const seconds of [0.5, 2.6, 10])
    test(`a silence of ${seconds} s ends nothing`, async (t) => {
      await using pair = await startLinkedPair(t, { web: 80, echo: 7000 });
      const { west, client, server } = pair;
      await started(pair);
      const held = await hold(client, 3);
      const download = await startHeldDownload(client, 'http://127.0.0.1:80/big');
      await eventually('all of them to be open', async () => (await open(west)) === 4);
      const attempts = await west.metric('earshot_router_link_attempts_total');
      const silentAt = performance.now();
      await server.silenceFor(seconds);
      const lasted = performance.now() - silentAt;
      assert.equal(await client.run(PAGE), 'hello from east\n');
      assert.equal(held.filter(({ running }) => running).length, 3);
      assert.equal((await download.readOn()).stderr, '');
      // A request that moves to another link is taken back at the east: no client sees that.
      assert.equal(await west.metric('earshot_router_connections_failed_total').catch(() => 0), 0);
      // On a busy machine, it lasts longer than it should. From 2 s on, another link is tried.
      if (lasted < 1_500) assert.equal(await west.metric('earshot_router_link_attempts_total'), attempts, 'it is still the same link');
      await eventually('one link', async () => (await west.metric('earshot_router_links')) === 1);
    });

  test('a Link that is silent says since when, and is used again as soon as it is heard', async (t) => {
    await using pair = await startLinkedPair(t, { web: 80, echo: 7000 });
    const { west, east, client, server } = pair;
    await started(pair);
    await server.silence();
    const words = /^OK; silent since [0-9:]{8}Z; new connections use other paths/;
    const isSilent = ({ message = '' }: { readonly message?: string }): boolean => words.test(message);
    const links = JSON.parse(await west.earshot(['link', 'status', '-o', 'json'])) as {
      readonly items: readonly { readonly metadata: { readonly name: string } }[];
    };
    const name = links.items[0]?.metadata.name ?? '';
    await west.waitFor('Link', name, isSilent);
    assert.equal((await west.status('Listener', 'web'))?.status, 'Ready', 'it is the only path');
    await server.restore();
    await west.waitFor('Link', name, ({ message }) => message === 'OK');
    assert.equal(await client.run(PAGE), 'hello from east\n');
    await eventually('one link', async () => (await east.metric('earshot_router_links')) === 1);
  });

  test('a Site setting says when a silent link is given up', async (t) => {
    await using pair = await startLinkedPair(t, { web: 80, echo: 7000 });
    const { west, server } = pair;
    await started(pair);
    await west.apply({
      apiVersion: 'skupper.io/v2alpha1',
      kind: 'Site',
      metadata: { name: 'west' },
      spec: { settings: { 'link-suspect-after': '1s', 'link-dead-after': '4s' } },
    });
    await sleep(1_000);
    const cutAt = performance.now();
    await server.silence();
    // Without the setting, that takes 30 s.
    await west.waitFor('Listener', 'web', 'Pending', { timeoutMs: 25_000 });
    assert.ok(performance.now() - cutAt > 3_000);
    await server.restore();
    await west.waitFor('Listener', 'web');
  });
});
