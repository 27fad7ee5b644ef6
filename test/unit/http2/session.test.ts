import assert from 'node:assert/strict';
import { Buffer } from 'node:buffer';
import { createHash, randomBytes } from 'node:crypto';
import { describe, it } from 'node:test';

import { ErrorCode } from '../../../src/http2/errors.ts';
import type { SessionLimits } from '../../../src/http2/limits.ts';
import { createSession } from '../../../src/http2/session.ts';
import { Memory } from '../../../src/memory/memory.ts';
import { createLogger } from '../../../src/telemetry/log.ts';
import { eventually } from '../../harness/wait.ts';
import { loopback } from './support/loopback.ts';
import { connectStream, Echo, pour, Recorder, SessionRecorder } from './support/recorder.ts';
import type { Accepted } from './support/recorder.ts';

type Accept = ConstructorParameters<typeof SessionRecorder>[0];

/** Two sessions on one connection. */
async function pair(accept?: Accept, limits: Partial<SessionLimits> = {}, clientLimits: Partial<SessionLimits> = {}) {
  const wire = await loopback();
  const server = new SessionRecorder(accept);
  const client = new SessionRecorder();
  const serverSession = createSession(wire.far, { role: 'server', events: server, limits });
  const clientSession = createSession(wire.near, { role: 'client', events: client, limits: clientLimits });
  return { wire, server, client, serverSession, clientSession, [Symbol.asyncDispose]: () => wire[Symbol.asyncDispose]() };
}

const echo = ({ stream }: Accepted): Echo => new Echo(stream);
const ok = ({ stream }: Accepted): void => stream.respond({ status: 200, fields: {} });

function sha256(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}

