import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, createServer as createDoor, Socket, type AddressInfo } from 'node:net';
import { afterEach, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { createServer } from 'node:tls';
import { HandshakeScheduler } from '../../../src/net/handshake-scheduler.ts';
import { readHandleOf } from '../../../src/net/node-internals.ts';
import { openTlsFeed, type Feed } from '../../../src/net/tls-feed.ts';

/** A connection that has a handle, as Node.js keeps it, and that brings something whenever it is looked at. */
class Raw extends Socket {
  /** By the system's events. */
  reading = true;
  readonly brought: Feed;

  /**
   * @param cost milliseconds that it takes to read it
   * @param brings bytes, whenever it is read
   */
  constructor(cost = 0, brings = 10) {
    super();
    this.brought = (most) => {
      spent += cost;
      order.push(this);
      return Math.min(most, brings);
    };
    const handle = {
      readStart: () => {
        this.reading = true;
      },
      readStop: () => {
        this.reading = false;
      },
    };
    Reflect.set(this, '_handle', handle);
    // A socket emits its end itself, once its handle is closed.
    this._destroy = (error, done) => {
      done(error);
      this.emit('close', false);
    };
  }
}

let spent = 0;
const order: Raw[] = [];
afterEach(() => {
  spent = 0;
  order.length = 0;
});

function reads(): { readonly reads: HandshakeScheduler; pass(milliseconds: number): void; readonly paused: () => number } {
  let now = 0;
  let paused = 0;
  const pause = (run: () => void, milliseconds: number): void => {
    paused += milliseconds;
    globalThis.setImmediate(run);
  };
  return {
    reads: new HandshakeScheduler(
      () => now,
      () => spent,
      pause,
    ),
    paused: () => paused,
    pass: (milliseconds) => {
      now += milliseconds;
    },
  };
}

async function turns(count: number): Promise<void> {
  for (let left = count; left > 0; left -= 1) await setImmediate();
}

test('one of many connections is read at a time, and groups are read round-robin', async () => {
  const { reads: all } = reads();
  const [first, second, other] = [new Raw(), new Raw(), new Raw()];
  for (const [raw, group] of [
    [first, 'a'],
    [second, 'a'],
    [other, 'b'],
  ] as const)
    all.begin(raw, group, 'incoming', raw.brought);
  for (let turn = 0; turn < 20; turn += 1) {
    const before = order.length;
    await setImmediate();
    assert.ok(order.length <= before + 1, 'one at most');
    assert.ok(turn === 0 || [first, second, other].every(({ reading }) => !reading), 'nothing else reads them');
  }
  assert.deepEqual(order.slice(0, 4), [first, other, second, other]);
  for (const raw of [first, second, other]) raw.destroy();
});

test('a connection after its handshake is read like any other', async () => {
  const { reads: all } = reads();
  const raw = new Raw();
  all.begin(raw, 'a', 'incoming', raw.brought);
  await turns(3);
  all.end(raw);
  await turns(10);
  assert.equal(raw.reading, true);
  raw.destroy();
});

test('a costly handshake and its group are not read for ten times its duration; other groups are', async () => {
  const { reads: all, pass } = reads();
  const [costly, beside, other] = [new Raw(105), new Raw(0, 0), new Raw(0, 0)];
  all.begin(costly, 'a', 'incoming', costly.brought);
  await turns(4);
  all.begin(beside, 'a', 'incoming', beside.brought);
  all.begin(other, 'b', 'incoming', other.brought);
  const before = order.length;
  await turns(50);
  assert.ok(order.slice(before).includes(other));
  assert.deepEqual(new Set(order.slice(before)), new Set([other]));
  costly.destroy();
  pass(1_000);
  await turns(50);
  assert.ok(order.includes(beside));
  for (const raw of [beside, other]) raw.destroy();
});

test('a connection without a required certificate waits neither for those with one nor for costly handshakes', async (t) => {
  const { reads: all } = reads();
  const [costly, own, beside] = [new Raw(105), new Raw(105), new Raw()];
  t.after(() => [costly, own, beside].forEach((raw) => raw.destroy()));
  all.begin(costly, 'a', 'incoming', costly.brought);
  all.begin(own, 'a', 'unknown', own.brought);
  await turns(8);
  all.begin(beside, 'a', 'unknown', beside.brought);
  await turns(8);
  assert.deepEqual([order.filter((raw) => raw === costly).length, order.includes(beside)], [1, true]);
});

test('silent connections, each of another address, delay a new connection for a moment only', async (t) => {
  const { reads: all, paused } = reads();
  const silent = Array.from({ length: 500 }, () => new Raw(0, 0));
  const late = new Raw();
  t.after(() => {
    for (const raw of [...silent, late]) raw.destroy();
  });
  for (const [number, raw] of silent.entries()) all.begin(raw, `peer-${number}`, 'incoming', raw.brought);
  await turns(3_000);
  assert.equal(new Set(order).size, silent.length);
  const before = paused();
  all.begin(late, 'late', 'incoming', late.brought);
  let left = 5_000;
  // Once more when it has had its answer.
  const timesRead = (): number => order.filter((raw) => raw === late).length;
  for (; timesRead() < 2 && left > 0; left -= 1) await setImmediate();
  assert.ok(left > 0 && paused() - before < 500, `${paused() - before} ms`);
});

test('a new connection waits a few iterations, for any number of others that stopped during their handshake', async (t) => {
  const { reads: all } = reads();
  const stopped = Array.from({ length: 320 }, () => new Raw(0, 0));
  const late = new Raw();
  t.after(() => [...stopped, late].forEach((raw) => raw.destroy()));
  for (const [number, raw] of stopped.entries()) all.begin(raw, `peer-${number}`, 'incoming', raw.brought);
  await turns(100);
  all.begin(late, 'late', 'incoming', late.brought);
  let waited = 0;
  for (; !order.includes(late) && waited < 1_000; waited += 1) await setImmediate();
  assert.ok(waited < 100, `${waited} turns`);
});

test('one of the silent connections that the kernel reads first is scanned in each iteration', async (t) => {
  const { reads: all } = reads();
  let looks = 0;
  const server = createServer();
  openTlsFeed(server, true);
  const clients: Socket[] = [];
  const raws: Socket[] = [];
  const arrived = Promise.withResolvers<void>();
  const door = createDoor({ pauseOnConnect: true }, (raw) => {
    raws.push(raw);
    if (raws.length === clients.length) arrived.resolve();
  });
  t.after(() => {
    for (const socket of [...clients, ...raws]) socket.destroy();
    door.close();
  });
  door.listen(0, '127.0.0.1');
  await once(door, 'listening');
  // A TCP server that listens has an address and a port.
  const { port } = door.address() as AddressInfo;
  for (let count = 0; count < 50; count += 1) clients.push(connect(port, '127.0.0.1').on('error', () => {}));
  await arrived.promise;
  for (const [number, raw] of raws.entries()) {
    server.emit('connection', raw);
    const handle = readHandleOf(raw);
    assert.ok(handle !== undefined);
    const { readStart } = handle;
    handle.readStart = () => {
      looks += 1;
      return readStart.call(handle);
    };
    all.begin(raw, `peer-${number}`);
  }
  await turns(2);
  const before = looks;
  await turns(40);
  assert.ok(looks - before > 30, `${looks - before} looks in 40 turns`);
});

test('long silent connections delay a new connection of their address by a scan or two', async (t) => {
  const { reads: all, pass } = reads();
  const silent = Array.from({ length: 100 }, () => new Raw(0, 0));
  const late = new Raw();
  t.after(() => [...silent, late].forEach((raw) => raw.destroy()));
  for (const raw of silent) all.begin(raw, 'a', 'incoming', raw.brought);
  await turns(300);
  pass(1_000);
  // Each is looked at once more.
  await turns(300);
  const before = order.length;
  all.begin(late, 'a', 'incoming', late.brought);
  for (let left = 1_000; !order.includes(late) && left > 0; left -= 1) await setImmediate();
  assert.ok(order.indexOf(late) - before < 4, `${order.indexOf(late) - before} were read before`);
});

test('a client that sends more than usual certificates is closed, and nothing more of it is read', async () => {
  const { reads: all } = reads();
  let [taken, why] = [0, ''];
  const greedy = new Raw();
  greedy.on('error', (error) => {
    why = error.message;
  });
  const take: Feed = (most) => {
    taken += most;
    return most;
  };
  all.begin(greedy, 'a', 'incoming', take);
  await turns(10);
  assert.equal(greedy.destroyed, true);
  assert.match(why, /handshake/);
  assert.ok(taken >= 8_192 && taken <= 32_768, `${taken} bytes`);
});

test('an error of a connection that has broken TLS is reported as usual', async () => {
  const { reads: all } = reads();
  const broken = new Raw();
  all.begin(broken, 'a', 'incoming', () => undefined);
  await turns(10);
  assert.equal(broken.reading, true);
  broken.destroy();
});

test('however many others come, one that this end has opened has every other turn', async (t) => {
  const { reads: all } = reads();
  const others = Array.from({ length: 50 }, () => new Raw());
  const own = new Raw();
  t.after(() => {
    for (const raw of [...others, own]) raw.destroy();
  });
  for (const [number, raw] of others.entries()) all.begin(raw, `peer-${number}`, number % 2 === 0 ? 'incoming' : 'asking', raw.brought);
  await turns(20);
  const before = order.length;
  all.begin(own, 'server', 'outgoing', own.brought);
  await turns(20);
  const since = order.slice(before);
  assert.ok(
    since.filter((raw) => raw === own).length >= since.length / 2 - 2,
    `${since.map((raw) => (raw === own ? 'own' : '')).join(' ')}`,
  );
});

test('a connection that has closed is looked at no more', async () => {
  const { reads: all } = reads();
  const raw = new Raw();
  all.begin(raw, 'a', 'incoming', raw.brought);
  raw.destroy();
  await turns(10);
  assert.deepEqual(order, []);
});
