import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type RequestListener, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { askSocket } from '../../../src/platform/linux/router-api.ts';

interface Api extends AsyncDisposable {
  readonly socket: string;
  /** Number of accepted connections. */
  readonly connections: number;
  restart(): Promise<void>;
}

/** An API on a socket. */
async function serve(answer: RequestListener): Promise<Api> {
  const folder = await mkdtemp(join(tmpdir(), 'earshot-socket-'));
  const socket = join(folder, 'api');
  let connections = 0;
  const start = async (): Promise<Server> => {
    const started = createServer(answer).listen(socket);
    started.on('connection', () => void (connections += 1));
    await once(started, 'listening');
    return started;
  };
  const stop = async (started: Server): Promise<void> => {
    started.close();
    started.closeAllConnections();
    await once(started, 'close');
  };
  let server = await start();
  return {
    socket,
    get connections() {
      return connections;
    },
    async restart() {
      await stop(server);
      server = await start();
    },
    async [Symbol.asyncDispose]() {
      await stop(server);
      await rm(folder, { recursive: true });
    },
  };
}

const ok: RequestListener = (_, response) => void response.end('{}');

test('requests to a router one after another use one connection', async () => {
  await using api = await serve(ok);
  for (const path of ['/v1/self', '/v1/keys', '/v1/links']) assert.equal(await askSocket(api.socket, path), '{}');
  assert.equal(await askSocket(api.socket, '/v1/observe', 'POST'), '{}');
  assert.equal(api.connections, 1);
});

test('a router that has restarted is asked over a new connection', async () => {
  await using api = await serve(ok);
  await askSocket(api.socket, '/v1/self');
  await api.restart();
  assert.equal(await askSocket(api.socket, '/v1/self'), '{}');
  assert.equal(api.connections, 2);
});

/** Closes a connection at its second request, as a server does that has closed it as idle meanwhile. */
function closingOnce(): RequestListener {
  let asked = 0;
  return (_, response) => {
    asked += 1;
    if (asked === 2) response.destroy();
    else response.end(String(asked));
  };
}

test('a read whose idle connection was closed is repeated, and an action is not', async () => {
  await using read = await serve(closingOnce());
  await askSocket(read.socket, '/v1/self');
  assert.equal(await askSocket(read.socket, '/v1/self'), '3');
  await using act = await serve(closingOnce());
  await askSocket(act.socket, '/v1/self');
  await assert.rejects(askSocket(act.socket, '/v1/stop', 'POST'), { code: 'ECONNRESET' });
});

test('a router that closes each connection is not asked endlessly', async () => {
  await using api = await serve((_, response) => void response.destroy());
  await assert.rejects(askSocket(api.socket, '/v1/self'), { code: 'ECONNRESET' });
  assert.equal(api.connections, 1);
});
