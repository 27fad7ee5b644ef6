import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { ClientHttp2Stream } from 'node:http2';
import { createServer, type AddressInfo } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { test } from 'node:test';
import type { TlsBundle } from '../../../src/router/contract.ts';
import { COST } from '../../../src/memory/costs.ts';
import { startRouter } from '../../../src/router/router.ts';
import { metrics } from '../../../src/telemetry/metrics.ts';
import { eventually } from '../../harness/wait.ts';
import { testAuthority } from './support/certificates.ts';
import { access, accessPort, connector, echoServer, link, quiet, siteConfig, start, until } from './support/site.ts';
import { standardClient, type StandardClient } from './support/standard-client.ts';

/** Leaves 16 MiB to peers. */
const MEMORY = 128 << 20;
/** Leaves them as much as one takes, and a half. */
const ROOM_FOR_ONE = 8 * 1.5 * COST.peer;
/** One of them has ten times what a connection of a link takes. */
const ROOM_FOR_FEW = 8 * (4 / 3) * 10 * COST.peer;
/** More of them leave a site no room for a connection of a link: each gets a part of what the others have left. */
const KEYS = Array.from({ length: 12 }, (_, at) => `endless-${at}`);
const GREEDY = 'a0000000-0000-8000-8000-000000000001';
const HONEST = 'a0000000-0000-8000-8000-000000000002';

const authority = await testAuthority();

