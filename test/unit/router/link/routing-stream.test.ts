import assert from 'node:assert/strict';
import { performance } from 'node:perf_hooks';
import { describe, mock, test } from 'node:test';
import type { Stream } from '../../../../src/http2/contract.ts';
import { frameMessage } from '../../../../src/router/link/session/framing.ts';
import { writeRecords } from '../../../../src/routing/codec.ts';
import { messageTime } from '../../../../src/routing/limits.ts';
import { KeyedCpuBudget } from '../../../../src/limits/cpu-budget.ts';
import { RoutingStream, type RoutingStreamLimits } from '../../../../src/router/link/session/routing-stream.ts';

class Peer implements Stream {
  readonly id = 1;
  queued = 0;
  readonly held = 0;
  given = 0;
  ended = false;

  respond(): void {}

  write(chunk: Buffer): boolean {
    this.queued += chunk.length;
    return true;
  }

  end(): void {
    this.ended = true;
  }

  reset(): void {}

  consumed(bytes: number): void {
    this.given += bytes;
  }
}

interface Heard {
  readonly stream: RoutingStream;
  readonly peer: Peer;
  readonly messages: string[];
  readonly faults: unknown[];
  ends: number;
}

function open(
  limits: Partial<RoutingStreamLimits> = {},
  onMessage: (message: string) => void = () => {},
  // Whatever time there is: real, where the timers are not.
  time = new KeyedCpuBudget(1, Infinity).of('peer'),
): Heard {
  const peer = new Peer();
  const heard: Heard = {
    peer,
    messages: [],
    faults: [],
    ends: 0,
    stream: new RoutingStream(
      {
        onHello: (message) => heard.messages.push(`hello ${message.toString()}`),
        onMessage: (message) => {
          heard.messages.push(message.toString());
          onMessage(message.toString());
        },
        onEnd: () => {
          heard.ends += 1;
        },
        onFault: (error) => heard.faults.push(error),
      },
      time,
      limits,
    ),
  };
  heard.stream.use(peer);
  return heard;
}

const EMPTY = Buffer.alloc(0);
const framed = (text: string): Buffer => frameMessage(Buffer.from(text));

