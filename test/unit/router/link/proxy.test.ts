import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { test } from 'node:test';
import { pino } from 'pino';
import type { LinkConfig, ProxyConfig, Router } from '../../../../src/router/contract.ts';
import { openTunnel } from '../../../../src/router/link/dial/tunnel.ts';
import { startRouter } from '../../../../src/router/router.ts';
import { freePort } from '../../support/free-port.ts';
import { testAuthority } from '../support/certificates.ts';
import { access, accessPort, ask, connector, echoServer, link, listener, siteConfig, start, until } from '../support/site.ts';

const authority = await testAuthority();

interface Proxy extends AsyncDisposable {
  readonly config: ProxyConfig;
  /** The heads of all that it was asked. */
  readonly heads: readonly string[];
  readonly sockets: ReadonlySet<Socket>;
}

/** @param answer what it says to each request; it opens the tunnel where that is left out */
async function aProxy(targets: Readonly<Record<string, number>>, answer?: (socket: Socket) => void): Promise<Proxy> {
  const heads: string[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.once('close', () => sockets.delete(socket));
    socket.once('data', (chunk) => {
      const head = chunk.toString();
      heads.push(head);
      if (answer !== undefined) {
        answer(socket);
        return;
      }
      const [, to = ''] = head.split(' ');
      const onward = connect({ host: '127.0.0.1', port: targets[to] ?? 1 });
      onward.on('error', () => socket.destroy());
      onward.once('connect', () => {
        // In pieces, as a network may bring it.
        socket.write('HTTP/1.1 200 Connection ');
        socket.write('established\r\nVia: test\r\n\r\n');
        socket.pipe(onward).pipe(socket);
      });
      // Whichever end is gone, a proxy ends the other, and reads no more of what that still says.
      socket.once('close', () => onward.destroy());
      onward.once('close', () => socket.destroy());
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    config: { host: '127.0.0.1', port: (server.address() as AddressInfo).port },
    heads,
    sockets,
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

const problemOf = ({ state }: Router): string | undefined => state.links.west?.problem?.message;

test('a link uses its proxy, which resolves the name and receives the credentials, with TLS to the peer inside', async () => {
  await using echo = await echoServer();
  const port = await freePort();
  const hosts = ['west.example'];
  const west = { ...siteConfig('west'), accesses: [access(await authority.issue({ hosts }))], connectors: [connector('key', echo.port)] };
  await using server = await start(west);
  await using proxy = await aProxy({ 'west.example:55671': await accessPort(server) });
  const through: Partial<LinkConfig> = {
    endpoints: [{ host: 'west.example', port: 55_671 }],
    proxy: { ...proxy.config, username: 'site', password: 'päss:wörd' },
  };
  const tls = await authority.issue();
  const config = { ...siteConfig('east'), listeners: [listener('key', port)] };
  await using east = await start({ ...config, links: [link('west', 0, tls, through)] });
  await until(east, 'the listener', ({ listeners }) => listeners['Listener/key']?.listening === true);
  assert.equal(await ask(port, 'through the proxy'), 'through the proxy');
  assert.equal(east.state.links.west?.endpoint, 'west.example:55671');
  const credentials = Buffer.from('site:päss:wörd').toString('base64');
  const head = `CONNECT west.example:55671 HTTP/1.1\r\nHost: west.example:55671\r\nProxy-Authorization: Basic ${credentials}\r\n\r\n`;
  assert.deepEqual(new Set(proxy.heads), new Set([head]));
  await using other = await aProxy({ 'west.example:55671': await accessPort(server) });
  east.apply({ ...config, links: [link('west', 0, tls, { ...through, proxy: other.config })] });
  await Promise.all([...proxy.sockets].map((socket) => new Promise((resolve) => socket.once('close', resolve))));
  assert.equal(other.sockets.size, 2);
  assert.ok(other.heads.every((one) => !one.includes('Authorization')));
});

const answers: readonly [string, string, string, RegExp][] = [
  ['407', 'HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic\r\n\r\n', 'proxy-refused', /username and password.*407/],
  ['403', 'HTTP/1.1 403 Forbidden\r\n\r\n', 'proxy-refused', /does not permit connections to 192\.0\.2\.1:55671 \(status 403\)/],
  ['502', 'HTTP/1.0 502 Bad Gateway\r\n\r\n', 'unreachable', /cannot reach 192\.0\.2\.1:55671 \(status 502\)/],
  ['an interim answer', 'HTTP/1.1 100 Continue\r\n\r\n', 'not-a-proxy', /is not an HTTP proxy/],
  ['something else', 'SSH-2.0-OpenSSH\r\n\r\n', 'not-a-proxy', /is not an HTTP proxy/],
  ['something without an end', 'x'.repeat(20_000), 'not-a-proxy', /is not an HTTP proxy/],
  ['half an answer', 'HTTP/1.1 200 OK\r\n', 'not-a-proxy', /is not an HTTP proxy/],
  ['nothing', '', 'lost', /without a response/],
  ['a tunnel to something that speaks no TLS', 'HTTP/1.1 200 OK\r\n\r\nhello there, this is no TLS', 'not-earshot', /does not speak TLS/],
];

for (const [what, answer, code, message] of answers) {
  test(`a link whose proxy answers with ${what} reports it, without its password`, async () => {
    await using proxy = await aProxy({}, (socket) => socket.end(answer));
    const said: string[] = [];
    const log = pino({ level: 'trace' }, { write: (line: string) => said.push(line) });
    const through = { ...proxy.config, username: 'site', password: 'hunter2hunter2' };
    const links = [link('west', 0, await authority.issue(), { endpoints: [{ host: '192.0.2.1', port: 55_671 }], proxy: through })];
    await using east = await startRouter({ ...siteConfig('east'), links }, {}, { log });
    await until(east, 'the problem', ({ links: { west } }) => west?.problem !== undefined);
    assert.equal(east.state.links.west?.problem?.code, code);
    assert.match(problemOf(east) ?? '', message);
    const secrets = ['hunter2hunter2', Buffer.from('site:hunter2hunter2').toString('base64')];
    for (const secret of secrets) assert.ok(!`${JSON.stringify(east.state)} ${said.join('')}`.includes(secret));
  });
}

test('an unreachable proxy and a silent one are reported as such', async () => {
  const signal = new AbortController().signal;
  const endpoint = { host: '192.0.2.1', port: 55_671 };
  const closed = { host: '127.0.0.1', port: await freePort() };
  await assert.rejects(openTunnel({ proxy: closed, endpoint, deadline: 5_000, signal }), { code: 'refused', message: /the proxy/ });
  await using mute = await aProxy({}, () => {});
  await assert.rejects(openTunnel({ proxy: mute.config, endpoint, deadline: 20, signal }), { code: 'timeout', message: /the proxy/ });
  const given = new AbortController();
  const opening = openTunnel({ proxy: mute.config, endpoint, deadline: 5_000, signal: given.signal });
  given.abort();
  await assert.rejects(opening, { code: 'closed' });
});
