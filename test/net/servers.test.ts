import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import {
  createAuthority,
  createNetwork,
  issue,
  startIperf3,
  startNginx,
  startPostgres,
  startRedis,
  startSshd,
  type Host,
} from './harness/index.ts';

/** Two hosts; the clients are on the first. */
async function hosts(t: TestContext): Promise<{ net: AsyncDisposable; west: Host; east: Host }> {
  const net = await createNetwork({ hosts: ['west', 'east'], test: t });
  return { net, west: net.host('west'), east: net.host('east') };
}

test('nginx answers in plain and over TLS', async (t) => {
  const { net, west, east } = await hosts(t);
  await using _net = net;
  const bundle = await issue(await createAuthority(`${east.dir}/ca`), 'east');
  await startNginx(east, { port: 80, files: { '/some.txt': 'some text' } });
  await startNginx(east, { port: 443, tls: bundle });
  assert.equal(await west.run(['curl', '-sS', 'http://east/']), 'hello from east\n');
  assert.equal(await west.run(['curl', '-sS', 'http://east/some.txt']), 'some text');
  assert.equal(await west.run(['curl', '-sS', '--cacert', bundle.ca, 'https://east/']), 'hello from east\n');
});

test('Redis answers', async (t) => {
  const { net, west, east } = await hosts(t);
  await using _net = net;
  await startRedis(east, { port: 6379 });
  assert.equal(await west.run(['redis-cli', '-h', 'east', 'set', 'key', 'value']), 'OK\n');
});

test('PostgreSQL answers over TLS', async (t) => {
  const { net, west, east } = await hosts(t);
  await using _net = net;
  const bundle = await issue(await createAuthority(`${east.dir}/ca`), 'east');
  await startPostgres(east, { port: 5432, tls: bundle });
  const url = `postgresql://postgres@east/postgres?sslmode=verify-full&sslrootcert=${bundle.ca}`;
  assert.equal(await west.run(['psql', url, '-Atc', 'select ssl from pg_stat_ssl where pid = pg_backend_pid()']), 't\n');
});

test('an SSH server lets its client in', async (t) => {
  const { net, west, east } = await hosts(t);
  await using _net = net;
  const { client } = await startSshd(east, { port: 22 });
  assert.equal(await west.run([...client, `root@${east.v4}`, 'echo "$SSH_CONNECTION" | cut -d " " -f 3']), `${east.v4}\n`);
});

test('iperf3 measures', async (t) => {
  const { net, west, east } = await hosts(t);
  await using _net = net;
  await startIperf3(east, { port: 5201 });
  const said = await west.run(['iperf3', '-c', 'east', '-n', '1M', '-J']);
  assert.match(said, /"sum_received"/);
});
