import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { describe, it } from 'node:test';
import { connect as connectHttp2 } from 'node:http2';
import { testAuthority } from '../support/certificates.ts';
import { freePort } from '../../support/free-port.ts';
import { access, accessPort, connector, echoServer, link, listener, siteConfig, start, until } from '../support/site.ts';

const inSeconds = (seconds: number): Date => new Date(Date.now() + seconds * 1000);

async function greeted(port: number): Promise<Socket> {
  const socket = connect({ host: '127.0.0.1', port });
  await once(socket, 'data');
  return socket;
}

// Side by side: certificates end at whole seconds, and there is no way to make those pass more quickly.
describe('certificates that end', { concurrency: true }, () => {
  it('a link is cut when the certificate under which it was opened ends, and says so with both times', async () => {
    const authority = await testAuthority();
    await using server = await start({ ...siteConfig('server'), accesses: [access(await authority.issue())] });
    const tls = await authority.issue({ to: inSeconds(2) });
    await using client = await start({ ...siteConfig('client'), links: [link('server', await accessPort(server), tls)] });
    await until(client, 'the link is up', ({ links }) => links.server?.operational === true);
    await until(client, 'the link is cut', ({ links }) => links.server?.operational === false);
    await until(client, 'the reason', ({ links }) => links.server?.problem?.code === 'tls-expired');
    assert.match(client.state.links.server?.problem?.message ?? '', /ended at \d{4}-.*the clock here says \d{4}-/);
    assert.deepEqual(server.state.incoming, []);
  });

  it('a connection outlives the certificate under which it began, as long as its site has shown a new one', async () => {
    const authority = await testAuthority();
    await using echo = await echoServer('hello');
    const port = await freePort();
    await using server = await start({ ...siteConfig('server'), accesses: [access(await authority.issue())], connectors: [connector('key', echo.port)] });
    const at = await accessPort(server);
    const config = { ...siteConfig('client'), listeners: [listener('key', port)] };
    const old = await authority.issue({ to: inSeconds(3) });
    await using client = await start({ ...config, links: [link('server', at, old)] });
    await until(client, 'the listener', (state) => state.listeners['Listener/key']?.listening === true);
    const socket = await greeted(port);
    const ended = once(socket, 'error');
    const renewed = await authority.issue({ to: inSeconds(6) });
    client.apply({ ...config, links: [link('server', at, renewed)] });
    await until(server, 'a link with the new certificate', ({ incoming }) => incoming.some(({ serial }) => serial.endsWith('3')));
    // Both ends of the two certificates are known by the same clock: when the second has ended, the first had long.
    socket.write('still here');
    await once(socket, 'data');
    const [error] = await ended;
    assert.equal(error.code, 'ECONNRESET');
    assert.ok(Date.now() >= new X509Certificate(renewed.cert ?? '').validToDate.getTime(), 'not before the second certificate ended');
  });

  it('a link is opened anew before the certificate of the accepting side ends, and its connections go on', async () => {
    const authority = await testAuthority();
    await using echo = await echoServer('hello');
    const port = await freePort();
    const serverConfig = siteConfig('server');
    const old = access(await authority.issue({ to: inSeconds(3) }));
    await using server = await start({ ...serverConfig, accesses: [old], connectors: [connector('key', echo.port)] });
    const at = await accessPort(server);
    await using client = await start({ ...siteConfig('client'), links: [link('server', at, await authority.issue())], listeners: [listener('key', port)] });
    await until(client, 'the listener', (state) => state.listeners['Listener/key']?.listening === true);
    const socket = await greeted(port);
    server.apply({ ...serverConfig, accesses: [access(await authority.issue())], connectors: [connector('key', echo.port)] });
    let downs = 0;
    client.onChange(() => {
      if (client.state.links.server?.operational !== true) downs += 1;
    });
    await new Promise<void>((resolve, reject) => {
      socket.once('error', reject);
      // The end of the first certificate is what this is about.
      setTimeout(resolve, 4_000);
    });
    socket.write('still here');
    const [data] = await once(socket, 'data');
    assert.equal(String(data), 'still here');
    socket.destroy();
    assert.equal(downs, 0);
  });

  it('a standard client is cut off when its certificate ends', async () => {
    const authority = await testAuthority();
    await using echo = await echoServer('hello');
    await using server = await start({ ...siteConfig('server'), accesses: [access(await authority.issue())], connectors: [connector('key', echo.port)] });
    const { cert, key, ca } = await authority.issue({ to: inSeconds(2) });
    const session = connectHttp2(`https://127.0.0.1:${await accessPort(server)}`, { cert: cert ?? '', key: key ?? '', ca: ca ?? '' });
    const { promise, resolve } = Promise.withResolvers<Buffer>();
    session.on('error', () => {});
    session.on('goaway', (_code, _last, data: Buffer) => resolve(data));
    const debug = await promise;
    assert.match(String(debug), /tls-expired: The certificate of the peer at 127\.0\.0\.1:\d+ ended at/);
  });
});
