/** The contract of each port whose TLS a `TlsAcceptor` accepts. */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { describe, it, type TestContext } from 'node:test';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { serveRouterApiByTls } from '../../../src/agent/api/serve-tls.ts';
import { listenForConsole } from '../../../src/console/listen.ts';
import { limitTable } from '../../../src/limits/table.ts';
import { createLogger } from '../../../src/telemetry/log.ts';
import { issueBundle } from '../../../src/trust/issue.ts';
import { eventually } from '../../harness/wait.ts';
import { serve } from '../router/local/peers.ts';
import { connector, here, listener, oneSide, WEST_ROUTER } from '../router/local/two-sides.ts';
import { keyChanger } from '../router/support/key-updates.ts';
import { access, accessPort, siteConfig, start } from '../router/support/site.ts';
import { freePort } from '../support/free-port.ts';
import { comeAndGo, openSockets } from '../support/disconnected-clients.ts';
import { quietApi } from '../support/router-api.ts';
import { startGranting } from '../trust/support/grant-server.ts';
import { makeAuthority } from '../trust/support/site.ts';

const authority = makeAuthority();
const bundle = issueBundle(authority, 'it', { subject: 'it', hosts: ['127.0.0.1'], client: true, server: true });
const { cert, key } = bundle;
const log = createLogger({ level: 'silent', component: 'test' });
const SLOTS = 8;

interface OpenPort extends AsyncDisposable {
  readonly port: number;
}

interface PortKind {
  readonly name: string;
  /** Slots of connections of one address. */
  readonly slots: number;
  /** Ends handshakes when it stops listening; an access lets them finish. */
  readonly endsHandshakes: boolean;
  readonly protocol?: string;
  open(): Promise<OpenPort>;
}

