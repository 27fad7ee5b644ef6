/** Requests that a peer sends for many clients: FIFO for each routing key, round-robin among the keys. */
import assert from 'node:assert/strict';
import { Buffer } from 'node:buffer';
import { describe, it } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { ErrorCode } from '../../../src/http2/errors.ts';
import { Flag, FrameType, PREFACE } from '../../../src/http2/frames.ts';
import type { Session } from '../../../src/http2/contract.ts';
import type { SessionLimits } from '../../../src/http2/limits.ts';
import { createSession } from '../../../src/http2/session.ts';
import { frame, headers } from '../../fuzz/frames.ts';
import { Wire } from '../../fuzz/wire.ts';
import { SessionRecorder } from './support/recorder.ts';

const connect = (id: number, key: string): Buffer =>
  headers(
    id,
    [
      [':method', 'CONNECT'],
      [':authority', key],
    ],
    false,
  );
/** So many requests of one key, from this stream on. */
const many = (count: number, key: string, from = 1): Buffer =>
  Buffer.concat(Array.from({ length: count }, (_, at) => connect(from + 2 * at, key)));
const reset = (id: number): Buffer => frame(FrameType.RST_STREAM, 0, id, Buffer.alloc(4));

/** A server whose peer is done with the greetings. */
async function server(limits: Partial<SessionLimits> = {}): Promise<{ wire: Wire; session: Session; seen: SessionRecorder }> {
  const wire = new Wire(true);
  const seen = new SessionRecorder();
  const session = createSession(wire.socket, { role: 'server', events: seen, limits, now: () => 0 });
  wire.feed(PREFACE);
  wire.feed(frame(FrameType.SETTINGS, 0, 0));
  await setImmediate();
  return { wire, session, seen };
}

async function rest(wire: Wire, isOver: () => boolean): Promise<void> {
  for (let turns = 0; !isOver(); turns += 1) {
    assert.ok(turns < 1_000, 'it comes to an end');
    await setImmediate();
    wire.take();
  }
}

describe('requests that come faster than they can begin', () => {
  it('of one routing key have those of another wait for one each', async () => {
    const { wire, session, seen } = await server();
    wire.feed(Buffer.concat([many(200, 'greedy'), connect(401, 'other'), connect(403, 'third')]));
    await rest(wire, () => seen.accepted.length === 202);
    const order = seen.accepted.map(({ head }) => head.authority);
    // What is read and begun until they are read themselves.
    assert.ok(order.indexOf('other') < 60 && order.indexOf('third') < 62, order.join(' '));
    const waits = seen.accepted.map(({ stream }) => stream.waited);
    assert.equal(waits[0], undefined, 'the first began at once');
    const last = waits.at(-1) ?? 0;
    assert.ok(last > 0 && last >= (waits[order.indexOf('other')] ?? 0), waits.join(' '));
    const ids = seen.accepted.filter(({ head }) => head.authority === 'greedy').map(({ stream }) => stream.id);
    assert.deepEqual(
      ids,
      ids.toSorted((one, other) => one - other),
    );
    session.destroy();
    wire.destroy();
  });

  it('do not hold up what others send', async () => {
    const { wire, session, seen } = await server();
    wire.feed(connect(1, 'quiet'));
    await setImmediate();
    wire.feed(Buffer.concat([many(100, 'greedy', 3), frame(FrameType.DATA, 0, 1, Buffer.from('hello'))]));
    await rest(wire, () => seen.accepted[0]?.recorder.text === 'hello');
    assert.ok(seen.accepted.length < 50, `${seen.accepted.length} have begun before it`);
    session.destroy();
    wire.destroy();
  });

  it('are not begun where the client has left', async () => {
    const { wire, session, seen } = await server();
    const ids = Array.from({ length: 100 }, (_, at) => 1 + 2 * at);
    wire.feed(Buffer.concat([many(100, 'greedy'), ...ids.map(reset), connect(201, 'greedy')]));
    await rest(wire, () => seen.accepted.some(({ stream }) => stream.id === 201));
    assert.ok(seen.accepted.length < 50, `${seen.accepted.length} have begun`);
    await rest(wire, () => seen.accepted.every(({ stream, recorder }) => stream.id === 201 || recorder.resets.length === 1));
    assert.equal(session.openStreams, 1);
    session.destroy();
    assert.equal(session.held, 0);
    wire.destroy();
  });

  it('begin early for a peer that sends data before its answer, with all its data in order', async () => {
    const { wire, session, seen } = await server();
    const data = frame(FrameType.DATA, Flag.END_STREAM, 199, Buffer.from('hello'));
    wire.feed(Buffer.concat([many(100, 'greedy'), data]));
    await rest(wire, () => seen.accepted.length === 100);
    const { recorder } = seen.accepted.find(({ stream }) => stream.id === 199) ?? {};
    assert.deepEqual([recorder?.text, recorder?.ended], ['hello', true]);
    session.destroy();
    wire.destroy();
  });

  it('are answered 503 beyond the share of their key, and those of others are not', async () => {
    const { wire, session, seen } = await server({ requestsWaiting: 8_192 });
    wire.feed(Buffer.concat([many(300, 'greedy'), connect(601, 'other'), connect(603, 'third')]));
    const isHere = (key: string): boolean => seen.accepted.some(({ head }) => head.authority === key);
    await rest(wire, () => isHere('other') && isHere('third'));
    const refused = 302 - session.openStreams;
    assert.ok(refused > 100 && refused < 250, `${refused} are refused`);
    await rest(wire, () => seen.accepted.length === 302 - refused);
    assert.equal(session.state, 'open');
    session.destroy();
    wire.destroy();
  });

  it('are over with their session', async () => {
    const { wire, session, seen } = await server();
    wire.feed(many(100, 'greedy'));
    const begun = seen.accepted.length;
    session.destroy();
    await rest(wire, () => seen.accepted.every(({ recorder }) => recorder.resets.length === 1));
    assert.equal(seen.accepted.length, begun);
    assert.deepEqual([session.openStreams, session.held], [0, 0]);
    wire.destroy();
  });

  it('begin before what is sent after them where they are malformed in the end', async () => {
    const { wire, session, seen } = await server();
    // Trailers that do not end the stream.
    wire.feed(Buffer.concat([many(50, 'greedy'), headers(99, [['x', 'y']], false)]));
    await rest(wire, () => seen.accepted.length === 50);
    const { recorder } = seen.accepted.find(({ stream }) => stream.id === 99) ?? {};
    assert.deepEqual(
      recorder?.resets.map(({ code }) => code),
      [ErrorCode.PROTOCOL_ERROR],
    );
    session.destroy();
    wire.destroy();
  });
});
