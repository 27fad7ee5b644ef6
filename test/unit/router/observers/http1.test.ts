import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { Http1Observer } from '../../../../src/router/observers/http1.ts';
import { ConnectionHalf } from '../../../../src/router/connection-half.ts';
import { cutter, pass, Recorder, type Passing } from './recorder.ts';

interface Case {
  readonly passing: Passing;
  readonly seen: readonly string[];
}

const get = 'GET /a?b=c HTTP/1.1\r\nHost: x\r\nAccept: */*\r\n\r\n';
const ok = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi';

const cases: Readonly<Record<string, Case>> = {
  'a request and its answer': {
    passing: [
      ['>', get],
      ['<', ok],
    ],
    seen: ['GET 200'],
  },
  'requests one after the other': {
    passing: [
      ['>', get],
      ['<', ok],
      ['>', get],
      ['<', ok],
    ],
    seen: ['GET 200', 'GET 200'],
  },
  'pipelined requests': {
    passing: [
      ['>', get + get.replace('GET', 'DELETE')],
      ['<', ok + ok.replace('200', '503')],
    ],
    seen: ['GET 200', 'DELETE 503'],
  },
  'bodies that look like heads': {
    passing: [
      ['>', `POST / HTTP/1.1\r\ncontent-length: ${get.length}\r\n\r\n${get}`],
      ['<', `HTTP/1.1 201 Created\r\nCONTENT-LENGTH:${ok.length}  \r\n\r\n${ok}`],
      ['>', get],
      ['<', ok],
    ],
    seen: ['POST 201', 'GET 200'],
  },
  'chunked bodies with extensions and trailers': {
    passing: [
      [
        '>',
        'PUT / HTTP/1.1\r\nTransfer-Encoding: gzip, chunked\r\n\r\n5;a=b\r\nGET /\r\n1A\r\nabcdefghijklmnopqrstuvwxyz\r\n0\r\nX: y\r\n\r\n',
      ],
      ['<', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 7\r\n\r\n2\r\nhi\r\n0\r\n\r\n'],
      ['>', get],
      ['<', ok],
    ],
    seen: ['PUT 200', 'GET 200'],
  },
  'answers without a body': {
    passing: [
      ['>', get.replace('GET', 'HEAD')],
      ['<', 'HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n'],
      ['>', get],
      ['<', 'HTTP/1.1 304 Not Modified\r\nContent-Length: 500\r\n\r\n'],
      ['>', get],
      ['<', 'HTTP/1.1 204 No Content\r\n\r\n'],
      ['>', get],
      ['<', ok],
    ],
    seen: ['HEAD 200', 'GET 304', 'GET 204', 'GET 200'],
  },
  'interim answers': {
    passing: [
      ['>', 'POST / HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n'],
      ['<', 'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n'],
      ['>', 'ab'],
      ['<', ok],
    ],
    seen: ['POST 200'],
  },
  'an answer that lasts to the end of the connection': {
    passing: [
      ['>', 'GET / HTTP/1.0\r\n\r\n'],
      ['<', `HTTP/1.0 200 OK\r\n\r\n${ok}${ok}`],
    ],
    seen: ['GET 200'],
  },
  'a change of protocol': {
    passing: [
      ['>', 'GET /chat HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n'],
      ['<', 'HTTP/1.1 101 Switching Protocols\r\n\r\n'],
      ['>', get],
      ['<', ok],
    ],
    seen: ['GET 101'],
  },
  'a tunnel': {
    passing: [
      ['>', 'CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n'],
      ['<', 'HTTP/1.1 200 OK\r\n\r\n'],
      ['>', get],
      ['<', ok],
    ],
    seen: ['CONNECT 200'],
  },
  'a method of its own': {
    passing: [
      ['>', get.replace('GET', 'M-SEARCH')],
      ['<', ok],
    ],
    seen: ['other 200'],
  },
  'a very long target and field': {
    passing: [
      ['>', `GET /${'x'.repeat(9000)} HTTP/1.1\r\nCookie: ${'y'.repeat(9000)}\r\n\r\n`],
      ['<', ok],
      ['>', get],
      ['<', ok],
    ],
    seen: ['GET 200', 'GET 200'],
  },
  'lines that end with LF alone, and empty lines before a request': {
    passing: [
      ['>', '\r\nGET / HTTP/1.1\nHost: x\n\n'],
      ['<', 'HTTP/1.1 200 OK\nContent-Length: 0\n\n'],
    ],
    seen: ['GET 200'],
  },
  'what is no HTTP': {
    passing: [
      ['>', '\x16\x03\x01\x02\x00\n'],
      ['<', ok],
      ['>', get],
      ['<', ok],
    ],
    seen: [],
  },
  'an answer to nothing': {
    passing: [
      ['<', ok],
      ['>', get],
      ['<', ok],
    ],
    seen: [],
  },
  'lengths that contradict each other': {
    passing: [
      ['>', 'POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxx'],
      ['<', ok],
    ],
    seen: [],
  },
  'an impossible chunk': {
    passing: [
      ['>', get],
      ['<', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n'],
      ['>', get],
      ['<', ok],
    ],
    seen: ['GET 200'],
  },
};

function seenIn(passing: Passing, cut?: Parameters<typeof pass>[2]): readonly string[] {
  const recorder = new Recorder();
  pass(new Http1Observer(recorder), passing, cut);
  return recorder.seen;
}

describe('the HTTP/1.1 observer', () => {
  for (const [name, { passing, seen }] of Object.entries(cases)) {
    it(`reads ${name}`, () => {
      assert.deepEqual(seenIn(passing), seen);
    });
  }

  it('sees the same wherever the bytes are cut', () => {
    const lengths = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 8 });
    fc.assert(
      fc.property(fc.constantFrom(...Object.keys(cases)), lengths, (name, cuts) => {
        const found = cases[name];
        assert.deepEqual(seenIn(found?.passing ?? [], cutter(cuts)), found?.seen);
      }),
      { numRuns: 500 },
    );
  });

  it('takes whatever comes', () => {
    const tokens = fc.constantFrom(
      get,
      ok,
      '\r\n',
      '\n',
      'HTTP/1.1 ',
      'GET ',
      'Content-Length: ',
      '99999999999999999',
      'Transfer-Encoding: chunked\r\n',
      'ffffffffffffff\r\n',
    );
    const piece = fc.tuple(
      fc.constantFrom('>' as const, '<' as const),
      fc.oneof(
        tokens,
        fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes)),
      ),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 20 }), (passing) => {
        seenIn(passing);
      }),
      { numRuns: 500 },
    );
  });

  it('says what it keeps in mind, and a connection that it reads off counts it', () => {
    const { fromClient, fromServer } = new Http1Observer(new Recorder());
    const side = new ConnectionHalf();
    const before = side.held;
    side.tap = fromClient;
    assert.equal(side.held, before);
    for (let requests = 0; requests < 10; requests += 1) fromClient.onBytes(Buffer.from(get));
    const waiting = side.held - before;
    assert.ok(waiting >= 10 * 64 && waiting < 10 * 512, `${waiting} bytes`);
    fromServer.onBytes(Buffer.from(ok.repeat(10)));
    assert.equal(side.held, before);
  });

  it('does not change the bytes', () => {
    const bytes = Buffer.from(get + get);
    const before = Buffer.from(bytes);
    pass(new Http1Observer(new Recorder()), [['>', bytes]], cutter([7]));
    assert.deepEqual(bytes, before);
  });

  it('switches itself off where its sink fails', () => {
    let calls = 0;
    const observer = new Http1Observer({
      onRequest() {
        calls += 1;
        throw new Error('no room');
      },
    });
    pass(observer, [
      ['>', get],
      ['<', ok],
      ['>', get],
      ['<', ok],
    ]);
    assert.equal(calls, 1);
  });
});