async function openListener(): Promise<OpenPort> {
  const stack = new AsyncDisposableStack();
  const server = stack.use(await serve(({ socket }) => socket.pipe(socket)));
  const { local, routing } = oneSide(WEST_ROUTER, { limits: { handshakes: SLOTS, handshake: 600_000 } });
  stack.use(local);
  const port = await freePort();
  routing.byKey.set('key', [here(WEST_ROUTER)]);
  local.apply([listener(port, 'key', { tls: bundle })], [connector(server.port, 'key')]);
  await eventually('the listener listens', () => local.state.listeners['Listener/key']?.listening);
  return { port, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

async function openAccess(): Promise<OpenPort> {
  const router = await start({ ...siteConfig('west'), accesses: [access(bundle)] });
  return { port: await accessPort(router), [Symbol.asyncDispose]: () => router[Symbol.asyncDispose]() };
}

async function openGrants(): Promise<OpenPort> {
  const site = await startGranting({ limits: { connections: SLOTS, connectionsOfAddress: SLOTS } });
  return { port: site.server.port, [Symbol.asyncDispose]: () => site[Symbol.asyncDispose]() };
}

const openApi = (): Promise<OpenPort> =>
  serveRouterApiByTls(quietApi(), {
    port: 0,
    host: '127.0.0.1',
    tls: bundle,
    revoked: () => ({ sites: [], serials: [] }),
    log,
    limits: { handshakes: SLOTS, handshakesOfAddress: SLOTS },
  });

const openConsole = async (): Promise<OpenPort> => {
  const { port, close } = await listenForConsole((_, response) => void response.end(), 0, { cert, key });
  return { port, [Symbol.asyncDispose]: close };
};

const KINDS: readonly PortKind[] = [
  { name: 'links', slots: 64, endsHandshakes: false, protocol: 'h2', open: openAccess },
  { name: 'a TLS Listener', slots: SLOTS, endsHandshakes: true, open: openListener },
  { name: 'token redemption', slots: SLOTS, endsHandshakes: true, open: openGrants },
  { name: "a router's API", slots: SLOTS, endsHandshakes: true, open: openApi },
  { name: 'the console', slots: limitTable.consoleUnauthenticated.value, endsHandshakes: true, open: openConsole },
];

interface Client {
  readonly socket: Socket;
  readonly isClosed: boolean;
}

/** A client that speaks no TLS. */
function dial(t: TestContext, port: number): Client {
  const socket = connect({ port, host: '127.0.0.1' });
  let isClosed = false;
  socket.on('error', () => {}).resume();
  socket.once('close', () => (isClosed = true));
  t.after(() => void socket.destroy());
  return {
    socket,
    get isClosed() {
      return isClosed;
    },
  };
}

/** Resolves once the port has answered a client with a certificate. */
async function isServed(t: TestContext, port: number, protocol: string | undefined, localAddress: string): Promise<void> {
  const ALPNProtocols = protocol === undefined ? {} : { ALPNProtocols: [protocol] };
  const raw = connect({ port, host: '127.0.0.1', localAddress });
  const client: TLSSocket = connectTls({ socket: raw, cert, key, rejectUnauthorized: false, ...ALPNProtocols });
  t.after(() => [client, raw].map((socket) => socket.destroy()));
  for (const socket of [client, raw]) socket.on('error', () => {});
  client.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n');
  await once(client, 'data');
}

/**
 * Sends 112 KiB of a ClientHello of 128 KiB, in records of 16 KiB. Ports for TLS 1.3 only do not count what they read first, so each record
 * waits until the one before it has been read.
 */
async function sendEndlessHello(client: Client, port: number): Promise<void> {
  const record = Buffer.concat([Buffer.from('1603014000', 'hex'), Buffer.alloc(16_384, 1)]);
  const first = Buffer.from(record);
  Buffer.from('0101ffff0303', 'hex').copy(first, 5);
  await once(client.socket, 'connect');
  const from = client.socket.localPort ?? 0;
  for (const bytes of [first, ...Array.from({ length: 6 }, () => record)]) {
    client.socket.write(bytes);
    await eventually('the record has been read', () => client.isClosed || unreadBytes(port, from) === 0);
  }
}

/** Bytes that the process at `port` has not read of the connection from port `from` (proc(5), `rx_queue`). */
function unreadBytes(port: number, from: number): number {
  const [to, of] = [port, from].map((each) => each.toString(16).toUpperCase().padStart(4, '0'));
  const rows = ['tcp', 'tcp6'].flatMap((table) => readFileSync(`/proc/self/net/${table}`, 'utf8').split('\n'));
  const row = rows
    .map((each) => each.trim().split(/\s+/))
    .find(([, local, remote]) => local?.endsWith(`:${to}`) && remote?.endsWith(`:${of}`));
  return Number.parseInt(row?.[4]?.split(':')[1] ?? '0', 16);
}

for (const { name, slots, endsHandshakes, protocol, open } of KINDS)
  describe(`the port of ${name}`, () => {
    it('serves a client while silent ones hold all slots of its address, in place of the oldest', async (t) => {
      await using opened = await open();
      const silent = Array.from({ length: slots }, () => dial(t, opened.port));
      await Promise.all(silent.map(({ socket }) => once(socket, 'connect')));
      await isServed(t, opened.port, protocol, '127.0.0.1');
      await eventually('one is evicted', () => silent.some(({ isClosed }) => isClosed));
    });

    it('ends a client that updates its keys without end, and serves another', async (t) => {
      await using opened = await open();
      using greedy = await keyChanger(opened.port, { cert, key, ...(protocol === undefined ? {} : { ALPNProtocols: [protocol] }) });
      greedy.change(10_000);
      await eventually('it is ended', () => greedy.tls.destroyed);
      await isServed(t, opened.port, protocol, '127.0.0.2');
    });

    it('ends a handshake that has more bytes than it needs', async (t) => {
      await using opened = await open();
      const wordy = dial(t, opened.port);
      await sendEndlessHello(wordy, opened.port);
      await eventually('it is ended', () => wordy.isClosed, { timeoutMs: 5_000 });
    });

    it('leaves nothing open of clients that reset before they are accepted', async (t) => {
      await using opened = await open();
      const before = openSockets();
      comeAndGo(opened.port, 100);
      await eventually('all are closed', () => openSockets() <= before);
      await isServed(t, opened.port, protocol, '127.0.0.3');
    });

    if (endsHandshakes)
      it('ends handshakes when it closes', async (t) => {
        await using opened = await open();
        const [silent, half] = [dial(t, opened.port), dial(t, opened.port)];
        half.socket.write(Buffer.from('1603010200', 'hex'));
        await isServed(t, opened.port, protocol, '127.0.0.4');
        await opened[Symbol.asyncDispose]();
        await eventually('both are closed', () => silent.isClosed && half.isClosed);
      });
  });
