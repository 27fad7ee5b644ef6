import assert from 'node:assert/strict';
import { Buffer } from 'node:buffer';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';

import type { Session, StreamHandler } from '../../../src/http2/contract.ts';
import { ErrorCode } from '../../../src/http2/errors.ts';
import { Flag, FrameType, goawayFrame, PREFACE } from '../../../src/http2/frames.ts';
import type { SessionLimits } from '../../../src/http2/limits.ts';
import { createSession } from '../../../src/http2/session.ts';
import { PeerLoopQuota, PeerLoopQuotas } from '../../../src/limits/loop/loop-quota.ts';
import type { ShareOwner } from '../../../src/limits/nested-fair-share.ts';
import { frame, headers } from '../../fuzz/frames.ts';
import { readSent } from '../../fuzz/sent-frames.ts';
import { Wire } from '../../fuzz/wire.ts';
import { eventually } from '../../harness/wait.ts';
import { Recorder, SessionRecorder } from './support/recorder.ts';
import type { Accepted } from './support/recorder.ts';

interface Victim {
  readonly wire: Wire;
  readonly session: Session;
  readonly seen: SessionRecorder;
}

/** A server that has been greeted, and does all that it is asked for at once. Its peer reads what is sent, or never does. */
function victim(
  reads: boolean,
  limits: Partial<SessionLimits> = {},
  accept: (accepted: Accepted) => StreamHandler | undefined | void = () => {},
  turn = new PeerLoopQuota(() => Infinity),
): Victim {
  const wire = new Wire(reads);
  const seen = new SessionRecorder(accept);
  const session = createSession(wire.socket, { role: 'server', events: seen, limits, turn, now: () => 0 });
  wire.feed(PREFACE);
  wire.feed(frame(FrameType.SETTINGS, 0, 0));
  return { wire, session, seen };
}

const connect = (id: number, end = false): Buffer =>
  headers(
    id,
    [
      [':method', 'CONNECT'],
      [':authority', 'key'],
    ],
    end,
  );
const refuse = ({ stream }: Accepted): void =>
  stream.respond({ status: 404, fields: { 'proxy-status': 'earshot; error=destination_not_found' } }, { end: true });
const take = ({ stream }: Accepted): void => stream.respond({ status: 200, fields: {} });
const setting = (id: number, value: number): Buffer => {
  const bytes = Buffer.alloc(6);
  bytes.writeUInt16BE(id);
  bytes.writeUInt32BE(value, 2);
  return bytes;
};

function countSent({ sent }: Wire, wanted: number): number {
  const bytes = Buffer.concat(sent);
  let count = 0;
  for (let at = bytes.indexOf(PREFACE) === 0 ? PREFACE.length : 0; at < bytes.length; at += 9 + bytes.readUIntBE(at, 3))
    if (bytes[at + 3] === wanted) count += 1;
  return count;
}

test('a peer that sends endless requests and reads no answers is cut off before answers pile up', async () => {
  const { wire, session, seen } = victim(false, { controlQueued: 10_000 }, refuse);
  await setImmediate();
  for (let id = 1; id < 20_000 && session.state === 'open'; id += 2) wire.feed(connect(id, true));
  assert.equal(session.state, 'closed');
  assert.deepEqual(
    seen.closes.map(({ code }) => code),
    [ErrorCode.ENHANCE_YOUR_CALM],
  );
  assert.ok(seen.accepted.length < 300, `${seen.accepted.length} requests were taken`);
  wire.destroy();
});

test('a peer that sends without end and reads no window updates is cut off before those pile up', async () => {
  const { wire, session, seen } = victim(false, { controlQueued: 10_000 }, take);
  await setImmediate();
  wire.feed(connect(1));
  const data = frame(FrameType.DATA, 0, 1, Buffer.alloc(16_384));
  for (let sent = 0; sent < 3_000 && session.state === 'open'; sent += 1) wire.feed(data);
  assert.deepEqual(
    seen.closes.map(({ code }) => code),
    [ErrorCode.ENHANCE_YOUR_CALM],
  );
  wire.destroy();
});

