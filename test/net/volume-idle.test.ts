/** Ten thousand connections that say little, through one link. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as pass } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { eventually, startLinkedPair, startRedis, type Program, type Site } from './harness/index.ts';

const COUNT = 10_000;
const PORT = 6379;
/** Bytes for each connection at each end: twice what it should be. */
const MOST_MEMORY = 40_000;
/** Milliseconds in which nothing is said: longer than a silent link would live. */
const IDLE = 35_000;
const CLIENTS = fileURLToPath(new URL('harness/many-clients.ts', import.meta.url));

test('ten thousand idle connections live on through one link, cost little, and leave nothing behind', async (t) => {
  await using pair = await startLinkedPair(t, { redis: PORT });
  const { west, east, client, server } = pair;
  const redis = await startRedis(server, { port: PORT, maxClients: COUNT + 100 });
  await pair.ready();
  const before = { west: await look(west), east: await look(east) };
  await using clients = await client.spawn([process.execPath, CLIENTS, String(PORT), String(COUNT)], { name: 'clients' });
  await said(clients, 'all are open');
  assert.equal(await west.metric('earshot_router_connections_open'), COUNT);
  assert.match(await client.run(['redis-cli', '-p', String(PORT), 'info', 'clients']), new RegExp(`connected_clients:${COUNT + 1}\r\n`));
  // Idleness is what is tested here, and it takes its time.
  await pass(IDLE);
  for (const [name, site] of Object.entries({ west, east })) {
    const { memory, descriptors } = await look(site);
    const start = name === 'west' ? before.west : before.east;
    const each = ((memory - start.memory) * 1_000_000) / COUNT;
    const megabytes = `${start.memory.toFixed(0)} MB before, ${memory.toFixed(0)} MB with them`;
    t.diagnostic(`${name}: ${megabytes}, ${(each / 1_000).toFixed(1)} KB for each`);
    assert.ok(each <= MOST_MEMORY, `${name}: ${each} bytes for each connection`);
    assert.ok(descriptors >= COUNT && descriptors <= start.descriptors + COUNT + 10, `${name}: ${descriptors} descriptors`);
  }
  for (const round of [1, 2]) {
    clients.signal('SIGUSR2');
    await said(clients, `all answered ${round}`);
  }
  assert.equal(await west.metric('earshot_router_links'), 1);
  await clients.kill();
  await eventually(
    'the descriptors to be as before',
    async () => (await look(west)).descriptors <= before.west.descriptors && (await look(east)).descriptors <= before.east.descriptors,
  );
  for (const site of [west, east]) {
    await eventually(`${site.name} to count none as open`, async () => (await site.metric('earshot_router_connections_open')) === 0);
  }
  assert.ok(redis.running);
});

interface Look {
  readonly memory: number;
  readonly descriptors: number;
}

async function look({ process }: Site): Promise<Look> {
  return { memory: process.memory(), descriptors: await process.descriptors() };
}

async function said(clients: Program, what: string): Promise<void> {
  await clients.ready(() => clients.output.includes(what), { timeoutMs: 120_000 });
}
