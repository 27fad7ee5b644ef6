import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import type { ClientHttp2Stream } from 'node:http2';
import { connect as connectTcp } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { test } from 'node:test';
import { frameMessage, MessageReader } from '../../../../src/router/link/session/framing.ts';
import { writeHello, readHello, type Hello } from '../../../../src/router/link/session/hello.ts';
import { internalErrors } from '../../../fuzz/internal-errors.ts';
import { testAuthority } from '../support/certificates.ts';
import { access, accessPort, siteConfig, start } from '../support/site.ts';
import { pair } from '../support/networks.ts';
import { standardClient, type StandardClient } from '../support/standard-client.ts';
import { waitForClose } from '../../support/wait-for-close.ts';

const authority = await testAuthority();

function routingStream({ session }: StandardClient): ClientHttp2Stream {
  const stream = session.request({ ':method': 'POST', ':path': '/.well-known/earshot/routing' }, { endStream: false });
  stream.on('error', () => {});
  return stream;
}

const ended = (stream: ClientHttp2Stream): Promise<unknown> => (stream.closed ? Promise.resolve() : once(stream, 'close'));

test('a standard HTTP/2 client with a link certificate reaches a routing key', async () => {
  await using net = await pair(authority);
  using own = await standardClient(net.access, await authority.issue());
  const stream = own.session.request({ ':method': 'CONNECT', ':authority': 'key' }, { endStream: false });
  const [headers] = await once(stream, 'response');
  assert.equal(headers[':status'], 200);
  stream.end('hello');
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk as Buffer);
  assert.equal(Buffer.concat(chunks).toString(), 'hello');
});

test('an unserved key is 404, an unknown path too, another method 405', async () => {
  await using net = await pair(authority);
  using own = await standardClient(net.access, await authority.issue());
  const status = async (headers: Record<string, string>): Promise<unknown> => {
    const stream = own.session.request(headers, { endStream: headers[':method'] !== 'CONNECT' });
    const [answer] = await once(stream, 'response');
    stream.close();
    return answer[':status'];
  };
  assert.equal(await status({ ':method': 'CONNECT', ':authority': 'nobody' }), 404);
  assert.equal(await status({ ':method': 'CONNECT', ':authority': 'x'.repeat(4_000) }), 404);
  assert.equal(await status({ ':method': 'CONNECT', ':authority': 'key', 'earshot-route': '../..' }), 400);
  assert.equal(await status({ ':method': 'POST', ':path': '/etc/passwd' }), 404);
  assert.equal(await status({ ':method': 'POST', ':path': '/.well-known/earshot/renew' }), 403);
  assert.equal(await status({ ':method': 'GET', ':path': '/' }), 405);
  await net.service();
});

test('a client without a valid certificate gets no further than TLS, and receives the reason', async () => {
  await using net = await pair(authority);
  const { ca = '' } = await authority.issue();
  const socket = connectTls({ host: '127.0.0.1', port: net.access, ca, ALPNProtocols: ['h2'] });
  const chunks: Buffer[] = [];
  for await (const chunk of socket) chunks.push(chunk as Buffer);
  assert.match(Buffer.concat(chunks).toString('latin1'), /tls-no-cert: The client at \S+ presented no certificate/);
  await net.service();
});

test('garbage in place of TLS, and in place of HTTP/2, closes that connection only', async () => {
  await using net = await pair(authority);
  const plain = connectTcp(net.access, '127.0.0.1');
  plain.on('error', () => {});
  plain.write(randomBytes(5_000));
  plain.resume();
  await waitForClose(plain);
  const { cert = '', key = '', ca = '' } = await authority.issue();
  const socket = connectTls({ host: '127.0.0.1', port: net.access, cert, key, ca, ALPNProtocols: ['h2'] });
  socket.on('error', () => {});
  await once(socket, 'secureConnect');
  socket.write(randomBytes(5_000));
  socket.resume();
  await waitForClose(socket);
  await net.service();
});

/** Messages of a peer in place of a valid hello, and their answers. */
const lies: readonly { readonly what: string; readonly said: (hello: Hello) => Hello; readonly details: RegExp }[] = [
  { what: 'another site', said: (hello) => ({ ...hello, site: siteConfig('other').site }), details: /wrong-proof/ },
  { what: 'an impossible cost', said: (hello) => ({ ...hello, link: { ...hello.link, cost: 0 } }), details: /protocol.*cost/ },
  { what: 'no version in common', said: (hello) => ({ ...hello, versions: [99] }), details: /version/ },
  {
    what: 'as many versions as there may be, as long as they may be',
    said: (hello) => ({ ...hello, versions: Array.from({ length: 64 }, (_, index) => Number.MAX_SAFE_INTEGER - index) }),
    details: /version: The peer supports versions 9007199254740991, .* and others/,
  },
  {
    what: 'a name that breaks a log line',
    said: (hello) => ({ ...hello, site: { ...hello.site, name: 'a\nb' } }),
    details: /protocol.*site\.name/,
  },
];