test('repeated GOAWAY frames of a peer cut each stream once', async () => {
  const wire = new Wire(true);
  const seen = new SessionRecorder();
  const turn = new PeerLoopQuota();
  const session = createSession(wire.socket, { role: 'client', events: seen, turn, now: () => 0 });
  wire.feed(frame(FrameType.SETTINGS, 0, 0, setting(3, 10_000)));
  await setImmediate();
  const asked = Array.from({ length: 2_000 }, () => new Recorder());
  for (const recorder of asked) session.request({ method: 'CONNECT', authority: 'key', fields: {} }, recorder);
  for (let said = 0; said < 50; said += 1) wire.feed(goawayFrame(0, ErrorCode.NO_ERROR, ''));
  let turns = 0;
  for (; turn.work.isBusy; turns += 1) await setImmediate();
  assert.ok(asked.every(({ resets }) => resets.length === 1));
  assert.ok(turns < 2_000, `${turns} turns of the event loop`);
  wire.destroy();
});

test('a peer that answers no ping is asked for the round trip once', async () => {
  let now = 0;
  const wire = new Wire(true);
  const options = { role: 'server', turn: new PeerLoopQuota(() => Infinity), now: () => now } as const;
  const session = createSession(wire.socket, { ...options, events: new SessionRecorder(take) });
  wire.feed(Buffer.concat([PREFACE, frame(FrameType.SETTINGS, 0, 0), connect(1)]));
  for (let second = 0; second < 100; second += 1) {
    now += 1_000;
    for (let frames = 0; frames < 4; frames += 1) wire.feed(frame(FrameType.DATA, 0, 1, Buffer.alloc(16_000)));
    await setImmediate();
    wire.take();
  }
  assert.equal(session.state, 'open');
  assert.equal(countSent(wire, FrameType.PING), 1);
  wire.destroy();
});

test('a peer that reads its answers may ask as often as it likes', async () => {
  const { wire, session, seen } = victim(true, { controlQueued: 10_000 }, refuse);
  for (let id = 1; id < 20_000; id += 2) {
    wire.feed(connect(id, true));
    if (id % 100 !== 1) continue;
    await setImmediate();
    wire.take();
  }
  assert.equal(session.state, 'open');
  assert.equal(seen.accepted.length, 10_000);
  session.destroy();
  wire.destroy();
});

test('queued request heads for a slow peer are bounded, shared among clients, and do not cut the peer off', async () => {
  const wire = new Wire(true);
  const session = createSession(wire.socket, {
    role: 'client',
    events: new SessionRecorder(),
    turn: new PeerLoopQuota(() => Infinity),
    now: () => 0,
  });
  wire.feed(frame(FrameType.SETTINGS, 0, 0, setting(3, 32_768)));
  const [greedy, modest]: readonly ShareOwner[] = [
    { owner: 'greedy', key: 'key' },
    { owner: 'modest', key: 'key' },
  ];
  assert.ok(greedy !== undefined && modest !== undefined);
  const kept = new Recorder();
  kept.stream = session.request({ method: 'CONNECT', authority: 'kept', fields: {} }, kept, { whose: modest });
  wire.feed(headers(1, [[':status', '200']]));
  const fields = { 'x-long': 'x'.repeat(15_000) };
  let asked = 0;
  for (; asked < 1_000 && session.hasRoom(greedy); asked += 1)
    session.request({ method: 'CONNECT', authority: 'key', fields }, new Recorder(), { whose: greedy });
  assert.ok(asked > 20 && asked < 100, `${asked} requests`);
  assert.ok(session.held < 2_000_000, `${session.held} bytes`);
  assert.ok(session.hasRoom(modest));
  for (let frames = 0; frames < 100; frames += 1) wire.feed(frame(FrameType.DATA, 0, 1, Buffer.alloc(100)));
  assert.equal(session.state, 'open');
  assert.equal(kept.received, 10_000);
  const late = session.request({ method: 'CONNECT', authority: 'late', fields: {} }, new Recorder(), { whose: modest });
  for (let reads = 0; reads < asked; reads += 1) {
    await setImmediate();
    wire.take();
  }
  assert.equal(countSent(wire, FrameType.HEADERS), asked + 2, 'each leaves once the peer reads');
  assert.ok(late.id > 1 && late.id < asked, `${late.id}: the one waits for few of the many`);
  wire.destroy();
  await setImmediate();
});

