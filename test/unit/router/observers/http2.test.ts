import assert from 'node:assert/strict';
import {
  connect as connectHttp2,
  constants,
  createServer as createHttp2Server,
  type IncomingHttpHeaders,
  type ServerHttp2Stream,
} from 'node:http2';
import { connect, createServer, type AddressInfo } from 'node:net';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { Flag, FRAME_HEADER_BYTES, FrameType, PREFACE, writeFrameHeader } from '../../../../src/http2/frames.ts';
import { Http2Observer } from '../../../../src/router/observers/http2.ts';
import type { Taps } from '../../../../src/router/observers/contract.ts';
import { eventually } from '../../../harness/wait.ts';
import { cutter, pass, Recorder, type Passing } from './recorder.ts';

/** Bytes of an ordinary client and server over HTTP/2, recorded by a proxy between them. */
async function conversation(): Promise<Passing> {
  const passing: (readonly ['>' | '<', Buffer])[] = [];
  const server = createHttp2Server();
  server.on('stream', (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => {
    const { ':path': path, ':method': method } = headers;
    if (path === '/missing') stream.respond({ ':status': 404 }, { endStream: true });
    else if (method === 'POST') stream.respond({ ':status': 201, 'x-long': 'z'.repeat(5_000) }, { endStream: true });
    else {
      stream.additionalHeaders({ ':status': 103 });
      stream.respond({ ':status': 200, 'content-type': 'text/plain' }, { waitForTrailers: true });
      stream.on('wantTrailers', () => stream.sendTrailers({ 'x-sum': '1' }));
      stream.end('x'.repeat(100_000));
    }
  });
  const serverPort = await new Promise<number>((resolve) => {
    server.listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port));
  });
  const proxy = createServer((client) => {
    const upstream = connect(serverPort, '127.0.0.1');
    client.on('data', (bytes: Buffer) => {
      passing.push(['>', bytes]);
      upstream.write(bytes);
    });
    upstream.on('data', (bytes: Buffer) => {
      passing.push(['<', bytes]);
      client.write(bytes);
    });
    client.on('close', () => upstream.destroy());
    for (const socket of [client, upstream]) socket.on('error', () => {});
  });
  const proxyPort = await new Promise<number>((resolve) => {
    proxy.listen(0, '127.0.0.1', () => resolve((proxy.address() as AddressInfo).port));
  });
  const session = connectHttp2(`http://127.0.0.1:${proxyPort}`);
  const ask = (headers: Record<string, string>, body?: string) =>
    new Promise<void>((resolve) => {
      const request = session.request(headers, { endStream: body === undefined });
      request.on('close', resolve);
      request.on('error', () => {});
      request.resume();
      if (body !== undefined) request.end(body);
    });
  await ask({ ':path': '/' });
  await ask({ ':path': '/missing', ':method': 'DELETE' });
  await ask({ ':path': '/make', ':method': 'POST', 'x-again': 'a'.repeat(20_000) }, 'body');
  await ask({ ':path': '/', 'x-again': 'b' });
  const given = session.request({ ':path': '/' });
  given.on('error', () => {});
  given.close(constants.NGHTTP2_CANCEL);
  session.close();
  await eventually('all has passed', () => session.closed);
  session.destroy();
  proxy.close();
  server.close();
  return passing;
}

const seenIn = (passing: Passing, cut?: Parameters<typeof pass>[2]): readonly string[] => {
  const recorder = new Recorder();
  const observer: Taps = new Http2Observer(recorder);
  pass(observer, passing, cut);
  return recorder.seen;
};

function frame(type: number, flags: number, payload: Buffer = Buffer.alloc(0), id = 1): Buffer {
  const head = Buffer.alloc(FRAME_HEADER_BYTES);
  writeFrameHeader(head, 0, payload.length, type, flags, id);
  return Buffer.concat([head, payload]);
}

/** Bytes after a full prefix (RFC 7541 section 5.1). */
function octetsOf(value: number): number[] {
  return value < 128 ? [value] : [(value & 127) | 128, ...octetsOf(value >> 7)];
}

