import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect as connectTcp } from 'node:net';
import { describe, it } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { connect, createServer, type TLSSocket } from 'node:tls';
import { receive } from '../../../src/net/shared-read-buffer.ts';
import { readHandleOf } from '../../../src/net/node-internals.ts';
import { shortRecordLimiter } from '../../../src/net/short-records.ts';
import { eventually } from '../../harness/wait.ts';
import { listen } from '../router/local/two-sides.ts';
import { testAuthority } from '../router/support/certificates.ts';

const authority = await testAuthority();
const bundle = await authority.issue({ hosts: ['localhost', '127.0.0.1'] });

/** Connections, accepted and not read yet. */
async function connections(
  count: number,
  from: (index: number) => string = () => '127.0.0.1',
): Promise<AsyncDisposable & { readonly clients: readonly TLSSocket[]; readonly accepted: readonly TLSSocket[] }> {
  const accepted: TLSSocket[] = [];
  const { ca: _ca, ...own } = bundle;
  const server = createServer(own, (socket) => {
    socket.on('error', () => {});
    readHandleOf(socket)?.readStop();
    accepted.push(socket);
  });
  const port = await listen(server);
  const clients = Array.from({ length: count }, (_, index) =>
    connect({
      socket: connectTcp({ port, host: '127.0.0.1', localAddress: from(index), noDelay: true }),
      servername: 'localhost',
      ca: authority.ca,
    }),
  );
  for (const client of clients) client.on('error', () => {});
  await Promise.all(clients.map((client) => once(client, 'secureConnect')));
  await eventually('all are accepted', () => accepted.length === count);
  return {
    clients,
    accepted,
    [Symbol.asyncDispose]: async () => {
      for (const socket of [...clients, ...accepted]) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

/** Each of these characters in a record of its own. */
async function sayInRecords(client: TLSSocket, text: string): Promise<void> {
  for (const letter of text) await new Promise((resolve) => client.write(letter, resolve));
}

const RECORDS = 1_000;
const text = Array.from({ length: RECORDS }, (_, index) => String.fromCharCode(97 + (index % 26))).join('');

/** Text of each connection, and the most records in one event-loop iteration. */
class Heard {
  readonly texts = new Map<TLSSocket, string>();
  readonly ended = new Set<TLSSocket>();
  most = 0;
  turns = 0;
  #inTurn = 0;

  take(socket: TLSSocket, chunk: Buffer): void {
    this.texts.set(socket, (this.texts.get(socket) ?? '') + chunk.toString());
    this.#inTurn += 1;
    this.most = Math.max(this.most, this.#inTurn);
  }

  hear(socket: TLSSocket, after?: (socket: TLSSocket) => void): void {
    socket.on('end', () => this.ended.add(socket));
    receive(socket, (chunk) => {
      this.take(socket, chunk);
      after?.(socket);
    });
    readHandleOf(socket)?.readStart();
  }

  async until(isOver: () => boolean): Promise<void> {
    for (const end = performance.now() + 60_000; !isOver() && performance.now() < end; this.#inTurn = 0, this.turns += 1)
      await setImmediate();
  }
}

describe('short records of TLS', () => {
  it('come in several turns where many connections have brought many, and all of them come', async () => {
    await using opened = await connections(16);
    const { clients, accepted } = opened;
    await Promise.all(clients.map((client) => sayInRecords(client, text)));
    for (const client of clients) client.end();
    const heard = new Heard();
    for (const socket of accepted) heard.hear(socket);
    await heard.until(() => heard.ended.size === accepted.length);
    for (const socket of accepted) assert.equal(heard.texts.get(socket), text);
    assert.ok(heard.most < 8 * RECORDS, `${heard.most} records in one turn`);
  });

  it('are not read on for one whose user has it wait', async () => {
    await using opened = await connections(8);
    const { clients, accepted } = opened;
    await Promise.all(clients.map((client) => sayInRecords(client, text)));
    const heard = new Heard();
    for (const socket of accepted) heard.hear(socket);
    const [first] = accepted;
    const isWhole = (socket: TLSSocket): boolean => heard.texts.get(socket)?.length === RECORDS;
    await heard.until(() => accepted.every(isWhole));
    first?.pause();
    await Promise.all(clients.map((client) => sayInRecords(client, text)));
    const rest = accepted.slice(1);
    await heard.until(() => rest.every((socket) => heard.texts.get(socket)?.length === 2 * RECORDS));
    assert.ok(first !== undefined && isWhole(first));
    first.resume();
    await heard.until(() => heard.texts.get(first) === text + text);
    assert.equal(heard.texts.get(first), text + text);
  });

  it('arrive even if a reader that paused its socket then reads without a shared buffer', async () => {
    await using all = await connections(1);
    const [[client], [socket]] = [all.clients, all.accepted];
    assert.ok(client !== undefined && socket !== undefined);
    const count = shortRecordLimiter.limit(socket, () => 'all');
    let heard = '';
    socket.on('data', (chunk: Buffer) => {
      count?.(chunk.length);
      heard += chunk.toString();
      // It waits in line from here on.
      if (heard.length === 256) socket.pause();
    });
    // So few more that it does not have to wait again for these.
    await sayInRecords(client, text.slice(0, 300));
    readHandleOf(socket)?.readStart();
    await eventually('the first to come', () => heard.length >= 256);
    for (let turn = 0; turn < 4; turn += 1) await setImmediate();
    await sayInRecords(client, text);
    socket.resume();
    await eventually('all to come', () => heard === text.slice(0, 300) + text);
  });

  it('come in several turns, too, of those that have brought much otherwise', async () => {
    await using opened = await connections(16);
    const { clients, accepted } = opened;
    const heard = new Heard();
    for (const socket of accepted) heard.hear(socket);
    const much = 'A'.repeat(80_000);
    for (const client of clients) client.write(much);
    const have = (length: number) => () => accepted.every((socket) => heard.texts.get(socket)?.length === length);
    await heard.until(have(much.length));
    for (const socket of accepted) readHandleOf(socket)?.readStop();
    await Promise.all(clients.map((client) => sayInRecords(client, text)));
    heard.most = 0;
    for (const socket of accepted) readHandleOf(socket)?.readStart();
    await heard.until(have(much.length + RECORDS));
    for (const socket of accepted) assert.equal(heard.texts.get(socket), much + text);
    assert.ok(heard.most < 8 * RECORDS, `${heard.most} records in one turn`);
  });

  it('come in several turns where very many connections have brought some each', async () => {
    const [count, some] = [96, text.slice(0, 60)];
    await using opened = await connections(count);
    const { clients, accepted } = opened;
    await Promise.all(clients.map((client) => sayInRecords(client, some)));
    const heard = new Heard();
    for (const socket of accepted) heard.hear(socket);
    await heard.until(() => accepted.every((socket) => heard.texts.get(socket) === some));
    for (const socket of accepted) assert.equal(heard.texts.get(socket), some);
    assert.ok(heard.most < 4_000, `${heard.most} records in one turn`);
  });

  it('stay within the limit of an iteration even if readers pause and resume', async () => {
    const [length, long] = [12_000, text.repeat(12)];
    await using opened = await connections(2);
    const { clients, accepted } = opened;
    await Promise.all(clients.map((client) => sayInRecords(client, long)));
    const heard = new Heard();
    // As one does whose own end takes what it is given, but a little later.
    const pause = (socket: TLSSocket): void => {
      socket.pause();
      queueMicrotask(() => void socket.resume());
    };
    for (const socket of accepted) heard.hear(socket, pause);
    await heard.until(() => accepted.every((socket) => heard.texts.get(socket)?.length === length));
    for (const socket of accepted) assert.equal(heard.texts.get(socket), long);
    assert.ok(heard.most < 8_000, `${heard.most} records in one turn`);
  });

  it('delay no connection of another address by more than a few iterations, for any number of connections', async () => {
    const greedy = 14;
    await using opened = await connections(greedy + 1, (index) => (index < greedy ? '127.0.0.1' : '127.0.0.2'));
    const { clients, accepted } = opened;
    await Promise.all(clients.slice(0, greedy).map((client) => sayInRecords(client, text.repeat(3))));
    const patient = accepted.find(({ remoteAddress }) => remoteAddress === '127.0.0.2');
    assert.ok(patient !== undefined);
    await sayInRecords(clients[greedy] as TLSSocket, 'x');
    const heard = new Heard();
    for (const socket of accepted) if (socket !== patient) heard.hear(socket);
    heard.hear(patient);
    await heard.until(() => heard.texts.get(patient) === 'x');
    assert.ok(heard.turns < 8, `heard after ${heard.turns} turns`);
  });
});