test('streams that the peer makes us reset count like those that it resets itself (CVE-2025-8671)', () => {
  for (const fault of [
    (id: number) => frame(FrameType.WINDOW_UPDATE, 0, id, Buffer.alloc(4)),
    (id: number) => frame(FrameType.PRIORITY, 0, id, Buffer.alloc(3)),
  ]) {
    const { wire, session, seen } = victim(true, { earlyResets: { burst: 20, perSecond: 0 } });
    for (let id = 1; id < 200 && session.state === 'open'; id += 2) {
      wire.feed(connect(id));
      wire.feed(fault(id));
    }
    assert.deepEqual(
      seen.closes.map(({ code }) => code),
      [ErrorCode.ENHANCE_YOUR_CALM],
    );
    assert.ok(seen.accepted.length <= 22, `${seen.accepted.length} requests were taken`);
    assert.ok(
      seen.accepted.every(({ recorder }) => recorder.resets.length === 1),
      'each received one reset',
    );
    wire.destroy();
  }
});

test('changes of the window of many streams are rationed by what they cost', () => {
  const { wire, session, seen } = victim(true, { idleFrames: { burst: 100, perSecond: 0 } });
  for (let id = 1; id <= 4_096; id += 2) wire.feed(connect(id));
  assert.equal(session.openStreams, 2_048);
  let changes = 0;
  while (session.state === 'open' && changes < 100) wire.feed(frame(FrameType.SETTINGS, 0, 0, setting(4, 65_535 + (changes++ % 2))));
  assert.ok(changes > 5 && changes < 20, `${changes} changes`);
  assert.deepEqual(
    seen.closes.map(({ code }) => code),
    [ErrorCode.ENHANCE_YOUR_CALM],
  );
  wire.destroy();
});

test('answers that cross the resets of very many streams are dropped', () => {
  const wire = new Wire(true);
  const seen = new SessionRecorder();
  const session = createSession(wire.socket, { role: 'client', events: seen, turn: new PeerLoopQuota(() => Infinity), now: () => 0 });
  wire.feed(frame(FrameType.SETTINGS, 0, 0, Buffer.concat([setting(3, 2_000)])));
  const streams = Array.from({ length: 1_000 }, () => session.request({ method: 'CONNECT', authority: 'key', fields: {} }, new Recorder()));
  for (const stream of streams) stream.reset(ErrorCode.CANCEL);
  for (const { id } of streams) wire.feed(headers(id, [[':status', '200']], false));
  assert.equal(session.state, 'open');
  // A stream that never existed has no answer.
  wire.feed(headers(2_001, [[':status', '200']], false));
  assert.deepEqual(
    seen.closes.map(({ code }) => code),
    [ErrorCode.PROTOCOL_ERROR],
  );
  wire.destroy();
});

test('abandoned requests are returned once, in any event-loop iteration that ends the connection', async () => {
  const wire = new Wire(true);
  const memory = { charged: 0, charge: (_whose: ShareOwner, bytes: number) => void (memory.charged += bytes) };
  const limits = { earlyResets: { burst: 0, perSecond: 0 } };
  const session = createSession(wire.socket, { role: 'client', events: new SessionRecorder(), limits, memory, turn: new PeerLoopQuota() });
  wire.feed(frame(FrameType.SETTINGS, 0, 0, setting(3, 2_000)));
  const ask = () => session.request({ method: 'CONNECT', authority: 'key', fields: {} }, new Recorder(), { whose: { owner: 'site' } });
  for (const stream of Array.from({ length: 100 }, ask)) stream.reset(ErrorCode.CANCEL);
  assert.ok(memory.charged >= 100);
  wire.feed(goawayFrame(0, ErrorCode.NO_ERROR, 'none of them'));
  session.destroy();
  for (let turns = 0; turns < 200; turns += 1) await setImmediate();
  assert.equal(memory.charged, 0);
  wire.destroy();
});

