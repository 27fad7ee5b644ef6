import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { connect as connectHttp2 } from 'node:http2';
import { connect as connectTcp, type Socket } from 'node:net';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { test, type TestContext } from 'node:test';
import { pino } from 'pino';
import { openBundle } from '../../../../src/router/link/bundle.ts';
import { openLink } from '../../../../src/router/link/dial/outgoing.ts';
import { dialTls } from '../../../../src/router/link/dial/tls-dial.ts';
import { startRouter } from '../../../../src/router/router.ts';
import { metrics } from '../../../../src/telemetry/metrics.ts';
import { eventually } from '../../../harness/wait.ts';
import { testAuthority } from '../support/certificates.ts';
import { linkHost } from '../support/link-host.ts';
import { access, accessPort, siteConfig } from '../support/site.ts';
import { standardClient } from '../support/standard-client.ts';
import { waitForClose } from '../../support/wait-for-close.ts';

const authority = await testAuthority();
const bundle = await authority.issue();

interface Watched extends AsyncDisposable {
  readonly port: number;
  /** Log lines, each JSON. */
  readonly lines: readonly string[];
  /** How often peers were refused or cut off for this reason, since the start. */
  readonly counted: (reason: string) => Promise<number>;
}

/** The clock of the ration of log lines stands still: what a ration grows by must not depend on how long a test takes. */
function stopClock(t: TestContext): void {
  t.mock.timers.enable({ apis: ['Date'], now: Date.now() });
}

async function start(): Promise<Watched> {
  const lines: string[] = [];
  const log = pino({ level: 'info' }, { write: (line: string) => void lines.push(line) });
  const started = await startRouter({ ...siteConfig('server'), accesses: [access(bundle)] }, {}, { log });
  const port = await accessPort(started);
  const count = async (reason: string): Promise<number> => {
    const sample = new RegExp(`^earshot_router_peers_refused_total\\{reason="${reason}"\\} (\\d+)`, 'm');
    return Number(sample.exec(await metrics.metrics())?.[1] ?? 0);
  };
  const before = new Map(await Promise.all(['protocol', 'busy'].map(async (reason) => [reason, await count(reason)] as const)));
  return {
    port,
    lines,
    counted: async (reason) => (await count(reason)) - (before.get(reason) ?? 0),
    [Symbol.asyncDispose]: () => started[Symbol.asyncDispose](),
  };
}

async function dial(port: number): Promise<TLSSocket> {
  const { cert = '', key = '', ca = '' } = bundle;
  const socket = connectTls({ host: '127.0.0.1', port, cert, key, ca, ALPNProtocols: ['h2'] });
  socket.on('error', () => {});
  await once(socket, 'secureConnect');
  return socket;
}

test("ends of a peer's connections are all counted, and logged within a limit", async (t) => {
  stopClock(t);
  await using router = await start();
  for (let left = 30; left > 0; left -= 1) {
    const socket = await dial(router.port);
    socket.end('no HTTP/2 at all, whatever was agreed on');
    socket.resume();
    await waitForClose(socket);
  }
  await eventually('all are counted', async () => (await router.counted('protocol')) === 30);
  const cut = router.lines.filter((line) => line.includes('connection of a peer closed'));
  assert.ok(cut.length >= 20 && cut.length < 30, `${cut.length} lines`);
  assert.match(cut[0] ?? '', /"code":"protocol","reason":"PROTOCOL_ERROR: .*not the connection preface/);
});

test('requests for unserved keys do not fill the log', async (t) => {
  stopClock(t);
  await using router = await start();
  const socket = await dial(router.port);
  t.after(() => socket.destroy());
  const session = connectHttp2('https://earshot', { createConnection: () => socket });
  for (let left = 300; left > 0; left -= 1) {
    const stream = session.request({ ':method': 'CONNECT', ':authority': `nobody-${left}` });
    const [headers] = await once(stream, 'response');
    assert.equal(headers[':status'], 404);
  }
  session.destroy();
  const refused = router.lines.filter((line) => line.includes('connection refused'));
  assert.ok(refused.length >= 20 && refused.length < 60, `${refused.length} lines`);
});

test('handshakes that never end are bounded in number, and those beyond are counted', async (t) => {
  await using router = await start();
  const open: Socket[] = [];
  t.after(() => open.forEach((socket) => socket.destroy()));
  let closed = 0;
  for (let left = 100; left > 0; left -= 1) {
    const socket = connectTcp(router.port, '127.0.0.1');
    open.push(socket);
    socket.on('error', () => {});
    socket.once('close', () => {
      closed += 1;
    });
    socket.resume();
  }
  // Some of the others may reach their deadline meanwhile.
  await eventually('those beyond the limit are closed', async () => (await router.counted('busy')) === 36 && closed >= 36);
  assert.ok(router.lines.some((line) => line.includes('too many TLS handshakes')));
  // They keep out no client, not even of their own address.
  using own = await standardClient(router.port, await authority.issue());
  assert.equal(own.session.closed, false);
  await eventually('the oldest gave way', () => closed >= 37);
});

test('a site whose links come and go all the time fills no log, and takes no lines from others', async (t) => {
  stopClock(t);
  await using router = await start();
  assert.equal(await linesOfLinks(router, 30), 20);
  assert.equal(await linesOfLinks(router, 1), 2);
});

/** Number of log lines for a site whose links, so many, open and close repeatedly. */
async function linesOfLinks({ port, lines }: Watched, links: number): Promise<number> {
  const [ours, before] = [siteConfig('restless'), lines.length];
  using host = linkHost(ours);
  const own = openBundle(await authority.issue({ siteId: ours.site.id }), 'client');
  const { signal } = new AbortController();
  const endpoint = { host: '127.0.0.1', port };
  const open = (protocol: string): ReturnType<typeof dialTls> => dialTls({ endpoint, bundle: own, protocol, deadline: 5_000, signal });
  for (let left = links; left > 0; left -= 1) {
    const { link } = await openLink({ host, peer: 'there', cost: 1, id: randomBytes(10).toString('hex'), signal, dial: open });
    const closed = [...link.connections].map(({ session }) => session);
    link.cut(new Error('it goes again'));
    await eventually('its connections to be closed', () => closed.every(({ state }) => state === 'closed'));
  }
  // The last line is written once the other end has heard of it.
  const told = (): number => lines.slice(before).filter((line) => /adjacent router|adjacency ended/.test(line)).length;
  await eventually('all lines', () => told() >= Math.min(2 * links, 20));
  return told();
}
