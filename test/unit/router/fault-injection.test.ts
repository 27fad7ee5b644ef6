import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect as connectTcp, type AddressInfo, type Socket } from 'node:net';
import { connect as connectTls, createServer as createTlsServer } from 'node:tls';
import { after, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import type { RouterConfig } from '../../../src/router/contract.ts';
import { logInternalErrors, seam, type HandlerName } from '../../../src/telemetry/boundary.ts';
import { freePort } from '../support/free-port.ts';
import { testAuthority } from './support/certificates.ts';
import { openSockets } from './support/open-files.ts';
import { access, accessPort, connector, echoServer, greeted, link, listener, quiet, siteConfig, start } from './support/site.ts';

logInternalErrors(quiet);

const authority = await testAuthority();
const [bundle, foreign] = [await authority.issue(), await (await testAuthority('another authority')).issue()];
const later = await authority.issue({ from: new Date(Date.now() + 1_800_000) });
const stack = new AsyncDisposableStack();
const ROUTER = join(import.meta.dirname, '../../../src/router');
const GREETING = 'welcome ';

/** Parts that are always there and must not notice: a server behind a hub, and a neighbour of the hub with a connection of its own. */
const echo = stack.use(await echoServer(GREETING));
const secure = createTlsServer({ cert: bundle.cert, key: bundle.key, handshakeTimeout: 500 }, (socket) => {
  socket.on('error', () => {});
  socket.pipe(socket);
}).listen(0, '127.0.0.1');
await once(secure, 'listening');
secure.on('tlsClientError', (_, socket) => socket.destroy());
stack.defer(() => void secure.close());
const [hubPort, neighbourPort, deadPort] = [await freePort(), await freePort(), await freePort()];
const hub = stack.use(
  await start(
    {
      ...siteConfig('hub'),
      accesses: [access(bundle)],
      listeners: [listener('key', hubPort)],
      connectors: [
        connector('key', echo.port),
        { ...connector('named', echo.port), hosts: ['localhost'] },
        // A TCP server that listens has an address.
        {
          ...connector('secure', (secure.address() as AddressInfo).port),
          tls: { bundle: { name: 'ca', ca: authority.ca }, verifyHostname: false },
        },
        connector('dead', deadPort),
      ],
    },
    { renew: () => Promise.resolve({ cert: 'none', ca: 'none' }) },
  ),
);
const hubAccess = await accessPort(hub);
const neighbour = stack.use(
  await start({ ...siteConfig('neighbour'), links: [link('hub', hubAccess, bundle)], listeners: [listener('key', neighbourPort)] }),
);

/**
 * One site's life among them: it links, listens in each way, carries connections of each kind, changes, and ends.
 * @returns whether all its Listeners listened in time: a fault may keep one from it
 */
async function life(within = 1_000): Promise<boolean> {
  const directory = await mkdtemp(join(tmpdir(), 'earshot-faults-'));
  const [one, two] = [join(directory, 'one'), join(directory, 'two')];
  const ports = await Promise.all(['key', 'named', 'secure', 'dead', 'tls', 'local'].map(() => freePort()));
  const [key = 0, named = 0, securely = 0, dead = 0, tls = 0, local = 0] = ports;
  const base = siteConfig('passing');
  const config: RouterConfig = {
    ...base,
    // Whatever listens there, it is no proxy.
    links: [link('hub', hubAccess, bundle), { ...link('proxied', hubAccess, bundle), proxy: { host: '127.0.0.1', port: echo.port } }],
    accesses: [access(bundle), access(bundle, { name: 'taken', port: hubPort })],
    listeners: [
      listener('key', key),
      listener('named', named, { host: 'localhost' }),
      listener('secure', securely),
      listener('dead', dead),
      listener('key', tls, { name: 'Listener/tls', tls: bundle }),
      listener('key', hubPort, { name: 'Listener/taken' }),
      listener('key', 1, { name: 'Listener/nameless', host: 'no.such.name.invalid' }),
      listener('local', local, { observer: 'http1' }),
    ],
    connectors: [connector('local', echo.port)],
    siblings: { kind: 'unix', socket: one, others: [two], sharesPorts: true },
  };
  let isWhole: boolean;
  {
    await using router = await start(config);
    await using _sibling = await start({
      ...base,
      router: 'second',
      siblings: { kind: 'unix', socket: two, others: [one], sharesPorts: true },
    });
    router.onChange(() => {});
    const listens = (name: string): boolean => router.state.listeners[`Listener/${name}`]?.listening === true;
    isWhole = await met(() => ['key', 'named', 'secure', 'dead', 'tls', 'local'].every(listens), within);
    const own = router.state.accesses['access']?.port;
    const lasting = connectTcp(key, '127.0.0.1').on('error', () => {});
    await Promise.all([
      ...[key, named, securely, dead, local, tls].map((port) => talk(connectTcp(port, 'localhost'))),
      talk(connectTcp(local, '127.0.0.1'), 'reset'),
      talk(connectTls({ port: tls, host: '127.0.0.1', rejectUnauthorized: false, cert: bundle.cert, key: bundle.key })),
      ...(own === undefined ? [] : [talk(connectTcp(own, '127.0.0.1')), talk(foreignClient(own))]),
      router.renew('hub', 'a request').catch(() => {}),
    ]);
    // A link with connections is drained; a router that links to itself is refused; a certificate that is not valid yet is awaited.
    router.apply({ ...config, accesses: [access(later)], links: own === undefined ? [] : [link('self', own, bundle)] });
    await met(() => router.state.links['self']?.problem !== undefined, 500);
    router.apply({ ...config, accesses: [], links: [] });
    lasting.destroy();
  }
  await rm(directory, { recursive: true });
  return isWhole;
}

const foreignClient = (port: number): Socket =>
  connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false, cert: foreign.cert, key: foreign.key, ALPNProtocols: ['h2'] });