test('a few streams of an ending connection are processed per event-loop iteration, even with very many', async () => {
  const wire = new Wire(true);
  const memory = { given: 0, charge: (_whose: ShareOwner, bytes: number) => void (memory.given += bytes < 0 ? 1 : 0) };
  const limits = { earlyResets: { burst: 0, perSecond: 0 } };
  const session = createSession(wire.socket, { role: 'client', events: new SessionRecorder(), limits, memory, turn: new PeerLoopQuota() });
  wire.feed(frame(FrameType.SETTINGS, 0, 0, setting(3, 2_000)));
  const ask = () => session.request({ method: 'CONNECT', authority: 'key', fields: {} }, new Recorder(), { whose: { owner: 'site' } });
  for (const stream of Array.from({ length: 1_000 }, ask)) stream.reset(ErrorCode.CANCEL);
  wire.destroy();
  await eventually('the end of the connection', () => session.state === 'closed');
  assert.ok(memory.given < 100, `${memory.given} at once`);
  await eventually('all of them', () => memory.given === 1_000);
});

test('DATA frames without data are rationed, but for those that end a stream: of these there is one each', () => {
  const empty = (id: number, flags: number) => frame(FrameType.DATA, flags, id);
  const limits = { idleFrames: { burst: 20, perSecond: 0 } };
  const answer = ({ stream }: Accepted): void => stream.respond({ status: 200, fields: {} }, { end: true });
  const busy = victim(true, limits, answer);
  for (let id = 1; id < 2_000; id += 2) {
    busy.wire.feed(connect(id));
    busy.wire.feed(empty(id, Flag.END_STREAM));
  }
  assert.equal(busy.session.state, 'open');
  assert.equal(busy.seen.accepted.length, 1_000);
  busy.wire.destroy();
  const idle = victim(true, limits, answer);
  idle.wire.feed(connect(1));
  for (let left = 30; left > 0 && idle.session.state === 'open'; left -= 1) idle.wire.feed(empty(1, 0));
  assert.deepEqual(
    idle.seen.closes.map(({ code }) => code),
    [ErrorCode.ENHANCE_YOUR_CALM],
  );
  idle.wire.destroy();
});

test('the last of many initial windows in one frame counts', async () => {
  const { wire, session, seen } = victim(true, {}, ({ stream }) => {
    stream.respond({ status: 200, fields: {} });
    stream.write(Buffer.alloc(100));
  });
  const values = Array.from({ length: 10_000 }, (_, index) => setting(4, index));
  wire.feed(frame(FrameType.SETTINGS, 0, 0, Buffer.concat([...values, setting(4, 30)])));
  wire.feed(connect(1));
  await setImmediate();
  assert.equal(seen.accepted[0]?.stream.queued, 70);
  assert.ok(readSent(wire.sent, 'server').frames > 2);
  session.destroy();
  wire.destroy();
});

test('a malformed PRIORITY of a stream that is not yet open ends the connection: there is nothing to reset', () => {
  const { wire, seen } = victim(true);
  wire.feed(frame(FrameType.PRIORITY, 0, 3, Buffer.alloc(13)));
  assert.deepEqual(
    seen.closes.map(({ code }) => code),
    [ErrorCode.FRAME_SIZE_ERROR],
  );
  wire.destroy();
});

test('single bytes that are never consumed end no streams, even after the end of their own', () => {
  const held: number[] = [];
  const { wire, session, seen } = victim(true, {}, ({ stream }) => {
    stream.respond({ status: 200, fields: {} });
    stream.end();
    return Object.assign(new Recorder(), { onData: ({ length }: Buffer) => void held.push(length) });
  });
  const crumbs = (id: number): Buffer => Buffer.concat(Array.from({ length: 65_000 }, () => frame(FrameType.DATA, 0, id, Buffer.of(1))));
  for (const id of [1, 3, 5, 7, 9]) {
    wire.feed(Buffer.concat([connect(id), crumbs(id), frame(FrameType.DATA, Flag.END_STREAM, id)]));
  }
  wire.feed(Buffer.concat([connect(11), frame(FrameType.DATA, 0, 11, Buffer.of(1))]));
  assert.equal(held.length, 5 * 65_000 + 1);
  assert.deepEqual([session.state, session.openStreams, seen.accepted.length, seen.unexpected], ['open', 1, 6, []]);
  session.destroy();
  wire.destroy();
});

