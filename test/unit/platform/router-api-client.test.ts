import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { askSocket, readSocket } from '../../../src/platform/linux/router-api.ts';
import { aDirectory } from './support.ts';

const TEXT = Buffer.from('one 1\nzwölf');

/** An API that answers `/metrics` in two parts, and refuses other paths. */
async function startApi(t: TestContext): Promise<string> {
  const socket = join(await aDirectory(t), 'api');
  const server = createServer((request, response) => {
    if (request.url !== '/metrics') return void response.writeHead(404).end('this path does not exist');
    // Within the umlaut.
    response.write(TEXT.subarray(0, -3));
    setImmediate(() => response.end(TEXT.subarray(-3)));
  });
  server.listen(socket);
  await once(server, 'listening');
  t.after(() => server.close());
  return socket;
}

test('a text is read while it arrives, also if a part ends within a character', async (t) => {
  const socket = await startApi(t);
  const parts: string[] = [];
  await readSocket(socket, '/metrics', (text) => void parts.push(text));
  assert.equal(parts.join(''), TEXT.toString());
  assert.equal(await askSocket(socket, '/metrics'), TEXT.toString());
});

test('an answer with an error is not read as text', async (t) => {
  const socket = await startApi(t);
  const parts: string[] = [];
  const reading = readSocket(socket, '/none', (text) => void parts.push(text));
  await assert.rejects(reading, /the response has status 404: this path does not exist/);
  assert.deepEqual(parts, []);
});