describe('two sessions', () => {
  it('carry a CONNECT with its fields, data both ways, and both half-closes', async () => {
    await using ends = await pair(({ stream }) => stream.respond({ status: 200, fields: { 'earshot-connection': 'abc' } }));
    const { stream, recorder } = connectStream(ends.clientSession, 'backend:8080');
    stream.write(Buffer.from('ping'));
    stream.end();
    const { head, recorder: far, stream: answer } = await eventually('the request', () => ends.server.accepted[0]);
    assert.deepEqual(
      { method: head.method, authority: head.authority, path: head.path },
      { method: 'CONNECT', authority: 'backend:8080', path: undefined },
    );
    await eventually('the half-close', () => far.ended);
    assert.equal(far.text, 'ping');
    answer.write(Buffer.from('pong'));
    answer.end();
    await eventually('the answer', () => recorder.ended);
    assert.deepEqual([recorder.response?.status, recorder.response?.fields['earshot-connection'], recorder.text], [200, 'abc', 'pong']);
    assert.deepEqual([ends.clientSession.openStreams, recorder.resets], [0, []]);
    await eventually('the server to forget it', () => ends.serverSession.openStreams === 0);
  });

  it('go on however many streams one of them gives up before they are answered', async () => {
    const limits = { earlyResets: { burst: 20, perSecond: 0 } };
    const late: Accepted[] = [];
    await using ends = await pair((accepted) => void late.push(accepted), limits, limits);
    const given = Array.from({ length: 100 }, () => connectStream(ends.clientSession, 'key'));
    await eventually('all are asked for', () => late.length === 100);
    for (const { stream } of given) stream.reset(ErrorCode.CANCEL);
    // To its user each is over; the peer hears of some.
    for (const { stream } of given) stream.write(Buffer.from('too late'));
    await eventually('some are reset at once', () => late.filter(({ recorder }) => recorder.resets.length > 0).length === 10);
    for (const { stream } of late) stream.respond({ status: 200, fields: {} });
    await eventually('the others when they are answered', () => late.every(({ recorder }) => recorder.resets.length === 1));
    await eventually('nothing is left', () => ends.clientSession.openStreams + ends.serverSession.openStreams === 0);
    assert.ok(late.every(({ recorder }) => recorder.received === 0));
    assert.ok(given.every(({ recorder }) => recorder.response === undefined && recorder.resets.length === 0));
    assert.deepEqual([ends.clientSession.state, ends.serverSession.state, ends.clientSession.queued], ['open', 'open', 0]);
  });

  it('count requests that were left and are not answered as part of the share of whose they were, and as nothing of the link', async () => {
    using memory = new Memory({ bytes: 1 << 20, peers: 10 }, createLogger({ level: 'silent', component: 'test' }));
    const asks = { owner: 'site X', key: 'key' };
    const limits = { earlyResets: { burst: 0, perSecond: 0 } };
    const late: Accepted[] = [];
    await using wire = await loopback();
    createSession(wire.far, { role: 'server', events: new SessionRecorder((accepted) => void late.push(accepted)) });
    const session = createSession(wire.near, { role: 'client', events: new SessionRecorder(), limits, memory });
    const ask = () => session.request({ method: 'CONNECT', authority: 'key', fields: {} }, new Recorder(), { whose: asks });
    const full = () => memory.refusal('connection', asks, 40) !== undefined;
    const left = Array.from({ length: 600 }, ask);
    await eventually('all are asked for', () => late.length === 600);
    assert.deepEqual([full(), session.held], [false, 0]);
    for (const stream of left) stream.reset(ErrorCode.CANCEL);
    assert.deepEqual([full(), session.held, memory.refusal('connection', { owner: 'site Y' }, 20)], [true, 0, undefined]);
    for (const { stream } of late.slice(0, 500)) stream.respond({ status: 200, fields: {} });
    await eventually('those that are answered count no more', () => !full());
    assert.equal(session.openStreams, 100);
    session.destroy();
    assert.equal(memory.refusal('connection', asks, 60), undefined);
  });

  it('do not keep a stream for ever that was refused and whose request does not end', async () => {
    await using ends = await pair(({ stream }) => stream.respond({ status: 503, fields: {} }, { end: true }), { answeredDeadline: 20 });
    const { recorder } = connectStream(ends.clientSession, 'backend');
    await eventually('the reset', () => recorder.resets.length > 0);
    assert.deepEqual([recorder.response?.status, recorder.resets[0]?.code], [503, ErrorCode.CANCEL]);
    assert.equal(ends.serverSession.openStreams, 0);
    assert.equal(ends.server.accepted[0]?.recorder.resets.length, 1);
  });

  it('carry a POST with its path', async () => {
    await using ends = await pair(({ stream }) => stream.respond({ status: 204, fields: {} }, { end: true }));
    const recorder = connectStream(ends.clientSession).recorder;
    ends.clientSession.request({ method: 'POST', authority: 'site', path: '/.well-known/earshot/renew', fields: { a: 'b' } }, recorder, {
      end: true,
    });
    const { head } = await eventually('the request', () => ends.server.accepted[1]);
    assert.deepEqual([head.method, head.path, head.fields['a']], ['POST', '/.well-known/earshot/renew', 'b']);
  });

  it('move megabytes both ways unharmed, in pieces of any size', async () => {
    await using ends = await pair(echo);
    const bytes = randomBytes(8 << 20);
    const { stream, recorder } = connectStream(ends.clientSession);
    await pour(stream, recorder, bytes, 100_003, eventually);
    await eventually('everything back', () => recorder.ended);
    assert.equal(sha256(Buffer.concat(recorder.chunks)), sha256(bytes));
  });

  it('keep five hundred streams apart', async () => {
    await using ends = await pair(echo);
    const streams = Array.from({ length: 500 }, (_, index) => ({ ...connectStream(ends.clientSession), text: `${index} `.repeat(index) }));
    for (const { stream, text } of streams) {
      stream.write(Buffer.from(text));
      stream.end();
    }
    await eventually('all answers', () => streams.every(({ recorder }) => recorder.ended));
    assert.ok(streams.every(({ recorder, text }) => recorder.text === text));
  });

  it("hold streams over the peer's limit back until others end", async () => {
    await using ends = await pair(ok, { concurrentStreams: 2 });
    await eventually('the settings', () => ends.client.readies === 1);
    const streams = [1, 2, 3].map(() => connectStream(ends.clientSession));
    const third = streams[2];
    assert.ok(third !== undefined);
    third.stream.write(Buffer.from('early'));
    third.stream.end();
    await eventually('two requests', () => ends.server.accepted.length === 2);
    await ends.clientSession.ping(60_000);
    assert.equal(ends.server.accepted.length, 2);
    streams[0]?.stream.reset(ErrorCode.CANCEL);
    const late = await eventually('the third', () => ends.server.accepted[2]);
    await eventually('its data', () => late.recorder.ended);
    assert.equal(late.recorder.text, 'early');
  });

  it('report a reset to the other end, and drop queued data', async () => {
    await using ends = await pair(ok);
    const { stream } = connectStream(ends.clientSession);
    const { recorder: far } = await eventually('the request', () => ends.server.accepted[0]);
    stream.write(Buffer.alloc(1 << 20));
    stream.reset(ErrorCode.CANCEL);
    await eventually('the reset', () => far.resets.length > 0);
    assert.deepEqual(far.resets, [{ code: ErrorCode.CANCEL, reason: 'reset by the peer: CANCEL' }]);
    assert.deepEqual([ends.clientSession.queued, ends.clientSession.openStreams, stream.queued], [0, 0, 0]);
  });

  it('stop a writer whose reader stops, at the window, and let it go on after', async () => {
    await using ends = await pair(({ stream, recorder }) => {
      recorder.holding = true;
      stream.respond({ status: 200, fields: {} });
    });
    const { stream, recorder } = connectStream(ends.clientSession);
    const { recorder: far, stream: farStream } = await eventually('the request', () => ends.server.accepted[0]);
    const poured = pour(stream, recorder, Buffer.alloc(1 << 20), 16_384, eventually);
    await eventually('a full window', () => far.received === 65_535);
    await ends.clientSession.ping(60_000);
    assert.equal(far.received, 65_535);
    far.holding = false;
    farStream.consumed(far.received);
    await poured;
    await eventually('the end', () => far.ended);
    assert.equal(far.received, 1 << 20);
  });

  it('hold little of what nothing is taken of, and more of what is', async () => {
    await using ends = await pair(({ stream, recorder }) => {
      recorder.holding = true;
      stream.respond({ status: 200, fields: {} });
    });
    const { stream, recorder } = connectStream(ends.clientSession);
    const fill = async (): Promise<number> => {
      while (stream.write(Buffer.alloc(4_096)));
      await ends.clientSession.ping(60_000);
      return stream.queued;
    };
    // Before it has an id, and once the window is full.
    const before = await fill();
    const { recorder: far, stream: farStream } = await eventually('the request', () => ends.server.accepted[0]);
    while (far.received < 65_535) await fill();
    await fill();
    assert.ok(before <= 16_384 && stream.queued <= 65_536 + 4_096, `${before} and then ${stream.queued} bytes are queued`);
    const { drains } = recorder;
    far.holding = false;
    farStream.consumed(far.received);
    await eventually('it may write again', () => recorder.drains > drains);
    far.holding = true;
    let received = 0;
    do {
      ({ received } = far);
      await fill();
    } while (far.received > received);
    assert.ok(stream.queued >= 131_072 && stream.queued < 140_000, `${stream.queued} bytes are queued`);
  });

  it('notify a writer that exceeded its buffer once that has drained, even if it has ended its stream meanwhile', async () => {
    await using ends = await pair(({ stream, recorder }) => {
      recorder.holding = true;
      stream.respond({ status: 200, fields: {} });
    });
    const { stream, recorder } = connectStream(ends.clientSession);
    assert.equal(stream.write(Buffer.alloc(100_000)), false);
    stream.end();
    const { recorder: far, stream: farStream } = await eventually('the request', () => ends.server.accepted[0]);
    far.holding = false;
    farStream.consumed(far.received);
    await eventually('the end', () => far.ended);
    assert.equal(recorder.drains, 1);
  });

  it('do not let stopped readers stop others, nor hold more than the bound', async () => {
    const unconsumed = 1 << 20;
    await using ends = await pair(
      ({ stream, recorder, head }) => {
        recorder.holding = head.authority === 'stopped';
        stream.respond({ status: 200, fields: {} });
      },
      { unconsumed },
    );
    const stopped = Array.from({ length: 60 }, () => connectStream(ends.clientSession, 'stopped'));
    await eventually('the requests', () => ends.server.accepted.length === 60);
    for (const { stream } of stopped) stream.write(Buffer.alloc(1 << 17));
    const quick = connectStream(ends.clientSession, 'quick');
    await pour(quick.stream, quick.recorder, Buffer.alloc(1 << 20), 65_536, eventually);
    const far = await eventually('the quick one', () => ends.server.accepted.find(({ head }) => head.authority === 'quick'));
    await eventually('all of it', () => far.recorder.ended);
    assert.equal(far.recorder.received, 1 << 20);
    const held = ends.server.accepted.reduce((sum, { recorder }) => sum + (recorder.holding ? recorder.received : 0), 0);
    assert.ok(held <= unconsumed + 60 * 1_024, `${held} bytes are held`);
  });

  it('let a small stream pass bulk', async () => {
    await using ends = await pair(ok);
    await eventually('the settings', () => ends.client.readies === 1);
    const order: string[] = [];
    const bulk = connectStream(ends.clientSession, 'bulk');
    const small = connectStream(ends.clientSession, 'small');
    await eventually('the requests', () => ends.server.accepted.length === 2);
    for (const { head, recorder } of ends.server.accepted) {
      recorder.onData = (chunk) => {
        recorder.stream?.consumed(chunk.length);
        if (order.at(-1) !== head.authority) order.push(head.authority);
      };
    }
    bulk.stream.write(Buffer.alloc(60_000));
    small.stream.write(Buffer.from('quick'));
    await eventually('both', () => order.length === 2);
    assert.deepEqual(order, ['small', 'bulk']);
  });

  it('answer pings, and reject those that stay unanswered', async () => {
    await using ends = await pair();
    assert.ok((await ends.clientSession.ping(60_000)) >= 0);
    assert.ok((await ends.serverSession.ping(60_000)) >= 0);
    ends.wire.near.pause();
    await assert.rejects(ends.clientSession.ping(20), { code: 'http2-ping', message: 'no answer to a ping within 20 ms' });
  });

  it('drain: open streams finish, new ones are refused, then both ends close', async () => {
    await using ends = await pair(echo);
    const { stream, recorder } = connectStream(ends.clientSession);
    await eventually('the answer', () => recorder.response !== undefined);
    ends.serverSession.drain();
    await eventually('the notice', () => ends.client.goaways.length > 0);
    assert.equal(ends.clientSession.state, 'draining');
    assert.throws(() => connectStream(ends.clientSession), { code: 'http2-session-closed' });
    stream.write(Buffer.from('still here'));
    stream.end();
    await eventually('the end', () => recorder.ended);
    assert.equal(recorder.text, 'still here');
    await eventually('both ends closed', () => ends.client.closes.length === 1 && ends.server.closes.length === 1);
    assert.deepEqual(ends.server.closes[0]?.code, ErrorCode.NO_ERROR);
  });

  it("drain from the client's end as well", async () => {
    await using ends = await pair(echo);
    const { stream, recorder } = connectStream(ends.clientSession);
    ends.clientSession.drain();
    stream.write(Buffer.from('still here'));
    stream.end();
    await eventually('both ends closed', () => ends.client.closes.length === 1 && ends.server.closes.length === 1);
    assert.equal(recorder.text, 'still here');
  });

  it('lose no stream that was opened while the server began to drain', async () => {
    await using ends = await pair(echo);
    await eventually('the settings', () => ends.client.readies === 1);
    ends.serverSession.drain();
    const { stream, recorder } = connectStream(ends.clientSession);
    stream.write(Buffer.from('in time'));
    stream.end();
    await eventually('the end', () => recorder.ended);
    assert.equal(recorder.text, 'in time');
  });

  it('notify every stream once when the connection breaks', async () => {
    await using ends = await pair(ok);
    const { recorder } = connectStream(ends.clientSession);
    const { recorder: far } = await eventually('the request', () => ends.server.accepted[0]);
    ends.wire.near.destroy();
    await eventually(
      'all to be notified',
      () => recorder.resets.length > 0 && far.resets.length > 0 && ends.client.closes.length > 0 && ends.server.closes.length > 0,
    );
    assert.deepEqual([recorder.resets.length, far.resets.length, ends.client.closes.length, ends.server.closes.length], [1, 1, 1, 1]);
    await assert.rejects(ends.clientSession.ping(10), { code: 'http2-session-closed' });
  });

  it('pass the words of destroy on, fit for a log', async () => {
    await using ends = await pair();
    await eventually('the settings', () => ends.client.readies === 1);
    ends.serverSession.destroy(new Error('site revoked\u001b[31m'));
    await eventually('the end', () => ends.client.closes.length === 1);
    assert.equal(ends.client.goaways[0]?.reason, 'GOAWAY from the peer: INTERNAL_ERROR (site revoked?[31m)');
  });

  it('refuse fields that HTTP/2 cannot say, where they are asked for', async () => {
    await using ends = await pair();
    const { recorder } = connectStream(ends.clientSession);
    for (const fields of [{ Upper: 'x' }, { connection: 'close' }, { a: 'b\r\nc: d' }, { a: 'ü€' }]) {
      assert.throws(() => ends.clientSession.request({ method: 'CONNECT', authority: 'x', fields }, recorder), { code: 'http2-usage' });
    }
  });
});