/** A site with little memory, a server that sends without end, and one that sends back. */
async function site(memory = MEMORY) {
  await using stack = new AsyncDisposableStack();
  const endless = createServer((socket) => {
    const go = (): void => {
      while (socket.write(PAGE));
    };
    socket.on('error', () => {}).on('drain', go);
    go();
  }).listen(0, '127.0.0.1');
  await once(endless, 'listening');
  stack.defer(() => void endless.close());
  const echo = stack.use(await echoServer());
  const config = {
    ...siteConfig('small'),
    accesses: [access(await authority.issue()), access(await authority.issue(), { name: 'edges', role: 'edge' })],
    connectors: [
      ...KEYS.map((key) => ({ ...connector(key, (endless.address() as AddressInfo).port), probe: 'none' as const })),
      connector('echo', echo.port),
    ],
  };
  const router = stack.use(await startRouter(config, {}, { log: quiet, memory }));
  const port = await accessPort(router);
  const edgePort = await accessPort(router, 'edges');
  const owned = stack.move();
  return { port, edgePort, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

const PAGE = Buffer.alloc(65_536);

function ask({ session }: StandardClient, key: string): ClientHttp2Stream {
  const stream = session.request({ ':method': 'CONNECT', ':authority': key }, { endStream: false });
  stream.on('error', () => {});
  return stream;
}

/** Opens connections and reads nothing of what they bring, until one is refused. @param open those that are not. @returns how */
async function fill(
  client: StandardClient,
  key = 'endless-0',
  open: ClientHttp2Stream[] = [],
): Promise<{ readonly status: unknown; readonly said: string }> {
  for (;;) {
    const stream = ask(client, key);
    const [head] = await once(stream, 'response');
    if (head[':status'] !== 200) return { status: head[':status'], said: String(head['proxy-status']) };
    open.push(stream);
  }
}

/** Whatever has been sent to it by now has arrived. */
async function caughtUp({ session }: StandardClient): Promise<void> {
  await new Promise((resolve) => session.ping(resolve));
}

async function echoed(client: StandardClient): Promise<string> {
  const stream = ask(client, 'echo');
  stream.end('still served');
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

async function lastWords(port: number, { cert = '', key = '', ca = '' }: TlsBundle): Promise<string> {
  const socket = connectTls({ host: '127.0.0.1', port, cert, key, ca, ALPNProtocols: ['h2'] });
  socket.on('error', () => {});
  const chunks: Buffer[] = [];
  for await (const chunk of socket) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('latin1');
}

async function held(): Promise<number> {
  return Number(/^earshot_router_memory_held_bytes\{by="all"\} (\d+)/m.exec(await metrics.metrics())?.[1]);
}

test('a site that reads nothing has its share of memory, whatever certificates it has, and others go on', async () => {
  await using small = await site();
  const greedy = await standardClient(small.port, await authority.issue({ siteId: GREEDY }));
  using honest = await standardClient(small.port, await authority.issue({ siteId: HONEST }));
  const refused = await fill(greedy);
  assert.equal(refused.status, 503);
  assert.match(refused.said, /error=connection_limit_reached; details="busy: \d+ MiB of this router's memory are in use for you/);
  using again = await standardClient(small.port, await authority.issue({ siteId: GREEDY }));
  assert.equal((await fill(again)).status, 503);
  for (let round = 0; round < 10; round += 1) assert.equal(await echoed(honest), 'still served');
  using another = await standardClient(small.port, await authority.issue());
  assert.equal(await echoed(another), 'still served');

  greedy.session.destroy();
  await eventually('its share to be free again', async () => (await held()) < 1 << 20);
  using back = await standardClient(small.port, await authority.issue({ siteId: GREEDY }));
  assert.equal(await echoed(back), 'still served');
});

test('a link whose second connection would find no memory is refused with its first, and receives the reason', async () => {
  const tight = { ...siteConfig('tight'), accesses: [access(await authority.issue())] };
  await using full = await startRouter(tight, {}, { log: quiet, memory: ROOM_FOR_ONE });
  const tls = await authority.issue();
  await using other = await start({ ...siteConfig('other'), links: [link('to-tight', await accessPort(full), tls)] });
  const words: string[] = [];
  other.onChange(() => words.push(other.state.links['to-tight']?.problem?.message ?? ''));
  await until(other, 'the refusal', ({ links }) => /of this router's memory/.test(links['to-tight']?.problem?.message ?? ''));
  assert.deepEqual(
    words.filter((said) => said !== '' && !said.includes("of this router's memory")),
    [],
  );
});

test('connections of a site at its limit end for a link of that site, and for nothing else', async () => {
  await using small = await site(ROOM_FOR_FEW);
  const greedy = siteConfig('greedy');
  const issue = () => authority.issue({ siteId: greedy.site.id });
  using client = await standardClient(small.port, await issue());
  const open: ClientHttp2Stream[] = [];
  for (const key of KEYS) assert.equal((await fill(client, key, open)).status, 503);
  // Node.js reports the end of a stream only once all of it has been read.
  const ended = (): number => open.filter(({ closed }) => closed).length;

  using another = await standardClient(small.port, await issue());
  assert.equal((await fill(another)).status, 503);
  await using refused = await start({ ...greedy, links: [link('edges', small.edgePort, await issue())] });
  await until(refused, 'the refusal', ({ links }) => links.edges?.problem?.code === 'edge-only');
  await caughtUp(client);
  assert.equal(ended(), 0);

  await using linked = await start({ ...greedy, links: [link('small', small.port, await issue())] });
  await until(linked, 'the link', ({ links }) => links.small?.operational === true);
  await caughtUp(client);
  assert.ok(ended() > 0);
});

test('a peer has sixteen connections, with as many certificates of one site as it likes', async (t) => {
  await using small = await site();
  const bundles = [await authority.issue({ siteId: GREEDY }), await authority.issue({ siteId: GREEDY })];
  const clients: StandardClient[] = [];
  t.after(() => clients.forEach((client) => client[Symbol.dispose]()));
  for (let at = 0; at < 16; at += 1) clients.push(await standardClient(small.port, bundles[at % 2] ?? ({} as TlsBundle)));
  assert.equal(await echoed(clients[15] as StandardClient), 'still served');
  assert.match(await lastWords(small.port, bundles[0] as TlsBundle), /busy: 16 connections are open/);
  using other = await standardClient(small.port, await authority.issue({ siteId: HONEST }));
  assert.equal(await echoed(other), 'still served');
});
