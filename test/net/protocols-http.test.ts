/** HTTP of each kind through a link, by clients that are hard to please. To the link all of it is bytes; the observers only look on. */
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { eventually, startIperf3, startLinkedPair, startNginx, type LinkedPair } from './harness/index.ts';

const BASE = 'http://127.0.0.1';

/** HTTP/1.1 at 8080; HTTP/2 without TLS at 8081. Uploads are kept, and text is compressed on its way, which makes it chunked. */
async function web(t: TestContext): Promise<LinkedPair> {
  const pair = await startLinkedPair(t, { web: 8080, h2c: 8081 });
  const kept = await pair.server.folder('kept', 'www-data');
  const server = `
    location /kept/ { alias ${kept}/; dav_methods PUT; }
    location /chunked/ { alias ${kept}/; gzip on; gzip_types *; gzip_min_length 0; }`;
  await startNginx(pair.server, { port: 8080, server });
  await startNginx(pair.server, { port: 8081, http2: true });
  await pair.ready();
  return pair;
}

test('many requests on one connection are answered in order', async (t) => {
  await using pair = await web(t);
  const said = await pair.client.run(['curl', '-sS', '-w', '%{num_connects} %{http_code}\n', '-o', '/dev/null', `${BASE}:8080/?[1-200]`]);
  const lines = said.trim().split('\n');
  assert.equal(lines.length, 200);
  assert.deepEqual([lines[0], ...new Set(lines.slice(1))], ['1 200', '0 200']);
});

test('100 MB go up in chunks and come down whole, compressed and in part', async (t) => {
  await using pair = await web(t);
  const { client } = pair;
  const sh = (command: string): Promise<string> =>
    client.run(['bash', '-o', 'pipefail', '-c', command], { cwd: client.dir, timeoutMs: 120_000 });
  await sh('head -c 75000000 /dev/urandom | base64 -w 0 >sent');
  // From a pipe, so that curl cannot know the length and sends chunks.
  await sh(`cat sent | curl -sS --fail -H 'Expect:' -T - ${BASE}:8080/kept/file`);
  await sh(`curl -sS --fail ${BASE}:8080/kept/file | cmp - sent`);
  await sh(`curl -sS --fail --compressed -D head ${BASE}:8080/chunked/file | cmp - sent`);
  assert.match(await sh('cat head'), /^transfer-encoding: chunked\r$/im);
  await sh(`curl -sS --fail -r 50000000-59999999 ${BASE}:8080/kept/file >part`);
  await sh('cmp -i 0:50000000 -n 10000000 part sent');
});

test('wrk keeps a hundred connections busy without one failed request', async (t) => {
  await using pair = await web(t);
  const said = await pair.client.run(['wrk', '-t', '1', '-c', '100', '-d', '5s', '--timeout', '20s', `${BASE}:8080/`]);
  assert.match(said, /\n +[1-9]\d* requests in /);
  assert.doesNotMatch(said, /Socket errors|Non-2xx/);
  const answered = await pair.west.metric('earshot_router_requests_total', { protocol: 'http1', method: 'GET', status: '2xx' });
  assert.ok(answered >= Number(/(\d+) requests in/.exec(said)?.[1]), `${answered} requests were seen`);
});

test('HTTP/2 inside of a link: h2load gets every answer on its multiplexed connections', async (t) => {
  await using pair = await web(t);
  const requests = 50_000;
  const said = await pair.client.run(['h2load', '-n', String(requests), '-c', '20', '-m', '50', `${BASE}:8081/`], { timeoutMs: 120_000 });
  assert.match(said, new RegExp(`${requests} done, ${requests} succeeded, 0 failed, 0 errored, 0 timeout`));
  const labels = { protocol: 'http2', status: '2xx' };
  await eventually('all requests to be seen', async () => (await pair.west.metric('earshot_router_requests_total', labels)) === requests);
});

interface Iperf3 {
  readonly error?: string;
  readonly end: Readonly<Record<string, { readonly bytes?: number }>>;
}

for (const [direction, flags] of [
  ['to the server', []],
  ['to the client', ['-R']],
  ['both ways at once', ['--bidir']],
] as const) {
  test(`iperf3 sends over eight connections ${direction}, and none fails`, async (t) => {
    await using pair = await startLinkedPair(t, { iperf: 5201 });
    await startIperf3(pair.server, { port: 5201 });
    await pair.ready();
    const said = await pair.client.run(['iperf3', '-c', '127.0.0.1', '-P', '8', '-t', '4', '-J', ...flags]);
    // iperf3's own format.
    const { error, end } = JSON.parse(said) as Iperf3;
    assert.equal(error, undefined);
    const sums = Object.entries(end).filter(([name]) => name.startsWith('sum_received'));
    assert.equal(sums.length, flags[0] === '--bidir' ? 2 : 1);
    // On a busy machine these may be few: only the benchmarks make claims about speed.
    for (const [name, { bytes = 0 }] of sums) assert.ok(bytes > 1_000_000, `${name}: ${bytes} bytes`);
  });
}