for (const { what, said, details } of lies) {
  test(`a peer whose hello has ${what} is refused with the reason`, async () => {
    await using net = await pair(authority);
    using own = await standardClient(net.access, await authority.issue());
    const before = await internalErrors();
    const { site, siteKey } = siteConfig('liar');
    const hello: Hello = { versions: [1], router: 'main', site, edge: false, link: { id: 'a'.repeat(16), cost: 1 } };
    const exporter = own.socket.exportKeyingMaterial(32, 'EXPORTER-earshot-link', Buffer.alloc(0));
    const stream = routingStream(own);
    stream.write(frameMessage(writeHello(said(hello), siteKey, { exporter, role: 'client' })));
    const [headers] = await once(stream, 'response');
    assert.equal(headers[':status'], 403);
    assert.match(String(headers['proxy-status']), details);
    await ended(stream);
    await waitForClose(own.socket);
    assert.equal(await internalErrors(), before);
    assert.equal(net.server.state.incoming.length, 1);
    await net.service();
  });
}

test('a hello that is garbage, empty or too long is refused', async () => {
  await using net = await pair(authority);
  for (const bytes of [
    Buffer.from('00000000', 'hex'),
    Buffer.from('ffffffff', 'hex'),
    frameMessage(randomBytes(9_000)),
    frameMessage(Buffer.from([1])),
  ]) {
    using own = await standardClient(net.access, await authority.issue());
    const stream = routingStream(own);
    stream.write(bytes);
    const [headers] = await once(stream, 'response');
    assert.equal(headers[':status'], 403);
    await ended(stream);
  }
  await net.service();
});

test('a link whose second connection never comes does not become one, and its messages wait', async () => {
  await using net = await pair(authority);
  using own = await standardClient(net.access, await authority.issue());
  const { site, siteKey } = siteConfig('half');
  const hello: Hello = { versions: [1], router: 'main', site, edge: false, link: { id: 'b'.repeat(16), cost: 1 } };
  const exporter = own.socket.exportKeyingMaterial(32, 'EXPORTER-earshot-link', Buffer.alloc(0));
  const stream = routingStream(own);
  const reader = new MessageReader();
  stream.write(frameMessage(writeHello(hello, siteKey, { exporter, role: 'client' })));
  const [chunk] = await once(stream, 'data');
  const [answer] = reader.push(chunk);
  assert.ok(answer !== undefined);
  assert.equal(readHello(answer, { exporter, role: 'server' }).site.name, 'server');
  stream.write(frameMessage(randomBytes(100)));
  assert.equal(net.server.state.incoming.length, 1);
  await net.service();
});

async function sayHello(own: StandardClient): Promise<void> {
  const { site, siteKey } = siteConfig('peer');
  const hello: Hello = { versions: [1], router: 'main', site, edge: false, link: { id: 'c'.repeat(16), cost: 1 } };
  const exporter = own.socket.exportKeyingMaterial(32, 'EXPORTER-earshot-link', Buffer.alloc(0));
  const routing = routingStream(own);
  routing.write(frameMessage(writeHello(hello, siteKey, { exporter, role: 'client' })));
  await once(routing, 'response');
}

const renewal = ({ session }: StandardClient): ClientHttp2Stream =>
  session.request({ ':method': 'POST', ':path': '/.well-known/earshot/renew' }, { endStream: false });

test('a connection has one renewal pending at a time, and the next is accepted after it', async () => {
  const renew = (_: unknown, request: string): Promise<{ cert: string; ca: string }> => Promise.resolve({ cert: request, ca: '' });
  await using server = await start({ ...siteConfig('server'), accesses: [access(await authority.issue())] }, { renew });
  using own = await standardClient(await accessPort(server), await authority.issue());
  await sayHello(own);
  const status = async (asked: ClientHttp2Stream): Promise<unknown> => (await once(asked, 'response'))[0][':status'];
  const first = renewal(own);
  first.write('a');
  const others = [renewal(own), renewal(own)];
  assert.deepEqual(await Promise.all(others.map(status)), [429, 429]);
  first.end(' request');
  assert.equal(await status(first), 200);
  const next = renewal(own);
  next.end('another');
  assert.equal(await status(next), 200);
});

test('a renewal that fails with more to say than a field can hold is refused, and the router goes on', async () => {
  const renew = (): Promise<never> => Promise.reject(new Error('\u00e9 no '.repeat(1_000), { cause: new Error('/var/lib/secret') }));
  await using server = await start({ ...siteConfig('server'), accesses: [access(await authority.issue())] }, { renew });
  using own = await standardClient(await accessPort(server), await authority.issue());
  const before = await internalErrors();
  await sayHello(own);
  const asked = renewal(own);
  asked.end('a request');
  const [headers] = await once(asked, 'response');
  assert.equal(headers[':status'], 403);
  assert.match(String(headers['proxy-status']), /details="\? no .{300,}\.\.\."$/);
  assert.doesNotMatch(String(headers['proxy-status']), /secret/);
  assert.equal(await internalErrors(), before);
});