test('a thousand simultaneous requests are accepted over many event-loop iterations, in order, interleaved with those of others', async () => {
  const { wire, session, seen } = victim(true, {}, refuse, new PeerLoopQuota());
  const other = victim(true, {}, undefined, new PeerLoopQuota());
  await setImmediate();
  const ids = Array.from({ length: 1_000 }, (_, index) => 1 + 2 * index);
  wire.feed(Buffer.concat(ids.map((id) => connect(id, true))));
  // Data that TLS had already decrypted arrives in spite of the pause.
  wire.feed(frame(FrameType.PING, 0, 0, Buffer.alloc(8, 7)));
  const before = seen.accepted.length;
  assert.ok(before > 0 && before <= 20, `${before} requests in one turn`);
  other.wire.feed(connect(1));
  assert.equal(other.seen.accepted.length, 1);
  let turns = 0;
  for (; seen.accepted.length < ids.length && turns < 10_000; turns += 1) {
    await setImmediate();
    wire.take();
  }
  assert.ok(turns > 50, `${turns} turns`);
  assert.deepEqual(
    seen.accepted.map(({ stream }) => stream.id),
    ids,
  );
  for (let turn = 0; turn < 5; turn += 1) {
    await setImmediate();
    wire.take();
  }
  assert.ok(Buffer.concat(wire.sent).includes(frame(FrameType.PING, 1, 0, Buffer.alloc(8, 7))), 'the ping is answered, in its turn');
  assert.equal(session.state, 'open');
});

test('requests that wait for their turn are not taken once the session has ended', async () => {
  const { wire, session, seen } = victim(true, {}, refuse, new PeerLoopQuota());
  await setImmediate();
  wire.feed(Buffer.concat(Array.from({ length: 100 }, (_, index) => connect(1 + 2 * index, true))));
  session.destroy();
  const before = seen.accepted.length;
  for (let turn = 0; turn < 30; turn += 1) await setImmediate();
  assert.equal(seen.accepted.length, before);
});

test('all connections of a peer share its quota per event-loop iteration equally', async () => {
  const turn = new PeerLoopQuota();
  const all = Array.from({ length: 5 }, () => victim(true, {}, refuse, turn));
  await setImmediate();
  const ids = Array.from({ length: 100 }, (_, index) => 1 + 2 * index);
  for (const { wire } of all) wire.feed(Buffer.concat(ids.map((id) => connect(id, true))));
  const taken = (): readonly number[] => all.map(({ seen }) => seen.accepted.length);
  const sum = (): number => taken().reduce((one, other) => one + other, 0);
  for (let before = 0, turns = 0; sum() < 500; turns += 1) {
    assert.ok(sum() - before <= 10, `${sum() - before} requests in one turn`);
    // One iteration reads as much of one connection as of simultaneous ones together.
    assert.ok(Math.max(...taken()) - Math.min(...taken()) <= 40, `${taken()} of each`);
    assert.ok(turns < 10_000);
    before = sum();
    await setImmediate();
    for (const { wire } of all) wire.take();
  }
  assert.deepEqual(taken(), [100, 100, 100, 100, 100]);
});

test('a peer has shorter turns while another is linked as well, so that the other need not wait for it', async () => {
  const turns = new PeerLoopQuotas();
  const { wire, seen } = victim(true, {}, refuse, turns.join('one'));
  await setImmediate();
  const feed = (from: number): void => wire.feed(Buffer.concat(Array.from({ length: 100 }, (_, index) => connect(from + 2 * index, true))));
  const mostInATurn = async (until: number): Promise<number> => {
    let most = 0;
    for (let before = seen.accepted.length; seen.accepted.length < until; before = seen.accepted.length) {
      await setImmediate();
      wire.take();
      most = Math.max(most, seen.accepted.length - before);
    }
    return most;
  };
  feed(1);
  assert.equal(await mostInATurn(100), 8);
  turns.join('two');
  feed(201);
  assert.equal(await mostInATurn(200), 2);
  turns.leave('two');
  feed(401);
  assert.equal(await mostInATurn(300), 8);
});

