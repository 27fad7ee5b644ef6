import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { connect, Server } from 'node:net';
import { Readable } from 'node:stream';
import { mkdir, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { setImmediate as setImmediateNow } from 'node:timers';
import { setImmediate } from 'node:timers/promises';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { certificateFacts } from '../../../src/x509/facts.ts';
import { createKey, createRequest } from '../../../src/x509/request.ts';
import { grantUrl } from '../../../src/trust/tokens/grant-server.ts';
import { issueBundle } from '../../../src/trust/issue.ts';
import { redeemToken } from '../../../src/trust/tokens/redeem.ts';
import { TrustError } from '../../../src/trust/errors.ts';
import type { Authority } from '../../../src/trust/contract.ts';
import type { GrantRealm, GrantServerLimits, Token } from '../../../src/trust/tokens/contract.ts';
import { RedemptionService } from '../../../src/trust/tokens/redemption-service.ts';
import { encodeRedemption } from '../../../src/trust/tokens/redemption.ts';
import { offer, startGranting } from './support/grant-server.ts';
import { post } from './support/post.ts';
import { refusal } from './support/refusal.ts';
import { DAY, makeAuthority, makeClock, makeSite, type TestSite } from './support/site.ts';
import { waitForClose } from '../support/wait-for-close.ts';

/** Milliseconds; the test's own limit is shorter. */
const NEVER = 600_000;

const redeem = (token: Token, site: TestSite = makeSite(), key = createKey()) => redeemToken(token, { ...site, key });

/** A whole, correct body. */
function bodyFor(token: Token, site = makeSite(), grant = 'g'): string {
  return encodeRedemption(
    grant,
    { code: token.code, siteId: site.siteId, siteName: site.siteName, csr: createRequest(createKey(), 'x') },
    site.siteKey,
  );
}

/** Without TLS, for tests with hundreds of clients. No time passes. */
function serviceOf(realm: () => GrantRealm, limits: Partial<GrantServerLimits>): RedemptionService {
  const tls = { name: 'x', cert: '', key: '', ca: '' };
  const all = { bodyBytes: 16_384, requestMilliseconds: 60_000, redemptionsAtOnce: 8, connections: 1_000, connectionsOfAddress: 1 };
  return new RedemptionService({ port: 0, tls, realm, monotonic: () => 0 }, { ...all, ...limits });
}

/** @returns the status of the answer */
function askService(service: RedemptionService, token: Token, body: string | Readable, remoteAddress: string): Promise<number> {
  const { promise, resolve } = Promise.withResolvers<number>();
  const more = { url: new URL(token.url).pathname, method: 'POST', headers: {}, socket: { remoteAddress }, complete: true };
  const request = Object.assign(typeof body === 'string' ? Readable.from([Buffer.from(body)]) : body, more);
  const response = { on: () => {}, writeHead: (status: number) => resolve(status), end: () => {} };
  // As much of both as it uses.
  service.onRequest(request as unknown as IncomingMessage, response as unknown as ServerResponse);
  return promise;
}

describe('The grant server', () => {
  it('turns a code into a client certificate of the site that asks, and says where to link', async () => {
    await using west = await startGranting();
    const site = makeSite('east');
    const { bundle, offer: offered, linkCost } = await redeem(await west.issue(), site);
    const facts = certificateFacts(bundle.cert, 'it');
    assert.deepEqual([facts.commonName, facts.siteId, facts.hosts, facts.issuer], ['east', site.siteId, [], 'CN=earshot site west']);
    assert.deepEqual(offered, offer);
    assert.equal(linkCost, 1);
    assert.deepEqual(
      (await Array.fromAsync(west.ledger.issued())).map(({ siteName, siteId, serial }) => [siteName, siteId, serial]),
      [['east', site.siteId, facts.serial]],
    );
  });

  it('gives as many certificates as are allowed to a hundred sites that ask at once, each on record', async () => {
    // All the work of a hundred clients is done in this process as well, so no deadline of either end may count.
    await using west = await startGranting({ limits: { requestMilliseconds: NEVER } });
    const token = await west.issue({ redemptionsAllowed: 5 });
    // Made before the first client connects: its deadline for TCP would pass while this process makes the keys of the others.
    const sites = Array.from({ length: 100 }, (_, index) => ({ ...makeSite(`east-${index}`), key: createKey() }));
    const asks = sites.map((site) => redeemToken(token, { ...site, timeoutMilliseconds: NEVER }));
    const outcomes = await Promise.allSettled(asks);
    const won = outcomes.filter((outcome) => outcome.status === 'fulfilled');
    assert.equal(won.length, 5);
    for (const outcome of outcomes) if (outcome.status === 'rejected') refusal('token-used-up')(outcome.reason);
    const serials = won.map(({ value }) => certificateFacts(value.bundle.cert, 'it').serial).sort();
    assert.deepEqual((await Array.fromAsync(west.ledger.issued())).map(({ serial }) => serial).sort(), serials);
    assert.equal(west.store.get('g')?.redemptions, 5);
  });

  it('has ended only when what it was redeeming is on record', async () => {
    const [asked, given] = [Promise.withResolvers<void>(), Promise.withResolvers<Authority>()];
    await using west = await startGranting({
      authority: () => {
        asked.resolve();
        return given.promise;
      },
    });
    const token = await west.issue();
    const answer = post(token.url, token.ca, bodyFor(token)).catch(() => undefined);
    await asked.promise;
    const ended = west.server[Symbol.asyncDispose]();
    given.resolve(west.authority);
    await ended;
    assert.equal((await Array.fromAsync(west.ledger.issued())).length, 1);
    await answer;
  });

  it('gives the same key another certificate without counting it again', async () => {
    await using west = await startGranting();
    const token = await west.issue();
    const site = makeSite();
    const key = createKey();
    await redeem(token, site, key);
    await redeem(token, site, key);
    assert.equal(west.store.get('g')?.redemptions, 1);
    await assert.rejects(redeem(token, site), refusal('token-used-up'));
  });

  it('neither logs nor answers a code, right or wrong', async () => {
    await using west = await startGranting();
    const token = await west.issue({ redemptionsAllowed: 1, code: 'open sesame 1234' });
    const answers = [
      await post(token.url, token.ca, bodyFor(token)),
      await post(token.url, token.ca, bodyFor({ ...token, code: 'close sesame 5678' })),
      await post(token.url, token.ca, bodyFor(token)),
      await post(token.url, token.ca, `{"code":"open sesame 1234","siteName":"€"}`),
      await post(token.url, token.ca, 'open sesame 1234'),
    ];
    assert.deepEqual(
      answers.map(({ status }) => status),
      [200, 403, 410, 400, 400],
    );
    assert.ok(west.logged.length >= 5);
    assert.doesNotMatch(west.logged.join('\n') + JSON.stringify(answers), /sesame/);
  });

  it('refuses what is malformed and counts no redemption for it', async () => {
    await using west = await startGranting();
    const token = await west.issue();
    const whole = JSON.parse(bodyFor(token)) as Record<string, unknown>;
    const other = JSON.parse(bodyFor(token)) as Record<string, unknown>;
    const changes: readonly Record<string, unknown>[] = [
      { csr: undefined },
      { csr: other['csr'] },
      { csr: 'x' },
      { csr: 'x'.repeat(8_193) },
      { siteId: other['siteId'] },
      { siteName: 'West' },
      { siteName: 'west\nadmin' },
      { siteName: 'another' },
      { sitePublicKey: other['sitePublicKey'] },
      { sitePublicKey: Buffer.alloc(32, 255).toString('base64') },
      { signature: other['signature'] },
      { signature: 'AAAA' },
      { code: 7 },
      { code: { toString: 'x' } },
    ];
    for (const change of changes) {
      const { status, body } = await post(token.url, token.ca, JSON.stringify({ ...whole, ...change }));
      assert.deepEqual([status, body['code']], [400, 'request-malformed'], JSON.stringify(change));
    }
    for (const body of ['', 'null', '[]', '"x"', '{', `${'['.repeat(9_000)}`]) {
      assert.equal((await post(token.url, token.ca, body)).status, 400, body.slice(0, 20));
    }
    assert.equal(west.store.get('g')?.redemptions, 0);
    assert.equal(
      (await post(token.url, token.ca, JSON.stringify({ ...whole, future: { fields: [] } }))).status,
      200,
      'unknown fields are passed over',
    );
  });

  it('refuses the signature of a request to another grant', async () => {
    await using west = await startGranting();
    const token = await west.issue();
    const { status } = await post(token.url, token.ca, bodyFor(token, makeSite(), 'other'));
    assert.equal(status, 400);
  });

  it('refuses bodies over its limit, with or without a declared length, and other methods and paths', async () => {
    await using west = await startGranting();
    const token = await west.issue();
    const large = 'x'.repeat(20_000);
    assert.equal((await post(token.url, token.ca, large)).status, 413);
    const chunked = await post(token.url, token.ca, large, { headers: { 'transfer-encoding': 'chunked' } });
    assert.equal(chunked.status, 413);
    assert.equal((await post(token.url, token.ca, '', { method: 'PUT' })).status, 405);
    for (const path of ['/', '/v1/redeem/', '/v1/redeem/../g', '/v1/redeem/g/x', '/v1/redeem/%67', '/metrics']) {
      const { status, body } = await post(new URL(path, token.url).href, token.ca, '{}');
      assert.deepEqual([status, body['code']], [404, 'token-unknown-grant'], path);
    }
  });

  it('makes who guesses wait, longer each time', async () => {
    const monotonic = makeClock(0);
    await using west = await startGranting({ monotonic });
    const token = await west.issue();
    const wrong = bodyFor({ ...token, code: 'wrong' });
    const right = bodyFor(token);
    const statuses: number[] = [];
    for (let count = 0; count < 7; count += 1) {
      statuses.push((await post(token.url, token.ca, wrong)).status);
      // Handshakes of an address begin no faster.
      monotonic.advance(10);
    }
    assert.deepEqual(statuses, [403, 403, 403, 403, 403, 403, 429]);
    monotonic.advance(1_000);
    assert.equal((await post(token.url, token.ca, wrong)).status, 403);
    const { status, headers, body } = await post(token.url, token.ca, right);
    assert.deepEqual(
      [status, headers['retry-after'], body['code']],
      [429, '2', 'server-busy'],
      'the right code waits too, or guessing would go on',
    );
    assert.equal(west.store.get('g')?.redemptions, 0);
    monotonic.advance(2_000);
    assert.equal((await post(token.url, token.ca, right)).status, 200);
  });

  it('admits a client with a generated code while others guess at one that a person chose', async () => {
    await using west = await startGranting();
    const [own, ours] = [await west.issue({ name: 'own', code: 'secret' }), await west.issue()];
    const { store, ledger, authority } = west;
    const service = serviceOf(() => ({ store, ledger, authority: () => authority, offer: () => offer }), {});
    const ask = (token: Token, body: string, address: string) => askService(service, token, body, address);
    const wrong = bodyFor({ ...own, code: 'wrong' });
    const guesses = await Promise.all(Array.from({ length: 210 }, (_, count) => ask(own, wrong, `192.0.2.${count}`)));
    assert.deepEqual([guesses.slice(0, 200).every((status) => status === 403), guesses.at(-1)], [true, 429]);
    assert.deepEqual([await ask(own, bodyFor(own), '203.0.113.1'), await ask(ours, bodyFor(ours), '203.0.113.1')], [429, 200]);
  });

  it('counts guesses that are sent at once', async () => {
    let now = 0;
    // As fast as their handshakes may begin, and no second passes.
    await using west = await startGranting({ monotonic: () => (now += 5) });
    const token = await west.issue();
    const wrong = bodyFor({ ...token, code: 'wrong' });
    const answers = await Promise.all(Array.from({ length: 20 }, () => post(token.url, token.ca, wrong)));
    assert.equal(answers.filter(({ status }) => status === 403).length, 6);
    assert.equal(answers.filter(({ status }) => status === 429).length, 14);
  });

  it('redeems a few tokens at once, and then one of each waiting address, regardless of arrival', async () => {
    let open = (): void => {};
    const gate = new Promise<void>((resolve) => (open = resolve));
    const arrived = Promise.withResolvers<void>();
    const asked: string[] = [];
    await using west = await startGranting({ limits: { redemptionsAtOnce: 1 } });
    const { store, ledger, authority } = west;
    const token = await west.issue({ redemptionsAllowed: 9 });
    const realm = () => ({
      store,
      ledger,
      offer: () => offer,
      authority: async () => {
        asked.push('');
        arrived.resolve();
        await gate;
        return authority;
      },
    });
    const service = serviceOf(realm, { redemptionsAtOnce: 1 });
    const order: string[] = [];
    const ask = async (address: string): Promise<void> => {
      assert.equal(await askService(service, token, bodyFor(token), address), 200);
      order.push(address);
    };
    const all = [ask('192.0.2.1')];
    await arrived.promise;
    all.push(...Array.from({ length: 3 }, () => ask('192.0.2.1')), ask('203.0.113.1'));
    // Their bodies are read: they wait for the first redemption only.
    await setImmediate();
    assert.equal(asked.length, 1);
    open();
    await Promise.all(all);
    assert.deepEqual(order.indexOf('203.0.113.1') <= 2, true, order.join(' '));
  });

  it('redeems a valid token while hundreds of clients never end their bodies', async () => {
    await using west = await startGranting();
    const token = await west.issue();
    const { store, ledger, authority } = west;
    const service = serviceOf(() => ({ store, ledger, authority: () => authority, offer: () => offer }), {});
    const endless = Array.from({ length: 600 }, (_, count) =>
      askService(service, token, new Readable({ read: () => {} }), `192.0.2.${count % 4}`),
    );
    assert.equal(await askService(service, token, bodyFor(token), '203.0.113.1'), 200);
    assert.equal(endless.length, 600);
  });

  it('does not serve a client that disconnected while it waited', async () => {
    let open = (): void => {};
    const gate = new Promise<void>((resolve) => (open = resolve));
    const arrived = Promise.withResolvers<void>();
    await using west = await startGranting({
      limits: { redemptionsAtOnce: 1 },
      authority: async () => {
        arrived.resolve();
        await gate;
        return west.authority;
      },
    });
    const token = await west.issue({ redemptionsAllowed: 9 });
    const first = post(token.url, token.ca, bodyFor(token));
    await arrived.promise;
    const body = bodyFor(token);
    const gone = connectTls({ host: '127.0.0.1', port: west.server.port, ca: token.ca });
    gone.end(`POST /v1/redeem/g HTTP/1.1\r\nhost: x\r\ncontent-length: ${body.length}\r\n\r\n${body}`);
    await once(gone.resume(), 'close');
    open();
    assert.equal((await first).status, 200);
    assert.equal((await post(token.url, token.ca, bodyFor(token))).status, 200);
    assert.equal(west.store.get('g')?.redemptions, 2);
  });

  it('answers one redemption a few times, and then further and further apart', async () => {
    const monotonic = makeClock(0);
    await using west = await startGranting({ monotonic });
    const token = await west.issue();
    const body = bodyFor(token);
    const waits: (string | undefined)[] = [];
    for (let count = 0; count < 12; count += 1) {
      const { status, headers } = await post(token.url, token.ca, body);
      assert.equal(status, headers['retry-after'] === undefined ? 200 : 429);
      waits.push(headers['retry-after']);
      monotonic.advance(Number(headers['retry-after'] ?? 0.01) * 1_000);
    }
    const none = undefined;
    assert.deepEqual(waits, [none, none, none, none, none, none, '1', none, '2', none, '4', none]);
    assert.equal((await Array.fromAsync(west.ledger.issued())).length, 9);
  });

  it('does not count answers that it could not give: once its record is writable again no client waits', async () => {
    const monotonic = makeClock(0);
    await using west = await startGranting({ monotonic });
    const token = await west.issue();
    const body = bodyFor(token);
    const record = join(west.path, 'issued.jsonl');
    await mkdir(record);
    for (let count = 0; count < 7; count += 1) {
      assert.equal((await post(token.url, token.ca, body)).status, 500);
      // Handshakes of an address begin so fast and no faster.
      monotonic.advance(10);
    }
    await rmdir(record);
    assert.equal((await post(token.url, token.ca, body)).status, 200);
  });

  it('does not count failures of its authority: once there is a working one no client waits', async () => {
    const monotonic = makeClock(0);
    const [ended, next] = [makeAuthority({ clock: () => Date.now() - 20 * 365 * DAY }), makeAuthority()];
    let signer = ended;
    await using west = await startGranting({ monotonic, authority: () => signer });
    const token = await west.issue();
    const body = bodyFor(token);
    for (let count = 0; count < 7; count += 1) {
      assert.equal((await post(token.url, token.ca, body)).status, 500);
      // Handshakes of an address begin so fast and no faster.
      monotonic.advance(10);
    }
    signer = next;
    assert.equal((await post(token.url, token.ca, body)).status, 200);
  });

  it('cuts off who says a body in a great many pieces, and takes one in a few', async () => {
    await using west = await startGranting();
    const token = await west.issue();
    const said = async (body: readonly string[]): Promise<string> => {
      const socket = connectTls({ host: '127.0.0.1', port: west.server.port, ca: token.ca });
      socket.on('error', () => {});
      socket.write('POST /v1/redeem/g HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n');
      socket.write(body.map((piece) => `${piece.length.toString(16)}\r\n${piece}\r\n`).join(''));
      let answer = '';
      socket.on('data', (bytes: Buffer) => (answer += bytes.toString()));
      // Without a last chunk nothing comes of it by itself.
      if (body.length < 200) socket.write('0\r\n\r\n');
      await new Promise((resolve) => socket.once('close', resolve));
      return answer;
    };
    const body = bodyFor(token);
    const size = Math.ceil(body.length / 100);
    const few = Array.from({ length: 100 }, (_, index) => body.slice(index * size, (index + 1) * size)).filter((piece) => piece !== '');
    assert.equal(await said([...' '.repeat(8_000)]), '');
    assert.equal(west.server.answered['request-malformed'], 1);
    assert.match(await said(few), /^HTTP\/1\.1 200 /);
  });

  it('reads one connection in a turn, however much others bring at once', async () => {
    // An address that costs work waits ten times as long.
    await using west = await startGranting({ limits: { requestMilliseconds: 60_000 } });
    const token = await west.issue();
    const sockets = await Promise.all(
      Array.from({ length: 10 }, async () => {
        const socket = connectTls({ host: '127.0.0.1', port: west.server.port, ca: token.ca });
        socket.on('error', () => {});
        await once(socket, 'secureConnect');
        return socket.resume();
      }),
    );
    const gone = sockets.map((socket) => new Promise((resolve) => socket.once('close', resolve)));
    let most = 0;
    let before = 0;
    const count = (): void => {
      most = Math.max(most, malformed() - before);
      before = malformed();
      looking = setImmediateNow(count);
    };
    const malformed = (): number => west.server.answered['request-malformed'] ?? 0;
    let looking = setImmediateNow(count);
    const flood = `POST /v1/redeem/g HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n${'1\r\nx\r\n'.repeat(1_000)}`;
    for (const socket of sockets) socket.write(flood);
    await Promise.all(gone);
    clearImmediate(looking);
    assert.deepEqual([malformed(), most], [10, 1]);
  });

  it('takes one request of each connection, and closes it after the answer', async () => {
    await using west = await startGranting();
    const token = await west.issue({ redemptionsAllowed: 9 });
    const body = bodyFor(token);
    const socket = connectTls({ host: '127.0.0.1', port: west.server.port, ca: token.ca });
    socket.write(`POST /v1/redeem/g HTTP/1.1\r\nhost: x\r\ncontent-length: ${body.length}\r\n\r\n${body}`.repeat(16));
    socket.resume();
    // Node.js would keep it for 6 s.
    const [answer] = (await once(socket, 'data')) as [Buffer];
    assert.match(answer.toString(), /^connection: close\r$/im);
    await waitForClose(socket);
    assert.equal((await Array.fromAsync(west.ledger.issued())).length, 1);
  });

  it('reports internal errors to its log, not to unauthenticated clients', async () => {
    await using west = await startGranting({
      authority: () => {
        throw new TrustError('authority-missing', 'put it into /var/lib/earshot/secret-place');
      },
    });
    const token = await west.issue();
    const { status, body } = await post(token.url, token.ca, bodyFor(token));
    assert.deepEqual([status, body['code']], [500, 'server-failed']);
    assert.doesNotMatch(JSON.stringify(body), /secret-place/);
    assert.equal(west.store.get('g')?.redemptions, 0);
    assert.match(west.logged.join('\n'), /authority-missing/);
  });

  it('refuses, before it counts, where the site has nowhere to link to', async () => {
    await using west = await startGranting({ offer: () => ({ ...offer, endpoints: [] }) });
    const token = await west.issue();
    await assert.rejects(redeem(token), refusal('server-failed', /enable link access/));
    assert.equal(west.store.get('g')?.redemptions, 0);
  });

  it('refuses its own site, and leaves the token to another one', async () => {
    const site = makeSite('west');
    await using west = await startGranting({ offer: () => ({ ...offer, siteId: site.siteId }) });
    const token = await west.issue();
    await assert.rejects(redeem(token, site), refusal('token-refused', /site west itself issued it\. Redeem it at another site$/));
    await redeem(token);
    assert.equal(west.store.get('g')?.redemptions, 1);
  });

  it('answers a client during its request, for any number of silent connections of other addresses', async () => {
    await using west = await startGranting({ limits: { connections: 6, connectionsOfAddress: 2 } });
    const token = await west.issue();
    const asking = connectTls({ host: '127.0.0.1', port: west.server.port, ca: token.ca });
    asking.on('error', () => {});
    await once(asking, 'secureConnect');
    const answer = new Promise<string>((resolve) => {
      asking.once('data', (bytes) => resolve(String(bytes)));
      asking.once('close', () => resolve('cut off'));
    });
    const silent = Array.from({ length: 11 }, (_, count) =>
      connect({ host: '127.0.0.1', port: west.server.port, localAddress: `127.0.1.${count + 1}` }),
    );
    // There is room for five of them, or six.
    const gone = Promise.withResolvers<void>();
    let left = 5;
    for (const socket of silent) {
      socket.on('error', () => {}).resume();
      socket.once('close', () => (left -= 1) === 0 && gone.resolve());
    }
    await gone.promise;
    const body = bodyFor(token);
    const head = `POST ${new URL(token.url).pathname} HTTP/1.1\r\nhost: x\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n`;
    asking.write(head + body);
    assert.match(await answer, /^HTTP\/1\.1 200 /);
    for (const socket of silent) socket.destroy();
    asking.destroy();
  });

  it('begins handshakes of an address one by one after the first few, and ends at once whatever waits', async () => {
    let now = 0;
    await using west = await startGranting({ monotonic: () => now });
    const closing = new Map([4, 5, 12].map((count) => [count, Promise.withResolvers<void>()]));
    let closed = 0;
    const sockets = Array.from({ length: 12 }, () => connect(west.server.port, '127.0.0.1'));
    for (const socket of sockets) {
      socket.on('error', () => {}).write('no TLS at all');
      socket.resume().once('close', () => {
        closed += 1;
        closing.get(closed)?.resolve();
      });
    }
    await closing.get(4)?.promise;
    // Other addresses do not wait.
    const from = connect({ host: '127.0.0.1', port: west.server.port, localAddress: '127.0.0.2' });
    const other = connectTls({ socket: from, host: '127.0.0.1', ca: west.authority.ca });
    await once(other, 'secureConnect');
    assert.equal(closed, 4);
    now += 10;
    await closing.get(5)?.promise;
    await west.server[Symbol.asyncDispose]();
    await closing.get(12)?.promise;
    other.destroy();
    assert.equal(west.server.answered['tls-failed'], 5);
  });

  it('ends connections that say nothing or speak no TLS, and takes a new certificate while it runs', async () => {
    await using hasty = await startGranting({ limits: { requestMilliseconds: 200 } });
    for (const said of ['', 'GET / HTTP/1.1\r\n\r\n']) {
      const raw = connect(hasty.server.port, '127.0.0.1');
      raw.on('error', () => {});
      raw.write(said);
      raw.resume();
      await waitForClose(raw);
    }
    await using west = await startGranting();
    const token = await west.issue();
    const renewed = issueBundle(west.authority, 'grant-server', { subject: 'renewed', hosts: ['127.0.0.1'], server: true });
    west.server.setTls(renewed);
    const socket = connectTls({ host: '127.0.0.1', port: west.server.port, ca: token.ca });
    await once(socket, 'secureConnect');
    assert.equal(socket.getPeerX509Certificate()?.serialNumber, renewed.serial);
    socket.destroy();
  });

  it('gives up a body without end, and serves others meanwhile', { timeout: 60_000 }, async () => {
    const begin = (port: number, ca: string): TLSSocket => {
      const socket = connectTls({ host: '127.0.0.1', port, ca });
      socket.on('error', () => {});
      socket.write('POST /v1/redeem/g HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\n{');
      return socket.resume();
    };
    await using hasty = await startGranting({ limits: { requestMilliseconds: 200 } });
    await waitForClose(begin(hasty.server.port, (await hasty.issue()).ca));

    await using patient = await startGranting();
    const token = await patient.issue();
    const socket = begin(patient.server.port, token.ca);
    await once(socket, 'secureConnect');
    assert.equal((await redeem(token)).linkCost, 1);
    assert.equal(socket.destroyed, false);
    socket.destroy();
  });
});

describe('grantUrl', () => {
  it('goes on where connections cannot be accepted, and counts them', async (t) => {
    const listening: Server[] = [];
    const { listen } = Server.prototype;
    t.mock.method(Server.prototype, 'listen', function (this: Server, ...given: Parameters<typeof listen>) {
      listening.push(this);
      return listen.apply(this, given);
    });
    await using west = await startGranting();
    for (const server of listening) server.emit('error', Object.assign(new Error('accept EMFILE'), { code: 'EMFILE' }));
    assert.equal(west.server.answered['server-busy'], 1);
    await redeemToken(await west.issue(), { ...makeSite(), key: createKey() });
  });

  it('puts IPv6 addresses into brackets', () => {
    assert.equal(grantUrl('2001:db8::1', 9090, 'g'), 'https://[2001:db8::1]:9090/v1/redeem/g');
    assert.equal(grantUrl('west', 9090, 'g'), 'https://west:9090/v1/redeem/g');
  });
});
