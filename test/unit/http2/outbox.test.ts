import assert from 'node:assert/strict';
import { Duplex, PassThrough } from 'node:stream';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { FRAME_HEADER_BYTES, windowUpdateFrame } from '../../../src/http2/frames.ts';
import { Outbox, type SendSide } from '../../../src/http2/outbox.ts';
import { cpuTime, leastOf, slowness } from '../support/longest-stretch.ts';

/** With so many bytes to send. */
class Sender implements SendSide {
  readonly id: number;
  queued: number;
  sendWindow = 65_535;
  listed = false;
  readonly ending = false;

  constructor(id: number, queued: number) {
    this.id = id;
    this.queued = queued;
  }

  takeInto(out: Buffer, at: number, length: number): void {
    out.fill(0, at, at + length);
    this.queued -= length;
  }

  taken(): void {}
}

function outbox(): { readonly outbox: Outbox; readonly socket: PassThrough } {
  const socket = new PassThrough();
  return { socket, outbox: new Outbox(socket, { onTaken: () => {}, onIdle: () => {}, onFault: assert.fail }) };
}

test('thousands of streams that wait for the window of the connection are forgotten in little time', async () => {
  const took = await leastOf(150, () => {
    const { outbox: box } = outbox();
    box.sendWindow = 0;
    const streams = Array.from({ length: 30_000 }, (_, index) => new Sender(index, index % 2 === 0 ? 1 : 10_000));
    for (const stream of streams) box.ready(stream);
    const before = cpuTime();
    for (const stream of streams) {
      stream.queued = 0;
      box.forget(stream);
    }
    return Promise.resolve((cpuTime() - before) / slowness());
  });
  assert.ok(took < 150, `${took} ms`);
});

test('thousands of streams that may send one octet each send it in little time', async () => {
  const took = await leastOf(300, async () => {
    const { outbox: box, socket } = outbox();
    box.sendWindow = 1_000_000;
    const streams = Array.from({ length: 100_000 }, (_, index) => new Sender(2 * index + 1, 100));
    for (const stream of streams) stream.sendWindow = 1;
    socket.resume();
    const before = cpuTime();
    for (const stream of streams) box.ready(stream);
    while (streams.some(({ queued }) => queued === 100)) await setImmediate();
    return (cpuTime() - before) / slowness();
  });
  assert.ok(took < 300, `${took} ms`);
});

test('frames that wait for a peer that does not read take little more than their length, and leave in their order, whole', async () => {
  const sent: Buffer[] = [];
  const write = (chunk: Buffer, _: unknown, done: () => void): void => {
    sent.push(Buffer.from(chunk));
    done();
  };
  const box = new Outbox(new Duplex({ write }), { onTaken: () => {}, onIdle: () => {}, onFault: assert.fail });
  const frames = Array.from({ length: 40_000 }, (_, index) => windowUpdateFrame(2 * index + 1, 1));
  for (const frame of frames) box.control(frame);
  const bytes = frames.length * (FRAME_HEADER_BYTES + 4);
  assert.equal(box.controlBytes, bytes);
  assert.ok(box.held > bytes && box.held < 1.5 * bytes, `${box.held} bytes for ${bytes}`);
  while (!box.idle) await setImmediate();
  assert.ok(Buffer.concat(sent).equals(Buffer.concat(frames)));
  assert.equal(box.held, 0);
});

test('queued data of a removed stream is not sent, and that of others is', async () => {
  const { outbox: box, socket } = outbox();
  box.sendWindow = 0;
  const streams = Array.from({ length: 100 }, (_, index) => new Sender(2 * index + 1, 10));
  for (const stream of streams) box.ready(stream);
  const left = new Set(streams.filter((_, index) => index % 3 === 0));
  for (const stream of streams) {
    if (left.has(stream)) continue;
    stream.queued = 0;
    box.forget(stream);
  }
  box.sendWindow = 65_535;
  box.resume();
  await setImmediate();
  await setImmediate();
  const sent = socket.read() as Buffer;
  assert.equal(sent.length, left.size * (FRAME_HEADER_BYTES + 10));
  assert.deepEqual(
    [...left].map(({ queued, listed }) => [queued, listed]),
    [...left].map(() => [0, false]),
  );
});
