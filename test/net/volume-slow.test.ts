/** Readers and writers that stand still, beside others that do not. */
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { test, type TestContext } from 'node:test';
import {
  connector,
  eventually,
  listener,
  standStill,
  startLinkedPair,
  startNginx,
  startRedis,
  type LinkedPair,
  type Program,
} from './harness/index.ts';

const SLOW = 20;
const BYTES = 100_000_000;
/** Most MB by which a site may grow. Its clients send fifteen times that. */
const MOST_GROWTH = 130;
/** Milliseconds that a step may take which moves much. */
const PATIENCE = { timeoutMs: 120_000 };
const URL = 'http://127.0.0.1:8080/big';

async function web(t: TestContext): Promise<LinkedPair> {
  const pair = await startLinkedPair(t, { web: 8080, redis: 6379 });
  const kept = await pair.server.folder('kept', 'www-data');
  await pair.server.run(['sh', '-c', `head -c ${BYTES} /dev/urandom >'${kept}/big'`], PATIENCE);
  // nginx would give up readers and writers that stand still for a minute.
  const patience = 'send_timeout 600s; client_body_timeout 600s;';
  const server = `${patience} location /big { alias ${kept}/big; } location /kept/ { alias ${kept}/; dav_methods PUT; }`;
  await startNginx(pair.server, { port: 8080, server });
  await startRedis(pair.server, { port: 6379 });
  await pair.ready();
  return pair;
}

const firstWord = (line: string): string => line.split(' ')[0] ?? '';

/** Everything else goes on: small requests, a bulk download, new connections. */
async function othersGoOn({ client }: LinkedPair): Promise<void> {
  const said = await client.run(['redis-benchmark', '-p', '6379', '-t', 'get,set', '-c', '20', '-n', '20000', '--csv'], PATIENCE);
  assert.doesNotMatch(said, /error/i);
  await client.run(['bash', '-o', 'pipefail', '-c', `curl -sS --fail ${URL} | wc -c | grep -qx ${BYTES}`], PATIENCE);
  const short = await client.run([
    'wrk',
    '-t',
    '1',
    '-c',
    '20',
    '-d',
    '2s',
    '--timeout',
    '20s',
    '-H',
    'Connection: close',
    'http://127.0.0.1:8080/',
  ]);
  assert.match(short, /\n +[1-9]\d* requests in /);
  assert.doesNotMatch(short, /Socket errors|Non-2xx/);
}

const memoryOf = ({ west, east }: LinkedPair): readonly number[] => [west, east].map(({ process }) => process.memory());

/** Compared with both sites when they were fresh. */
async function assertSmall(pair: LinkedPair, fresh: readonly number[], t: TestContext): Promise<void> {
  const now = memoryOf(pair);
  const shown = (megabytes: readonly number[]): string => megabytes.map((each) => each.toFixed(0)).join(' and ');
  t.diagnostic(`fresh ${shown(fresh)} MB, now ${shown(now)} MB`);
  assert.ok(now.every((megabytes, at) => megabytes <= (fresh[at] ?? 0) + MOST_GROWTH));
}

/** Bytes of a key that passed the site in the west one way. */
const passed = (pair: LinkedPair, direction: 'to_client' | 'to_server', key = 'web'): Promise<number> =>
  pair.west.metric('earshot_router_bytes_total', { routing_key: key, direction });

/** Waits until no more bytes come through: a stopped end has filled all buffers in between. */
async function stalled(pair: LinkedPair, direction: 'to_client' | 'to_server', key = 'web'): Promise<void> {
  let last = -1;
  let same = 0;
  await eventually(
    'the stalled transfers to stand still',
    async () => {
      const now = await passed(pair, direction, key);
      same = now > 0 && now === last ? same + 1 : 0;
      last = now;
      return same >= 5;
    },
    { everyMs: 100 },
  );
}

/** Words of a shell that pass on a little ten times a second until `go` is there, and then all that is left. */
const TRICKLE = '{ until [ -e go ]; do head -c 1000; sleep 0.1; done; cat; }';

async function endedWell(programs: readonly Program[]): Promise<void> {
  for (const program of programs) assert.deepEqual(await program.exited, { code: 0, signal: null }, program.output);
}

