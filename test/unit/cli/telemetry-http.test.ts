/** Metrics and probes, on a port without authentication. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { Renderings } from '../../../src/cli/processes/renderings.ts';
import { serveTelemetry, type TelemetryServer } from '../../../src/cli/processes/telemetry-http.ts';
import { messageOf } from '../../../src/telemetry/log.ts';
import { eventually } from '../../harness/wait.ts';
import { openSockets } from '../router/support/open-files.ts';

const serve = (): Promise<TelemetryServer> => serveTelemetry({ port: 0, host: '127.0.0.1', live: () => undefined, ready: () => 'not yet' });

test('a port in use is reported with the process that holds it, and with the option for another port', async () => {
  await using holder = createServer();
  await once(holder.listen(0, '127.0.0.1'), 'listening');
  // The address of a server that listens on TCP.
  const { port } = holder.address() as AddressInfo;
  const message = `Cannot listen on 127.0.0.1:${port}: the port is in use by NAME (pid ${process.pid}). Choose another with --http-port.`;
  await assert.rejects(serveTelemetry({ port, host: '127.0.0.1', live: () => undefined, ready: () => undefined }), (error: Error) => {
    assert.equal(messageOf(error).replace(/by .* \(pid/, 'by NAME (pid'), message);
    return true;
  });
});

test('a client that holds connections open gets few of them, and keeps no other client out', async () => {
  await using server = await serve();
  const before = openSockets();
  const held = await Promise.all(Array.from({ length: 100 }, () => open(server.port)));
  assert.match(await ask(server.port, '/livez'), /^HTTP\/1\.1 200 /);
  assert.match(await ask(server.port, '/readyz'), /^HTTP\/1\.1 503 [^]*not yet/);
  // The test's own ends as well.
  await eventually('most of them to be closed', () => openSockets() - before <= 2 * 16);
  for (const socket of held) socket.destroy();
});

test('a page is JSON, and the answer for another path names it', async () => {
  await using server = await serveTelemetry({
    port: 0,
    host: '127.0.0.1',
    live: () => undefined,
    ready: () => undefined,
    pages: { '/v1/volumes': () => ({ items: [1] }) },
  });
  assert.match(await ask(server.port, '/v1/volumes'), /^HTTP\/1\.1 200 [^]*\{"items":\[1\]\}\n/);
  assert.match(await ask(server.port, '/v1/other'), /^HTTP\/1\.1 404 [^]*\/metrics, \/livez, \/v1\/volumes and \/readyz/);
});

test('a client that sends thousands of requests at once without waiting is cut off', async () => {
  await using server = await serve();
  const socket = await open(server.port);
  socket.write('GET /metrics HTTP/1.1\r\nhost: a\r\n\r\n'.repeat(2_000));
  await eventually('it to be closed', () => socket.destroyed);
});

test('a client that sends more than a request at once is cut off, and nothing of it is read', async () => {
  await using server = await serve();
  const flood = `POST /metrics HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n${'1\r\nx\r\n'.repeat(8_000)}`;
  const sockets = await Promise.all(Array.from({ length: 16 }, () => open(server.port)));
  const answers = sockets.map((socket) => {
    const { promise, resolve } = Promise.withResolvers<string>();
    let said = '';
    socket.on('data', (bytes: Buffer) => (said += bytes.toString('latin1')));
    socket.once('close', () => resolve(said.split('\r\n', 1)[0] ?? ''));
    return promise;
  });
  for (const socket of sockets) socket.write(flood);
  for (const said of await Promise.all(answers)) assert.match(said, /^(HTTP\/1\.1 431 .*)?$/);
});

test('one of several clients with many requests is read per event-loop iteration', async () => {
  let [inTurn, most, all] = [0, 0, 0];
  const live = (): undefined => {
    inTurn += 1;
    all += 1;
    most = Math.max(most, inTurn);
  };
  await using server = await serveTelemetry({ port: 0, host: '127.0.0.1', live, ready: () => undefined });
  const sockets = await Promise.all(Array.from({ length: 16 }, () => open(server.port)));
  const question = 'GET /livez HTTP/1.1\r\nhost: a\r\n\r\n';
  for (const socket of sockets) socket.write(question);
  await eventually('all to be read', () => all === 16);
  for (const socket of sockets) socket.write(question.repeat(100));
  const end = performance.now() + 60_000;
  const isOver = (): boolean => all === 1_616 || performance.now() > end;
  for (; !isOver(); inTurn = 0) await setImmediate();
  assert.equal(all, 1_616);
  assert.ok(most <= 200, `${most} questions in one turn`);
  for (const socket of sockets) socket.destroy();
});

test('metrics are rendered once for all who ask meanwhile, and who asks without end gets those of a moment ago', async () => {
  let now = 0;
  let rendered = 0;
  const renderings = new Renderings(
    async () => {
      rendered += 1;
      return Promise.resolve(`text ${rendered}`);
    },
    () => now,
  );
  assert.deepEqual(await Promise.all([1, 2, 3].map(() => renderings.latest())), ['text 1', 'text 1', 'text 1']);
  for (let time = 0; time < 1_000; time += 1) await renderings.latest();
  assert.ok(rendered < 20, `rendered ${rendered} times at once`);
  const before = rendered;
  now += 100;
  assert.equal(await renderings.latest(), `text ${before + 1}`);
});

test('a failure to render metrics does not fail the next request', async () => {
  let fails = true;
  const renderings = new Renderings(() => (fails ? Promise.reject(new Error('no')) : Promise.resolve('text')));
  await assert.rejects(renderings.latest());
  fails = false;
  assert.equal(await renderings.latest(), 'text');
});

async function open(port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => {}).resume();
  await once(socket, 'connect');
  return socket;
}

async function ask(port: number, path: string): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  socket.write(`GET ${path} HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n`);
  return text(socket);
}