test('frames that ask for little are work too, and a flood of them is read in many turns', async () => {
  const { wire, seen } = victim(true, {}, undefined, new PeerLoopQuota());
  await setImmediate();
  wire.feed(connect(1));
  const crumb = frame(FrameType.DATA, 0, 1, Buffer.of(1));
  wire.feed(Buffer.concat(Array.from({ length: 5_000 }, () => crumb)));
  const received = (): number => seen.accepted[0]?.recorder.received ?? 0;
  let turns = 0;
  for (let before = 0; received() < 5_000 && turns < 1_000; turns += 1) {
    assert.ok(received() - before <= 320, `${received() - before} frames in one turn`);
    before = received();
    await setImmediate();
    wire.take();
  }
  assert.ok(turns >= 15 && turns < 1_000, `${turns} turns`);
});

test('the streams of an ending connection end over many iterations, each once, for any acts of their users', async () => {
  const { wire, session, seen } = victim(true, {}, undefined, new PeerLoopQuota());
  const ids = Array.from({ length: 200 }, (_, index) => 1 + 2 * index);
  wire.feed(Buffer.concat(ids.map((id) => connect(id, true))));
  while (seen.accepted.length < ids.length) {
    await setImmediate();
    wire.take();
  }
  await setImmediate();
  session.destroy();
  assert.equal(session.state, 'closed');
  const notified = (): number => seen.accepted.filter(({ recorder }) => recorder.resets.length > 0).length;
  assert.ok(notified() <= 10, `${notified()} in one iteration`);
  // As if nothing were wrong, since none of them knows.
  for (const { stream } of seen.accepted) {
    stream.respond({ status: 200, fields: {} });
    stream.write(Buffer.alloc(100));
    stream.end();
  }
  let turns = 0;
  for (let before = notified(); notified() < ids.length && turns < 1_000; turns += 1) {
    await setImmediate();
    assert.ok(notified() - before <= 10, `${notified() - before} in one iteration`);
    before = notified();
  }
  assert.ok(turns < 1_000);
  assert.ok(seen.accepted.every(({ recorder, stream }) => recorder.resets.length === 1 && stream.queued === 0));
  wire.destroy();
});

/** Feeds all at once, and asserts how much of it is done in any one turn. */
async function inManyTurns({ wire, session }: Victim, octets: readonly Buffer[], done: () => number, most: number): Promise<void> {
  const before = done();
  wire.feed(Buffer.concat(octets));
  let turns = 0;
  for (let last = before; done() - before < octets.length && turns < 10_000; turns += 1) {
    assert.ok(done() - last <= most, `${done() - last} in one turn`);
    last = done();
    await setImmediate();
    wire.take();
  }
  assert.ok(turns >= Math.floor(octets.length / most) && turns < 10_000, `${turns} turns`);
  assert.equal(session.state, 'open');
}

async function withStreams(count: number): Promise<Victim> {
  const all = victim(true, {}, undefined, new PeerLoopQuota());
  await setImmediate();
  all.wire.feed(Buffer.concat(Array.from({ length: count }, (_, index) => connect(1 + 2 * index))));
  while (all.seen.accepted.length < count) {
    await setImmediate();
    all.wire.take();
  }
  await setImmediate();
  return all;
}

test('streams that the peer resets at once are ended a few in a turn', async () => {
  const all = await withStreams(200);
  const resets = all.seen.accepted.map(({ stream }) => frame(FrameType.RST_STREAM, 0, stream.id, Buffer.alloc(4)));
  await inManyTurns(all, resets, () => all.seen.accepted.filter(({ recorder }) => recorder.resets.length > 0).length, 9);
});

test('streams that the peer makes this end reset at once are ended a few in a turn', async () => {
  const all = await withStreams(200);
  const faults = all.seen.accepted.map(({ stream }) => frame(FrameType.WINDOW_UPDATE, 0, stream.id, Buffer.alloc(4)));
  await inManyTurns(all, faults, () => all.seen.accepted.filter(({ recorder }) => recorder.resets.length > 0).length, 9);
});

test('requests that the peer ends at once are ended some tens in a turn', async () => {
  const all = await withStreams(500);
  const ends = all.seen.accepted.map(({ stream }) => frame(FrameType.DATA, 1, stream.id, Buffer.of(1)));
  await inManyTurns(all, ends, () => all.seen.accepted.filter(({ recorder }) => recorder.ended).length, 72);
});

