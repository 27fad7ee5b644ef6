/**
 * A standard HTTP/2 client with a link's certificate: nghttpx as a forward proxy, which opens each tunnel as a CONNECT stream to the
 * access port of a site. Nothing of Earshot is on its host. Programs that know HTTP proxies (curl, socat) say `NAME:PORT`, so that is
 * the routing key.
 */
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import {
  connector,
  createNetwork,
  eventually,
  linkByToken,
  listener,
  manifest,
  placeLinkFiles,
  startNginx,
  startRedis,
  startSite,
  type Host,
  type Site,
} from './harness/index.ts';

const PROXY = 3128;

interface Outside extends AsyncDisposable {
  /** Host of the standard client. */
  readonly client: Host;
  readonly server: Host;
  readonly west: Site;
  readonly east: Site;
}

/** A client that may link to the west, and servers in the east. */
async function outside(t: TestContext): Promise<Outside> {
  await using stack = new AsyncDisposableStack();
  const segments = { street: ['outside', 'west'], lan: ['west', 'east'] } as const;
  const net = stack.use(await createNetwork({ hosts: ['outside', 'west', 'east'], segments, test: t }));
  const [client, server] = [net.host('outside'), net.host('east')];
  const resources = [
    connector('web', '127.0.0.1', 80, { routingKey: 'web:80' }),
    connector('redis', '127.0.0.1', 6379, { routingKey: 'redis:6379' }),
  ];
  const east = await startSite(server, { access: true, resources });
  const access = manifest('RouterAccess', 'street', {
    roles: [{ name: 'inter-router' }],
    tlsCredentials: 'street',
    generateTlsCredentials: true,
    subjectAlternativeNames: ['west'],
  });
  const west = await startSite(net.host('west'), { resources: [access, listener('web', '127.0.0.1', 80, { routingKey: 'web:80' })] });
  await startNginx(server, { port: 80 });
  await startRedis(server, { port: 6379 });
  await linkByToken(west, east);
  await west.waitFor('Listener', 'web');
  const owned = stack.move();
  return { client, server, west, east, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

/** Starts nghttpx with what `link generate` prints, or without the certificate. */
async function startProxy({ client, west }: Outside, withCertificate = true): Promise<void> {
  const { certificates: dir, port } = await placeLinkFiles(west, 'west', client);
  const shown = withCertificate ? [`--client-cert-file=${dir}/tls.crt`, `--client-private-key-file=${dir}/tls.key`] : [];
  const proxy = await client.spawn([
    'nghttpx',
    '--http2-proxy',
    '--conf=/dev/null',
    `--frontend=127.0.0.1,${PROXY};no-tls`,
    `--backend=west,${port};;proto=h2;tls`,
    `--cacert=${dir}/ca.crt`,
    '--errorlog-file=/dev/stderr',
    ...shown,
  ]);
  await proxy.ready(() => client.listens(PROXY));
}

const CURL = ['curl', '-sS', '--max-time', '20', '--proxytunnel', '--proxy', `http://127.0.0.1:${PROXY}`];

test('nghttpx with the certificate of a link reaches a routing key, by way of the site that it knows', async (t) => {
  await using net = await outside(t);
  await startProxy(net);
  assert.equal(await net.client.run([...CURL, 'http://web/']), 'hello from east\n');
  // Without its own end: nghttpx takes a client's half-close for its farewell.
  const tunnel = ['socat', '-t', '25', '-', `PROXY:127.0.0.1:redis:6379,proxyport=${PROXY},shut-none`];
  assert.equal(await net.client.run(tunnel, { input: 'PING\r\nQUIT\r\n' }), '+PONG\r\n+OK\r\n');
});

test('its tunnels carry bulk both ways, many at once over one connection', async (t) => {
  await using net = await outside(t);
  const kept = await net.server.folder('kept', 'www-data');
  await startNginx(net.server, { port: 81, server: `location /kept/ { alias ${kept}/; dav_methods PUT; }` });
  await net.east.apply(connector('web', '127.0.0.1', 81, { routingKey: 'web:80' }));
  await startProxy(net);
  const { client } = net;
  await client.run(['sh', '-c', `head -c 50000000 /dev/urandom > '${client.dir}/sent'`]);
  const bulk = [...CURL, '--max-time', '120', '--fail'];
  const patience = { timeoutMs: 130_000 };
  const up = [...bulk, '-T', `${client.dir}/sent`, 'http://web/kept/a'];
  await eventually('the other server', async () => (await client.run(up, patience)) === '', patience);
  const names = Array.from({ length: 10 }, (_, at) => `back-${at}`);
  const down = names.flatMap((name) => ['-o', name, 'http://web/kept/a']);
  await client.run([...bulk, '--parallel', '--parallel-immediate', ...down], { ...patience, cwd: client.dir });
  for (const name of names) await client.run(['cmp', 'sent', name], { cwd: client.dir });
});

test('a key that no site has is answered with 404', async (t) => {
  await using net = await outside(t);
  await startProxy(net);
  await assert.rejects(net.client.run([...CURL, 'http://unserved/']), /response 404/);
});

test('without the certificate it reaches nothing', async (t) => {
  await using net = await outside(t);
  await startProxy(net, false);
  await assert.rejects(net.client.run([...CURL, 'http://web/']), /response 50[234]|CONNECT aborted/);
  assert.match(net.west.process.output, /"code":"tls-no-cert"/);
  assert.equal(await net.west.metric('earshot_router_connections_opened_total'), 0);
});