test('twenty stopped readers delay no other, and receive everything when they continue', async (t) => {
  await using pair = await web(t);
  const { client } = pair;
  const fresh = memoryOf(pair);
  const readers: Program[] = [];
  for (let at = 0; at < SLOW; at += 1) {
    const command = `curl -sS --fail ${URL} | { ${standStill(client.dir)}; }`;
    readers.push(await client.spawn(['bash', '-o', 'pipefail', '-c', command], { name: `reader-${at}` }));
  }
  await eventually(
    'all readers to be connected',
    async () => (await pair.west.metric('earshot_router_connections_open', { routing_key: 'web' })) === SLOW,
  );
  await stalled(pair, 'to_client');
  assert.ok((await passed(pair, 'to_client')) < (SLOW * BYTES) / 2);
  await othersGoOn(pair);
  await assertSmall(pair, fresh, t);
  await client.run(['touch', `${client.dir}/go`]);
  await endedWell(readers);
  const whole = await client.run(['bash', '-c', `curl -sS ${URL} | sha256sum`], PATIENCE);
  assert.deepEqual([...new Set(readers.map(({ output }) => output))], [whole]);
});

test('twenty writers whose server stops delay no other, and lose nothing when it continues', async (t) => {
  await using pair = await web(t);
  const { client, server, west, east } = pair;
  const fresh = memoryOf(pair);
  await west.apply(listener('sink', '127.0.0.1', 9000));
  await east.apply(connector('sink', '127.0.0.1', 9000));
  await writeFile(`${server.dir}/sink.sh`, `${standStill(server.dir)} >>'${server.dir}/sums'\n`);
  await server.spawn(['socat', '-u', 'TCP-LISTEN:9000,fork,reuseaddr,backlog=64', `EXEC:sh ${server.dir}/sink.sh`]);
  await server.listening(9000);
  await west.waitFor('Listener', 'sink');
  await client.run(['sh', '-c', `curl -sS ${URL} >'${client.dir}/sent'`], PATIENCE);
  const send = ['socat', '-u', '-b', '65536', `FILE:${client.dir}/sent`, 'TCP:127.0.0.1:9000'];
  const writers = await Promise.all(Array.from({ length: SLOW }, (_, at) => client.spawn(send, { name: `writer-${at}` })));
  await eventually(
    'all writers to be connected',
    async () => (await west.metric('earshot_router_connections_open', { routing_key: 'sink' })) === SLOW,
  );
  await stalled(pair, 'to_server', 'sink');
  assert.ok((await passed(pair, 'to_server', 'sink')) < (SLOW * BYTES) / 2);
  await othersGoOn(pair);
  await assertSmall(pair, fresh, t);
  await client.run(['touch', `${server.dir}/go`]);
  await endedWell(writers);
  const sums = await eventually(
    'all hashes',
    async () => {
      const lines = (await server.run(['cat', `${server.dir}/sums`])).trim().split('\n');
      return lines.length === SLOW && lines;
    },
    PATIENCE,
  );
  const whole = await client.run(['sha256sum', `${client.dir}/sent`]);
  assert.deepEqual([...new Set(sums.map(firstWord))], [firstWord(whole)]);
});

test('readers and writers that trickle beside fast ones get through whole', async (t) => {
  await using pair = await web(t);
  const { client } = pair;
  await client.run(['sh', '-c', `curl -sS ${URL} | head -c 20000000 >'${client.dir}/sent'`]);
  const spawn = (command: string, name: string): Promise<Program> =>
    client.spawn(['bash', '-o', 'pipefail', '-c', command], { name, cwd: client.dir });
  const writers = await Promise.all(
    Array.from({ length: 5 }, (_, at) =>
      spawn(`${TRICKLE} <sent | curl -sS --fail -o /dev/null -T - http://127.0.0.1:8080/kept/${at}`, `writer-${at}`),
    ),
  );
  const readers = await Promise.all(
    Array.from({ length: 5 }, (_, at) => spawn(`curl -sS --fail -r 0-19999999 ${URL} | ${TRICKLE} >read-${at}`, `reader-${at}`)),
  );
  await eventually(
    'all of them to be connected',
    async () => (await pair.west.metric('earshot_router_connections_open', { routing_key: 'web' })) === 10,
  );
  await othersGoOn(pair);
  assert.ok(
    [...writers, ...readers].every(({ running }) => running),
    'they were there all the time',
  );
  await client.run(['touch', `${client.dir}/go`]);
  await endedWell([...writers, ...readers]);
  for (const at of readers.keys()) {
    await client.run(['cmp', 'sent', `read-${at}`], { cwd: client.dir });
    await client.run(['bash', '-c', `curl -sS http://127.0.0.1:8080/kept/${at} | cmp - sent`], { cwd: client.dir });
  }
});