test('large field blocks that are rejected are decoded a few in an event-loop iteration', async () => {
  const all = await withStreams(1);
  // Each octet is a field of its own, far more than anybody may send.
  const blocks = Array.from({ length: 40 }, (_, index) =>
    Buffer.concat([frame(FrameType.HEADERS, 0x5, 3 + 4 * index, Buffer.alloc(16_384, 0x82)), connect(5 + 4 * index)]),
  );
  await inManyTurns(all, blocks, () => all.seen.accepted.length, 4);
});

test('frames that make this end look at every stream are as much work as there are streams', async () => {
  const all = await withStreams(1_024);
  const looks = Array.from({ length: 200 }, (_, index) =>
    Buffer.concat([frame(FrameType.SETTINGS, 0, 0, setting(4, 65_535 + ((index + 1) % 2))), frame(FrameType.DATA, 0, 1, Buffer.of(1))]),
  );
  await inManyTurns(all, looks, () => all.seen.accepted[0]?.recorder.received ?? 0, 48);
});

test('requests that a peer will not take any more are ended in many turns', async () => {
  const wire = new Wire(true);
  const seen = new SessionRecorder();
  const session = createSession(wire.socket, { role: 'client', events: seen, now: () => 0 });
  wire.feed(frame(FrameType.SETTINGS, 0, 0, setting(3, 100)));
  const recorders = Array.from({ length: 200 }, () => new Recorder());
  for (const recorder of recorders) session.request({ method: 'CONNECT', authority: 'key', fields: {} }, recorder);
  await setImmediate();
  wire.feed(frame(FrameType.GOAWAY, 0, 0, Buffer.alloc(8)));
  const notified = (): number => recorders.filter(({ resets }) => resets.length > 0).length;
  let turns = 0;
  for (let before = 0; notified() < 200 && turns < 1_000; turns += 1) {
    assert.ok(notified() - before <= 10, `${notified() - before} in one iteration`);
    before = notified();
    await setImmediate();
    wire.take();
  }
  assert.ok(turns >= 20 && turns < 1_000, `${turns} turns`);
  assert.equal(session.openStreams, 0);
  session.destroy();
});

test('requests that a peer does not end after their answers are given up in many turns', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  let now = 0;
  const wire = new Wire(true);
  const seen = new SessionRecorder(({ stream }) => stream.respond({ status: 200, fields: {} }, { end: true }));
  const session = createSession(wire.socket, { role: 'server', events: seen, limits: { answeredDeadline: 1_000 }, now: () => now });
  wire.feed(Buffer.concat([PREFACE, frame(FrameType.SETTINGS, 0, 0), frame(FrameType.SETTINGS, 1, 0)]));
  wire.feed(Buffer.concat(Array.from({ length: 200 }, (_, index) => connect(1 + 2 * index))));
  while (seen.accepted.length < 200) {
    await setImmediate();
    wire.take();
  }
  await setImmediate();
  now = 1_000;
  t.mock.timers.tick(1_000);
  const left = (): number => session.openStreams;
  let turns = 0;
  for (let before = 200; left() > 0 && turns < 1_000; turns += 1) {
    assert.ok(before - left() <= 10, `${before - left()} in one turn`);
    before = left();
    await setImmediate();
    wire.take();
  }
  assert.ok(turns >= 20 && turns < 1_000, `${turns} turns`);
  session.destroy();
});

test('a request that is answered after its connection ended receives one reset', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  let now = 0;
  const wire = new Wire(true);
  const seen = new SessionRecorder();
  createSession(wire.socket, { role: 'server', events: seen, limits: { answeredDeadline: 1_000 }, now: () => now });
  wire.feed(Buffer.concat([PREFACE, frame(FrameType.SETTINGS, 0, 0), ...[1, 3, 5, 7, 9, 11, 13, 15, 17, 19].map((id) => connect(id))]));
  while (seen.accepted.length < 10) await setImmediate();
  wire.finish();
  const resets = (): readonly number[] => seen.accepted.map(({ recorder }) => recorder.resets.length);
  assert.ok(resets().includes(0), 'some wait for their turn');
  for (const { stream } of seen.accepted) stream.respond({ status: 502, fields: {} }, { end: true });
  while (resets().includes(0)) await setImmediate();
  now = 1_000;
  t.mock.timers.tick(1_000);
  await setImmediate();
  await setImmediate();
  assert.deepEqual(new Set(resets()), new Set([1]));
});