const EXPECTED = ['GET 200', 'DELETE 404', 'POST 201', 'GET 200'];

describe('the HTTP/2 observer', () => {
  it('reads requests of an ordinary client and server, wherever the bytes are cut', async () => {
    const passing = await conversation();
    assert.deepEqual(seenIn(passing).slice(0, 4), EXPECTED);
    for (const lengths of [[1], [9, 1], [3, 5, 100], [16_393]]) assert.deepEqual(seenIn(passing, cutter(lengths)).slice(0, 4), EXPECTED);
    const mutation = fc.record({ piece: fc.nat(), at: fc.nat(), byte: fc.integer({ min: 0, max: 255 }) });
    fc.assert(
      fc.property(fc.array(mutation, { minLength: 1, maxLength: 4 }), (mutations) => {
        const changed = passing.map(([direction, bytes]): [typeof direction, Buffer] => [direction, Buffer.from(bytes)]);
        for (const { piece, at, byte } of mutations) {
          const target = changed[piece % changed.length]?.[1];
          if (target !== undefined) target[at % target.length] = byte;
        }
        // It may see less, or other methods; it must not throw.
        seenIn(changed);
      }),
      { numRuns: 60 },
    );
  });

  it('reads a header block that comes in a few frames, and gives up one that comes in ever more, however empty they are', () => {
    // The static table's GET, and 200.
    const inFrames = (empty: number): Passing => [
      ['>', PREFACE],
      ['>', frame(FrameType.HEADERS, 0)],
      ...Array.from({ length: empty }, (): ['>', Buffer] => ['>', frame(FrameType.CONTINUATION, 0)]),
      ['>', frame(FrameType.CONTINUATION, Flag.END_HEADERS, Buffer.of(0x82))],
      ['<', frame(FrameType.HEADERS, Flag.END_HEADERS, Buffer.of(0x88))],
    ];
    assert.deepEqual(seenIn(inFrames(3)), ['GET 200']);
    assert.deepEqual(seenIn(inFrames(100)), []);
  });

  it('keeps in mind some requests without an answer, and of more the last', () => {
    const many = 10_000;
    const streams = Array.from({ length: many }, (_, number) => number * 2 + 1);
    const asked = streams.map((id): ['>', Buffer] => ['>', frame(FrameType.HEADERS, Flag.END_HEADERS, Buffer.of(0x82), id)]);
    const answered = streams.map((id): ['<', Buffer] => ['<', frame(FrameType.HEADERS, Flag.END_HEADERS, Buffer.of(0x88), id)]);
    const { length } = seenIn([['>', PREFACE], ...asked, ...answered]);
    assert.ok(length >= 100 && length <= 500, `${length} were kept`);
  });

  it('looks at a block in little time, however long what it names again and again', () => {
    // An entry of the dynamic table for :status, with all the digits that it takes, and then a reference to it in each octet.
    const digits = 16_384 - 64;
    const entry = Buffer.concat([Buffer.of(0x48, 0x7f, ...octetsOf(digits - 127)), Buffer.alloc(digits, '0')]);
    const again = Buffer.alloc(15_000, 0xbe);
    const block = [
      frame(FrameType.HEADERS, 0, entry.subarray(0, 16_000)),
      frame(FrameType.CONTINUATION, 0, Buffer.concat([entry.subarray(16_000), again])),
      frame(FrameType.CONTINUATION, 0, again),
      frame(FrameType.CONTINUATION, Flag.END_HEADERS, again),
    ];
    const before = process.threadCpuUsage();
    assert.deepEqual(seenIn([['<', Buffer.concat(block)]]), []);
    const { user, system } = process.threadCpuUsage(before);
    assert.ok(user + system < 150_000, `${(user + system) / 1_000} ms`);
  });

  it('says what it keeps in mind, and keeps no long method', () => {
    const observer: Taps = new Http2Observer(new Recorder());
    pass(observer, [['>', PREFACE]]);
    assert.equal(observer.fromClient.held, 0);
    const method = Buffer.concat([Buffer.of(0x02, 0x7f, ...octetsOf(10_000 - 127)), Buffer.alloc(10_000, 'M')]);
    for (let id = 1; id < 400; id += 2) pass(observer, [['>', frame(FrameType.HEADERS, Flag.END_HEADERS, method, id)]]);
    const { held } = observer.fromClient;
    assert.ok(held > 10_000 && held < 50_000, `${held} bytes`);
    pass(observer, [['>', frame(FrameType.HEADERS, 0, method, 401)]]);
    assert.ok(observer.fromClient.held >= held + 10_000, 'a block that is not whole counts');
    pass(observer, [['>', frame(FrameType.HEADERS, 0, Buffer.alloc(60_000), 401)]]);
    assert.equal(observer.fromClient.held, 0, 'what it does not understand is forgotten');
  });

  it('keeps nothing of bytes that are valid during the call only, wherever they are cut and a block is divided', () => {
    const literal = (index: number, text: string): Buffer => Buffer.concat([Buffer.of(0x40 | index, text.length), Buffer.from(text)]);
    const part = fc.record({ padding: fc.constantFrom(0, 1, 200), priority: fc.boolean(), after: fc.nat({ max: 4 }) });
    const parts = fc.array(part, { minLength: 1, maxLength: 4 });
    const framesOf = (block: Buffer, id: number, said: readonly { padding: number; priority: boolean; after: number }[]): Buffer => {
      const [{ padding, priority, after } = { padding: 0, priority: false, after: 0 }] = said;
      const flags = (padding > 0 ? Flag.PADDED : 0) | (priority ? Flag.PRIORITY : 0);
      const cuts = said.map((one) => one.after).toSorted((a, b) => a - b);
      const fragments = [0, ...cuts].map((from, index) => block.subarray(from, cuts[index] ?? block.length));
      const [first = block, ...rest] = fragments;
      const ends = (left: number): number => (left === 0 ? Flag.END_HEADERS : 0);
      const head = Buffer.concat([Buffer.from(padding > 0 ? [padding] : []), Buffer.alloc(priority ? 5 : 0), first, Buffer.alloc(padding)]);
      return Buffer.concat([
        frame(FrameType.HEADERS, flags | ends(rest.length), head, id),
        ...rest.map((fragment, index) => frame(FrameType.CONTINUATION, ends(rest.length - index - 1), fragment, id)),
        frame(FrameType.DATA, 0, Buffer.alloc(after * 100, 0x82), id),
      ]);
    };
    fc.assert(
      fc.property(fc.array(parts, { minLength: 1, maxLength: 4 }), (requests) => {
        // The second of each says what the first has put into the table.
        const ask = requests.map((said, index) => framesOf(index === 0 ? literal(2, 'PATCH') : Buffer.of(0xbe), 2 * index + 1, said));
        const answer = requests.map((said, index) => framesOf(index === 0 ? literal(8, '207') : Buffer.of(0xbe), 2 * index + 1, said));
        const passing: readonly (readonly ['>' | '<', Buffer])[] = [
          ['>', Buffer.concat([Buffer.from(PREFACE), ...ask])],
          ['<', Buffer.concat(answer)],
        ];
        const whole = seenIn(passing);
        assert.deepEqual(
          whole,
          requests.map(() => 'PATCH 207'),
        );
        const longest = Math.max(...passing.map(([, bytes]) => bytes.length));
        for (let at = 1; at < longest; at += 1) {
          const recorder = new Recorder();
          const observer = new Http2Observer(recorder);
          for (const [direction, bytes] of passing)
            for (const piece of [bytes.subarray(0, at), bytes.subarray(at)]) {
              const given = Buffer.from(piece);
              (direction === '>' ? observer.fromClient : observer.fromServer).onBytes(given);
              given.fill(0xff);
            }
          assert.deepEqual(recorder.seen, whole);
        }
      }),
      { numRuns: 10 },
    );
  });

  it('takes whatever comes', () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.tuple(
            fc.constantFrom('>' as const, '<' as const),
            fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
          ),
        ),
        (passing) => {
          seenIn(passing);
        },
      ),
      { numRuns: 250 },
    );
  });
});
