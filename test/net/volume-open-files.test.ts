/** A site that may have few open files. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { connector, createNetwork, eventually, linkByToken, listener, startRedis, startSite } from './harness/index.ts';

const PORT = 6379;
const LIMIT = 300;
/** Remaining files for connections: see `src/telemetry/open-files.ts`. */
const CONNECTIONS = 172;
const CLIENTS = fileURLToPath(new URL('harness/many-clients.ts', import.meta.url));

test('connections beyond the limit of open files are reset and the log says why, while links and the others live on', async (t) => {
  await using net = await createNetwork({ hosts: ['west', 'east'], test: t });
  const [client, server] = [net.host('west'), net.host('east')];
  const east = await startSite(server, { access: true, resources: [connector('redis', '127.0.0.1', PORT)] });
  const under = ['prlimit', `--nofile=${LIMIT}:${LIMIT}`];
  const west = await startSite(client, { under, resources: [listener('redis', '127.0.0.1', PORT)] });
  await startRedis(server, { port: PORT });
  await linkByToken(west, east);
  await west.waitFor('Listener', 'redis');
  assert.match(west.process.output, /the limit of open files is 300, enough for 172 sockets/);

  await using clients = await client.spawn([process.execPath, CLIENTS, String(PORT), String(CONNECTIONS)], { name: 'clients' });
  await clients.ready(() => clients.output.includes('all are open'));
  const ping = (): Promise<string> => client.run(['redis-cli', '-p', String(PORT), 'ping']);
  for (let at = 0; at < 20; at += 1) await assert.rejects(ping(), /reset by peer/);
  assert.match(west.process.output, /172 of the 172 sockets that this process's limit of open files leaves/);
  assert.ok((await west.metric('earshot_router_clients_refused_total', { reason: 'busy' })) >= 20);
  clients.signal('SIGUSR2');
  await clients.ready(() => clients.output.includes('all answered 1'));
  assert.equal(await west.metric('earshot_router_links'), 1);

  await clients.kill();
  await eventually('an answer', async () => (await ping()) === 'PONG\n');
});