describe('a routing stream', () => {
  test('ends its own half too when the peer has ended it, so that the connection can close', () => {
    const { stream, peer } = open();
    stream.onData(framed('me'));
    stream.onEnd();
    assert.ok(peer.ended);
  });

  test('says nothing where the peer ends it before its hello: that is not answered', () => {
    const { stream, peer } = open();
    stream.onEnd();
    assert.ok(!peer.ended);
  });

  test('holds what follows the hello until it is started, and gives the window back only then', () => {
    const { stream, peer, messages } = open();
    const bytes = Buffer.concat([framed('me'), framed('one'), framed('two')]);
    stream.onData(bytes);
    assert.deepEqual(messages, ['hello me']);
    assert.equal(peer.given, 0);
    stream.start();
    assert.deepEqual(messages, ['hello me', 'one', 'two']);
    assert.equal(peer.given, bytes.length);
  });

  test('gives the window back when it ends with unread messages', () => {
    const { stream, peer } = open();
    const bytes = Buffer.concat([framed('me'), framed('one')]);
    stream.onData(bytes);
    stream.end();
    assert.equal(peer.given, bytes.length);
  });

  test('cuts off a peer whose message is bad, and delivers nothing after it', () => {
    const { stream, messages, faults } = open({}, (message) => {
      if (message === 'bad') throw new Error('bad');
    });
    stream.onData(framed('me'));
    stream.start();
    stream.onData(Buffer.concat([framed('good'), framed('bad'), framed('late')]));
    stream.onData(framed('later'));
    stream.onReset({ code: 8, reason: 'gone' });
    assert.deepEqual(messages, ['hello me', 'good', 'bad']);
    assert.equal(faults.length, 1);
  });

  test('slows down a peer that sends without end, and loses nothing', () => {
    mock.timers.enable({ apis: ['setTimeout', 'Date'] });
    try {
      const { stream, peer, messages, faults } = open({ burst: 3_000, rate: 2_000 });
      stream.onData(framed('me'));
      stream.start();
      const given = peer.given;
      for (let count = 0; count < 10; count += 1) stream.onData(framed(`message ${count}`));
      assert.equal(messages.length, 4);
      assert.ok(peer.given < given + 10 * framed('message 0').length);
      for (let step = 0; step < 100; step += 1) mock.timers.tick(100);
      assert.equal(messages.length, 11);
      assert.deepEqual(faults, []);
    } finally {
      mock.timers.reset();
    }
  });

  test('heeds what is costly for a part of the time only, and loses nothing', (t) => {
    mock.timers.enable({ apis: ['setTimeout', 'Date'] });
    t.after(() => mock.timers.reset());
    let clock = 0;
    t.mock.method(performance, 'now', () => clock);
    // Each message takes 50 ms.
    const costly = (): void => {
      clock += 50;
    };
    const { stream, peer, messages, faults } = open({}, costly, new KeyedCpuBudget(messageTime.part, messageTime.burst).of('peer'));
    stream.onData(framed('me'));
    stream.start();
    const given = peer.given;
    for (let count = 0; count < 40; count += 1) stream.onData(framed(`message ${count}`));
    assert.ok(messages.length < 10, `${messages.length} messages were heeded at once`);
    assert.ok(peer.given < given + 40 * framed('message 0').length);
    const pass = (milliseconds: number): void => {
      for (let left = milliseconds; left > 0; left -= 20) {
        clock += 20;
        mock.timers.tick(20);
      }
    };
    const before = messages.length;
    pass(1_000);
    const heeded = messages.length - before;
    assert.ok(heeded >= 4 && heeded <= 8, `${heeded} messages were heeded in a second`);
    pass(20_000);
    assert.equal(messages.length, 41);
    assert.deepEqual(faults, []);
  });

  test('heeds a long message of records piece by piece, for a part of the time as well, and whole in the end', (t) => {
    mock.timers.enable({ apis: ['setTimeout', 'Date'] });
    t.after(() => mock.timers.reset());
    let clock = 0;
    t.mock.method(performance, 'now', () => clock);
    const costly = (): void => {
      clock += 4;
    };
    const { stream, peer, messages, faults } = open({}, costly, new KeyedCpuBudget(messageTime.part, messageTime.burst).of('peer'));
    stream.onData(framed('me'));
    stream.start();
    const records = Array.from({ length: 80 }, (_, age) => ({ age, bytes: Buffer.alloc(200) }));
    const [message = EMPTY] = writeRecords(records, 60_000);
    const before = peer.given;
    const frame = frameMessage(message);
    stream.onData(frame);
    stream.onData(framed('last'));
    const heeded = messages.length - 1;
    assert.ok(heeded > 0 && heeded < 4, `${heeded} pieces were heeded at once`);
    assert.equal(peer.given, before, 'the peer receives no window');
    assert.ok(stream.held > 80 * 100, `${stream.held} bytes wait`);
    for (let step = 0; step < 100; step += 1) {
      clock += 20;
      mock.timers.tick(20);
    }
    assert.equal(messages.length, 12);
    assert.equal(messages.at(-1), 'last');
    assert.equal(peer.given, before + frame.length + framed('last').length);
    assert.equal(stream.held, 0);
    assert.deepEqual(faults, []);
  });

  test('has one part of the time with all others of its peer, and also when it comes back', (t) => {
    mock.timers.enable({ apis: ['setTimeout', 'Date'] });
    t.after(() => mock.timers.reset());
    let clock = 0;
    t.mock.method(performance, 'now', () => clock);
    const shares = new KeyedCpuBudget(messageTime.part, messageTime.burst);
    const costly = (): void => {
      clock += 50;
    };
    const begin = (peer: string): Heard => {
      const heard = open({}, costly, shares.of(peer));
      heard.stream.onData(framed('me'));
      heard.stream.start();
      for (let count = 0; count < 40; count += 1) heard.stream.onData(framed(`message ${count}`));
      return heard;
    };
    const heeded = (...all: readonly Heard[]): number => all.reduce((sum, { messages }) => sum + messages.length - 1, 0);
    const [first, second] = [begin('liar'), begin('liar')];
    assert.ok(heeded(first) > 0);
    assert.equal(heeded(second), 0, 'another link brings no other part of the time');
    first.stream.end();
    second.stream.end();
    const back = begin('liar');
    assert.equal(heeded(back), 0, 'nor does another one later');
    assert.ok(heeded(begin('honest')) > 0, 'others have theirs');
    const since = clock;
    for (let step = 0; step < 50; step += 1) {
      clock += 20;
      mock.timers.tick(20);
    }
    const least = ((clock - since) * messageTime.part) / 50;
    assert.ok(heeded(back) > least - 3 && heeded(back) < least + 2, `${heeded(back)} messages were heeded in ${clock - since} ms`);
  });

  test('has its turn among all others of its peer, however many ask for theirs', (t) => {
    mock.timers.enable({ apis: ['setTimeout', 'Date'] });
    t.after(() => mock.timers.reset());
    let clock = 0;
    t.mock.method(performance, 'now', () => clock);
    const shares = new KeyedCpuBudget(messageTime.part, messageTime.burst);
    const begin = (count: number): Heard => {
      const costly = (): void => {
        clock += 4;
      };
      const heard = open({}, costly, shares.of('peer'));
      heard.stream.onData(framed('me'));
      heard.stream.start();
      for (let message = 0; message < count; message += 1) heard.stream.onData(framed(`message ${message}`));
      return heard;
    };
    const many = Array.from({ length: 7 }, () => begin(2_000));
    const one = begin(20);
    const pass = (seconds: number): void => {
      for (let step = 0; step < seconds * 50; step += 1) {
        clock += 20;
        mock.timers.tick(20);
      }
    };
    pass(4);
    assert.equal(one.messages.length, 21);
    // A stream that ends while it waits delays no other.
    const [first, ...others] = many;
    for (const { stream } of others) stream.end();
    const before = first?.messages.length ?? 0;
    pass(4);
    const heeded = (first?.messages.length ?? 0) - before;
    assert.ok(heeded > 4_000 * messageTime.part * 0.2, `${heeded} messages were heeded in four seconds`);
  });

  test('gives up a peer that does not read', () => {
    const { stream, faults } = open({ queued: 100 });
    stream.send(Buffer.alloc(50));
    assert.equal(faults.length, 0);
    stream.send(Buffer.alloc(50));
    assert.equal((faults[0] as { code?: string }).code, 'too-slow');
  });

  test('reports a reset as one sentence, whether or not its reason ends with a full stop', () => {
    for (const reason of ['cancelled', 'The peer is silent.']) {
      const { stream, faults } = open();
      stream.onReset({ code: 2, reason });
      assert.match(String(faults[0]), /: The routing stream broke: [^.]+\.$/);
    }
  });

  test('ends once, whichever side ends it', () => {
    const heard = open();
    heard.stream.onEnd();
    heard.stream.onEnd();
    heard.stream.onReset({ code: 8, reason: 'gone' });
    assert.equal(heard.ends, 1);
    const own = open();
    own.stream.end();
    own.stream.end();
    own.stream.onEnd();
    assert.ok(own.peer.ended);
    assert.equal(own.ends, 0);
  });
});

test('data of a slowed peer waits as bytes, not as messages, and arrives in order', (t) => {
  mock.timers.enable({ apis: ['setTimeout', 'Date'] });
  t.after(() => mock.timers.reset());
  const { stream, peer, messages, faults } = open({ burst: 5_000, rate: 50_000 });
  stream.onData(framed('me'));
  stream.start();
  const count = 400;
  const sent = Array.from({ length: count }, (_, index) => framed(String(index)));
  for (const message of sent) for (const byte of message) stream.onData(Buffer.of(byte));
  assert.ok(messages.length < 10, `${messages.length} messages were read at once`);
  const given = peer.given;
  for (let left = 1_000; left > 0 && messages.length < count + 1; left -= 1) mock.timers.tick(20);
  assert.deepEqual(messages, ['hello me', ...Array.from({ length: count }, (_, index) => String(index))]);
  assert.equal(
    peer.given,
    [framed('me'), ...sent].reduce((sum, { length }) => sum + length, 0),
  );
  assert.ok(given < peer.given, 'the window opened only then');
  assert.deepEqual(faults, []);
});
