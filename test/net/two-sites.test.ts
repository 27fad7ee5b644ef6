import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { test, type TestContext } from 'node:test';
import {
  connector,
  createNetwork,
  eventually,
  listener,
  startEcho,
  startLinkedPair,
  startNginx,
  startSite,
  untilRefused,
  type LinkedPair,
} from './harness/index.ts';

/** East has nginx behind the routing key `web`. */
async function twoSites(t: TestContext): Promise<LinkedPair> {
  const pair = await startLinkedPair(t, { web: 8080 });
  await startNginx(pair.server, { port: 8080 });
  return pair;
}

const PAGE = ['curl', '-sS', '--max-time', '20', 'http://127.0.0.1:8080/'];

test('a client in one site reaches a server in another over a link that a token made', async (t) => {
  await using pair = await twoSites(t);
  await pair.west.waitFor('Listener', 'web');
  assert.equal(await pair.client.run(PAGE), 'hello from east\n');
  assert.equal((await pair.east.waitFor('Connector', 'web')).hasMatchingListener, true);
});

test('a listener is ready from the moment that a connection gets through, and closed while its key has no connector', async (t) => {
  await using pair = await twoSites(t);
  const { west, east, client } = pair;
  await west.waitFor('Listener', 'web');
  assert.equal(await client.run(PAGE), 'hello from east\n', 'at once after Ready');
  await east.remove('Connector', 'web');
  await west.waitFor('Listener', 'web', ({ status, hasMatchingConnector }) => status === 'Pending' && hasMatchingConnector === false);
  await untilRefused(client, PAGE);
  await east.apply(connector('web', '127.0.0.1', 8080));
  await west.waitFor('Listener', 'web');
  assert.equal(await client.run(PAGE), 'hello from east\n');
});

test('bytes arrive as they were sent, many of them both ways at once', async (t) => {
  await using pair = await twoSites(t);
  const { west, east, client, server } = pair;
  await startEcho(server, { port: 7000 });
  await east.apply(connector('echo', '127.0.0.1', 7000));
  await west.apply(listener('echo', '127.0.0.1', 7000));
  await west.waitFor('Listener', 'echo');
  const sent = Buffer.allocUnsafe(64 * 2 ** 20);
  for (let at = 0; at < sent.length; at += 4) sent.writeUInt32LE(at, at);
  await writeFile(`${client.dir}/sent`, sent);
  // -t: what comes back after the file has ended is waited for.
  const hash = await client.run(['sh', '-c', 'socat -t 20 -b 65536 - TCP:127.0.0.1:7000 <sent | sha256sum'], {
    cwd: client.dir,
    timeoutMs: 60_000,
  });
  assert.equal(hash.split(' ')[0], createHash('sha256').update(sent).digest('hex'));
});

test('after the site that a link goes to was killed, the same link carries again', async (t) => {
  await using pair = await twoSites(t);
  const { west, east, client } = pair;
  await west.waitFor('Listener', 'web');
  await east.kill9();
  await west.waitFor('Listener', 'web', 'Pending');
  await east.start();
  await west.waitFor('Listener', 'web');
  assert.equal(await client.run(PAGE), 'hello from east\n');
});

test('a link that is cut and restored carries again, with no one to help it', async (t) => {
  await using pair = await twoSites(t);
  const { west, client, server } = pair;
  await west.waitFor('Listener', 'web');
  await server.cut();
  await west.waitFor('Listener', 'web', 'Pending');
  await server.restore();
  await west.waitFor('Listener', 'web');
  await eventually('the page', async () => (await client.run(PAGE)) === 'hello from east\n');
});

test('a site reports on a local port how many connections reached a server', async (t) => {
  await using pair = await twoSites(t);
  const { west, client } = pair;
  await west.waitFor('Listener', 'web');
  await client.run(PAGE);
  await client.run(PAGE);
  await eventually('both connections to be counted', async () => (await west.metric('earshot_router_connections_opened_total')) === 2);
});

test('the port of metrics, if chosen freely, is not one that other sites link to', async (t) => {
  await using net = await createNetwork({ hosts: ['east'], test: t });
  const host = net.host('east');
  // All that there are: of two, the system gives the second one first.
  await host.run(['sysctl', '-qw', 'net.ipv4.ip_local_port_range=55670 55671']);
  const site = await startSite(host, { access: true });
  await site.waitFor('Site', 'east');
  const [owner] = (await host.run(['ss', '-Hltn', 'sport = :55671'])).trim().split(/\s+/).slice(3);
  assert.equal(owner, '*:55671', 'not on the loopback address');
});