/** Sends something and half-closes; resolves when nothing of it is left, however it ended. */
async function talk(socket: Socket, how: 'end' | 'reset' = 'end'): Promise<void> {
  socket.on('error', () => {}).on('data', () => how === 'reset' && socket.resetAndDestroy());
  // Also of what observers read.
  socket.end(`GET / HTTP/1.1\r\n${'a: b\r\n'.repeat(300)}\r\n${'x'.repeat(100_000)}`);
  try {
    await ended(socket);
  } finally {
    socket.destroy();
  }
}

async function ended(socket: Socket): Promise<void> {
  assert.ok(await met(() => socket.closed), 'a connection neither ends nor breaks');
}

/** Polls: the handler that would report the change may be the one that threw. */
async function met(holds: () => boolean, within = 60_000): Promise<boolean> {
  for (const end = Date.now() + within; !holds(); await wait(5)) if (Date.now() > end) return false;
  return true;
}

/** All handlers of the router, by their names in its sources. */
const names = readdirSync(ROUTER, { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.ts'))
  .concat('../net/host-names.ts', '../net/tls-acceptor.ts', '../limits/loop/loop-quota.ts')
  .flatMap((file) => [
    ...readFileSync(join(ROUTER, file), 'utf8').matchAll(/\b(?:(?:bounded|guard|detached|attempt)\(|name:)\s*'([a-z]+\/[a-z0-9-]+)'/g),
  ])
  .map(([, name]) => name as HandlerName);

/** No test here reaches these: faults at one moment only, stalled readers, lack of memory, names with several addresses, a resolver that does not answer, floods of routing messages, more TLS handshakes than begin at once, a link that is evicted for one elsewhere, a clock that routers share, probes, figures for others. */
const UNREACHED: ReadonlySet<string> = new Set([
  'connection/stalled-look',
  'look/stalled-rest',
  'look/coarse-clock',
  'connection/keys-changed-too-often',
  'connection/look-again',
  'connection/no-server',
  'connection/no-way',
  'connection/next-address',
  'connection/handshake-pace',
  'connection/name-known',
  'connection/route-request',
  'stream/figures-unread',
  'stream/question-deadline',
  'connection/reset-after-end',
  'connection/closed-before-end',
  'look/name-again',
  'look/name-subscriber',
  'connection/socket-written',
  'link/handover',
  'link/settled',
  'link/routing-wait',
  'listener/access-drain-deadline',
  'look/memory-holder',
  'look/routing-release',
  'session/read-on',
]);
/** What a life brings about by itself. The rest, which waits for longer than a test or for what does not happen here, is called as soon as it is there. */
const natural = new Set<HandlerName>();
const BATCH = 32;

test('an error of any handler leaves the process and all others running, and nothing behind', async () => {
  assert.ok(await met(() => neighbour.state.listeners['Listener/key']?.listening === true));
  const steady = (await greeted(hubPort)).on('error', () => {});
  let far = (await greeted(neighbourPort)).on('error', () => {});
  seam.before = (name) => natural.add(name);
  assert.ok(await life(60_000), 'without faults, all listen');
  const baseline = openSockets();
  let left = names.filter((name) => !UNREACHED.has(name));
  const allBatches = Math.ceil(left.length / BATCH);
  for (let round = 0; left.length > 0 && round < 30; round += 1) {
    const batch = left.slice(0, BATCH);
    const armed = new Set(batch);
    // Handlers that ran while the first life was slow need not run again in time.
    const thrown = await withFaults(armed, () => life(), round >= allBatches);
    left = [...left.slice(BATCH), ...batch.filter((name) => !thrown.has(name))];
    assert.equal(await exchange(steady), 'still here', `a connection at the hub, after faults in ${batch}`);
    const isLinkHit = [...thrown].some((name) => /^(?:session|link|look)\//.test(name));
    if (!isLinkHit || !far.destroyed) assert.equal(await exchange(far), 'still here', `a neighbour's connection, after faults in ${batch}`);
    // It may be on a link that a new one has replaced, and keep that.
    far.destroy();
    far = await again(neighbourPort);
    assert.ok(await met(() => openSockets() <= baseline && echo.sockets.size === 2), `something is left of ${batch}`);
  }
  assert.deepEqual(left, [], 'each was reached');
  steady.destroy();
  far.destroy();
});

/** Each throws once. @param isLate also what comes by itself is not waited for. @returns those that threw */
async function withFaults(armed: Set<HandlerName>, action: () => Promise<unknown>, isLate: boolean): Promise<ReadonlySet<HandlerName>> {
  const thrown = new Set<HandlerName>();
  seam.before = (name) => {
    if (!armed.delete(name)) return;
    thrown.add(name);
    throw new TypeError(`a fault in ${name}`);
  };
  seam.created = (name, call) => {
    if (!armed.has(name) || (natural.has(name) && !isLate)) return call;
    // Its arguments are never read, as it throws.
    setImmediate(call as () => void);
    // In place of the time when it would have been called; but whatever waits for what comes by itself is not to wait in vain.
    return natural.has(name) ? call : () => {};
  };
  try {
    await action();
  } finally {
    seam.before = undefined;
    seam.created = undefined;
  }
  return thrown;
}

async function exchange(socket: Socket): Promise<string> {
  let answer = '';
  const read = (chunk: Buffer): void => void (answer += chunk.toString());
  socket.on('data', read);
  socket.write('still here');
  await met(() => answer.length >= 10 || socket.destroyed, 5_000);
  socket.off('data', read);
  return answer;
}

async function again(port: number): Promise<Socket> {
  for (let tries = 0; tries < 200; tries += 1) {
    const socket = connectTcp({ port, host: '127.0.0.1', allowHalfOpen: true }).on('error', () => {});
    let isGreeted = false;
    socket.on('data', () => (isGreeted = true));
    if (await met(() => isGreeted || socket.closed)) if (isGreeted) return socket;
    await wait(50);
  }
  throw new Error('the neighbour is served no more');
}

after(() => stack.disposeAsync());
