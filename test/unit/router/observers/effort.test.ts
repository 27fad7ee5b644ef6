/** Clients who all bring a great many requests in the same turn of the event loop. */
import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Flag, FRAME_HEADER_BYTES, FrameType, PREFACE, writeFrameHeader } from '../../../../src/http2/frames.ts';
import type { Taps } from '../../../../src/router/observers/contract.ts';
import { observe } from '../../../../src/router/observers/observe.ts';
import { Recorder } from './recorder.ts';

const CHUNK = 65_536;
const repeated = (bytes: Buffer): Buffer => Buffer.concat(Array.from({ length: Math.floor(CHUNK / bytes.length) }, () => bytes));

function block(...fields: readonly number[]): Buffer {
  const header = Buffer.alloc(FRAME_HEADER_BYTES);
  writeFrameHeader(header, 0, fields.length, FrameType.HEADERS, Flag.END_HEADERS, 1);
  return Buffer.concat([header, Buffer.from(fields)]);
}

const [METHOD_GET, STATUS_200] = [0x82, 0x88];

const protocols = {
  http1: {
    begin: Buffer.alloc(0),
    request: Buffer.from('GET / HTTP/1.1\r\nhost: x\r\n\r\n'),
    answer: Buffer.from('HTTP/1.1 204 None\r\n\r\n'),
    flood: repeated(Buffer.from('a\n')),
  },
  http2: { begin: Buffer.from(PREFACE), request: block(METHOD_GET), answer: block(STATUS_200), flood: repeated(block(METHOD_GET)) },
} as const;

// Reads of other tests in this iteration do not count.
beforeEach(() => nextTurn());

for (const protocol of ['http1', 'http2'] as const) {
  const { begin, request, answer, flood } = protocols[protocol];

  test(`a peer that sends more ${protocol} at once than is usual is no longer observed`, () => {
    const recorder = new Recorder();
    const taps = observe(protocol, () => recorder);
    taps.fromClient.onBytes(Buffer.concat([begin, request]));
    taps.fromClient.onBytes(flood);
    taps.fromServer.onBytes(answer);
    assert.deepEqual(recorder.seen, []);
  });

  test(`${protocol} of hundreds in one iteration is read in part, and clients with a few requests are observed`, async () => {
    const recorder = new Recorder();
    const many = Array.from({ length: 300 }, () => observe(protocol, () => recorder));
    const pieces = Buffer.concat(Array.from({ length: 200 }, () => request));
    for (const taps of many) taps.fromClient.onBytes(Buffer.concat([begin, pieces]));
    const honest: Taps = observe(protocol, () => recorder);
    honest.fromClient.onBytes(Buffer.concat([begin, request]));
    honest.fromServer.onBytes(answer);
    assert.equal(recorder.seen.length, 1);
    for (const taps of many) taps.fromServer.onBytes(answer);
    assert.ok(recorder.seen.length < 100, `${recorder.seen.length} of 300 are observed`);
    await nextTurn();
    const next = observe(protocol, () => recorder);
    const before = recorder.seen.length;
    next.fromClient.onBytes(Buffer.concat([begin, pieces]));
    next.fromServer.onBytes(answer);
    assert.equal(recorder.seen.length, before + 1);
  });
}
