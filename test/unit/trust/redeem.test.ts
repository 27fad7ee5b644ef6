import assert from 'node:assert/strict';
import dns from 'node:dns';
import { once } from 'node:events';
import { createServer as createHttpsServer, type Server } from 'node:https';
import type { RequestListener } from 'node:http';
import { syncBuiltinESMExports } from 'node:module';
import { createServer, type AddressInfo, type Server as NetServer, type Socket } from 'node:net';
import { describe, it } from 'node:test';
import { createKey } from '../../../src/x509/request.ts';
import { issueBundle } from '../../../src/trust/issue.ts';
import { redeemToken, ServerBusyError } from '../../../src/trust/tokens/redeem.ts';
import type { RedeemOptions, Token } from '../../../src/trust/tokens/contract.ts';
import { hostileServer } from '../router/support/long-chain.ts';
import { freePort } from '../support/free-port.ts';
import { offer as anOffer, startGranting } from './support/grant-server.ts';
import { refusal } from './support/refusal.ts';
import { DAY, makeAuthority, makeClock, makeSite } from './support/site.ts';

const redeem = (token: Token, options: Partial<RedeemOptions> = {}) => redeemToken(token, { ...makeSite(), key: createKey(), ...options });

describe('Redeeming a token', () => {
  it('names what the grant server refuses', async () => {
    const clock = makeClock(Date.now());
    await using west = await startGranting({ clock });
    const token = await west.issue();
    await assert.rejects(
      redeem({ ...token, code: 'wrong' }),
      refusal('token-wrong-code', /127\.0\.0\.1:\d+ refuses the token/, /new token/),
    );
    await assert.rejects(
      redeem({ ...token, url: token.url.replace(/g$/, 'other') }),
      refusal('token-unknown-grant', /grant other does not exist/),
    );
    await redeem(token);
    await assert.rejects(redeem(token), refusal('token-used-up', /1 of 1 redemptions/));
    clock.advance(DAY);
    await assert.rejects(redeem(token), refusal('token-expired', /expired at/));
  });

  it('is tried at each further address of the site, in order', async () => {
    await using west = await startGranting();
    const token = await west.issue({ redemptionsAllowed: 2 });
    await using otherSite = await startGranting();
    const nobody = token.url.replace(/:\d+\//, `:${await freePort()}/`);
    const foreign = (await otherSite.issue()).url;
    const { offer } = await redeem({ ...token, url: nobody, otherUrls: [foreign, token.url] });
    assert.equal(offer.siteName, 'west');
    await assert.rejects(
      redeem({ ...token, url: foreign, otherUrls: [nobody] }),
      refusal('unreachable', /nothing is listening on that port/, /It cannot be redeemed at 127\.0\.0\.1:\d+ either$/),
    );
    assert.equal(west.store.get('g')?.redemptions, 1);
  });

  it('that a site refuses is not taken to its other addresses', async () => {
    await using west = await startGranting();
    const token = await west.issue();
    await assert.rejects(redeem({ ...token, code: 'wrong', otherUrls: [token.url] }), refusal('token-wrong-code'));
    assert.equal(west.server.answered['token-wrong-code'], 1);
  });

  it('does not believe a server of another authority', async () => {
    await using west = await startGranting();
    const token = await west.issue();
    await assert.rejects(
      redeem({ ...token, ca: makeAuthority().ca }),
      refusal('token-wrong-ca', /the authority in the token \(spec\.ca\) did not issue/),
    );
    assert.equal(west.store.get('g')?.redemptions, 0);
  });

  it('does not believe a server of the right authority under another name', async () => {
    const authority = makeAuthority();
    await using west = await startGranting({
      tls: issueBundle(authority, 'x', { subject: 'x', hosts: ['west.example.com'], server: true }),
      authority: () => authority,
    });
    const token = { ...(await west.issue()), ca: authority.ca };
    await assert.rejects(redeem(token), refusal('token-wrong-host', /not for 127\.0\.0\.1/));
  });

  it('names a clock by which the server has expired or does not hold yet', async () => {
    for (const [days, words] of [
      [-60, /has expired/],
      [60, /is not valid yet/],
    ] as const) {
      const clock = makeClock(Date.now() + days * DAY);
      const authority = makeAuthority({ clock: () => Date.now() - 100 * DAY });
      const tls = issueBundle(authority, 'x', { subject: 'x', hosts: ['127.0.0.1'], server: true }, clock);
      await using west = await startGranting({ tls, authority: () => authority });
      await assert.rejects(
        redeem({ ...(await west.issue()), ca: authority.ca }),
        refusal('clock-wrong', words, /valid from \d{4}-\S+ to \d{4}-.*the clock of this machine/),
      );
    }
  });

  it('names a clock by which the new certificate does not hold', async () => {
    await using west = await startGranting();
    const token = await west.issue();
    await assert.rejects(
      redeem(token, { clock: () => Date.now() - DAY }),
      refusal('clock-wrong', /valid from .* clock here is at/, /clocks of the two machines differ/),
    );
  });

  it('names hosts and ports that cannot be reached', async () => {
    const port = await freePort();
    const { ca } = makeAuthority();
    const token = { name: 't', url: `https://127.0.0.1:${port}/v1/redeem/g`, code: 'x', ca };
    await assert.rejects(redeem(token), refusal('unreachable', new RegExp(`127\\.0\\.0\\.1:${port} is unreachable: connection refused`)));
    await assert.rejects(redeem({ ...token, url: 'https://nowhere.invalid/v1/redeem/g' }), refusal('unreachable', /nowhere\.invalid/));
  });

  it('gives up after its time where a server takes the connection and says nothing', async () => {
    await using silent = await startTcp((socket) => socket.resume());
    const token = { name: 't', url: `https://127.0.0.1:${silent.port}/v1/redeem/g`, code: 'x', ca: makeAuthority().ca };
    await assert.rejects(redeem(token, { timeoutMilliseconds: 100 }), refusal('unreachable', /no answer in time/));
  });

  it('goes on where other servers show long chains of certificates', async () => {
    await using hostile = await hostileServer();
    await using west = await startGranting();
    const token = await west.issue();
    const left = new AbortController();
    const { signal } = left;
    const others = Array.from({ length: 16 }, () => redeem({ ...token, url: `https://127.0.0.1:${hostile.port}/v1/redeem/g` }, { signal }));
    const outcomes = Promise.allSettled(others);
    await hostile.looked();
    await redeem(token);
    assert.ok(hostile.refused < 8, `${hostile.refused} of them were looked at`);
    left.abort();
    await outcomes;
  });

  it('gives up after its time where the resolver hangs, and holds no more of its places than one', async (t) => {
    const hangs = t.mock.method(dns, 'lookup', () => {});
    syncBuiltinESMExports();
    t.after(() => setImmediate(syncBuiltinESMExports));
    const token = { name: 't', url: 'https://hangs.example:9090/v1/redeem/g', code: 'x', ca: makeAuthority().ca };
    const tries = Array.from({ length: 3 }, () => redeem(token, { timeoutMilliseconds: 50 }));
    for (const one of tries) await assert.rejects(one, refusal('unreachable', /hangs\.example:9090 is unreachable: no answer in time/));
    assert.equal(hangs.mock.callCount(), 1);
  });

  it('names a server that speaks no TLS, or is no grant server', async () => {
    await using plain = await startTcp((socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'));
    const { ca } = makeAuthority();
    await assert.rejects(
      redeem({ name: 't', url: `https://127.0.0.1:${plain.port}/v1/redeem/g`, code: 'x', ca }),
      refusal('server-failed', /does not support TLS/),
    );
    const answers: readonly [number, string, Parameters<typeof refusal>][] = [
      [404, '<html>', ['token-unknown-grant', /another server answers there/]],
      [418, '{}', ['token-refused', /status 418/]],
      [500, 'oops', ['server-failed', /status 500/]],
      [200, '<html>', ['server-failed', /JSON object/]],
      [200, '{"siteId":"x"}', ['server-failed', /endpoints must be/]],
      [200, 'x'.repeat(1_100_000), ['server-failed', /more than 1048576 bytes/]],
      [403, JSON.stringify({ code: 'token-wrong-code', message: 'red\u001b[31m\nline' }), ['token-wrong-code', /red\\u\{1b\}\[31m line/]],
    ];
    for (const [status, body, expected] of answers) {
      await using other = await startServer((_, response) => response.writeHead(status).end(body));
      await assert.rejects(redeem(other.token), refusal(...expected), `${status} ${body.slice(0, 40)}`);
    }
  });

  it('takes no answer in a great many pieces', async () => {
    await using other = await startServer(({ socket }) => {
      socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n');
      socket.write('1\r\n \r\n'.repeat(20_000));
    });
    await assert.rejects(redeem(other.token), refusal('server-failed', /more than 4096 pieces/));
  });

  it('waits for no answer that is put off a great many times', async () => {
    await using other = await startServer((_, response) => {
      for (let times = 0; times < 1_000; times += 1) response.writeProcessing();
      response.writeHead(429).end('{}');
    });
    await assert.rejects(redeem(other.token), refusal('server-failed', /sends its response too slowly/));
  });

  it('is not held for ever by a server that would rather speak another protocol', async () => {
    await using other = await startServer((request) =>
      request.socket.end('HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n'),
    );
    await assert.rejects(redeem(other.token), refusal('server-failed', /closed the connection without a response/));
  });

  it('does not make a link of endpoints that are none', async () => {
    await using west = await startGranting({ offer: () => hostileOffer });
    await assert.rejects(redeem(await west.issue()), refusal('server-failed', /endpoint inter-router has no host/));
  });

  it('takes no certificate that may sign others, which would be an authority of its own under the name of the token', async () => {
    const key = createKey();
    const { ca: cert } = makeAuthority({ key });
    await using other = await startServer((_, response) => response.end(JSON.stringify({ ...anOffer, cert, ca: makeAuthority().ca })));
    await assert.rejects(redeem(other.token, { key }), refusal('server-failed', /certificate authority/));
  });

  it('says how long a busy server wants to be left alone', async () => {
    await using other = await startServer((_, response) => response.writeHead(429, { 'retry-after': '7' }).end('{}'));
    await assert.rejects(
      redeem(other.token),
      (error) => error instanceof ServerBusyError && error.code === 'server-busy' && error.asked === 7_000,
    );
  });

  it('takes a cut connection for one that was not there', async () => {
    await using other = await startServer((_, response) => response.destroy());
    await assert.rejects(redeem(other.token), refusal('unreachable'));
  });

  it('ends at once when it is no longer wanted', async () => {
    const end = new AbortController();
    await using silent = await startTcp((socket) => {
      socket.resume();
      end.abort(new Error('stopped'));
    });
    const token = { name: 't', url: `https://127.0.0.1:${silent.port}/v1/redeem/g`, code: 'x', ca: makeAuthority().ca };
    await assert.rejects(redeem(token, { signal: end.signal }), /stopped/);
  });
});

const hostileOffer = {
  siteId: '521b6329-d741-89f7-b6de-37f28aa75c79',
  siteName: 'west',
  endpoints: [{ name: 'inter-router', host: 'west\n  evil: true', port: '55671' }],
};

async function listen(server: NetServer | Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  // A TCP server that listens has an address of this kind.
  return (server.address() as AddressInfo).port;
}

interface Tcp extends AsyncDisposable {
  readonly port: number;
}

/** A server below TLS. */
async function startTcp(onSocket: (socket: Socket) => void): Promise<Tcp> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    onSocket(socket);
  });
  const port = await listen(server);
  return {
    port,
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

interface Other extends AsyncDisposable {
  readonly token: Token;
}

/** A server of the right authority that answers as it likes. */
async function startServer(answer: RequestListener): Promise<Other> {
  const authority = makeAuthority();
  const tls = issueBundle(authority, 'other', { subject: 'other', hosts: ['127.0.0.1'], server: true });
  const server = createHttpsServer({ cert: tls.cert, key: tls.key }, answer);
  const port = await listen(server);
  return {
    token: { name: 't', url: `https://127.0.0.1:${port}/v1/redeem/g`, code: 'x', ca: authority.ca },
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
