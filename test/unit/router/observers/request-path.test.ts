import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { Http1Observer } from '../../../../src/router/observers/http1.ts';
import { Http2Observer } from '../../../../src/router/observers/http2.ts';
import { pathOfTarget } from '../../../../src/router/observers/request-path.ts';
import { FRAME_HEADER_BYTES, Flag, FrameType, PREFACE, writeFrameHeader } from '../../../../src/http2/frames.ts';
import { anyText } from '../../support/any-text.ts';
import { cutter, pass, Recorder, type Passing } from './recorder.ts';

for (const [target, path] of [
  ['/a/b', '/a/b'],
  ['/a?token=secret', '/a'],
  ['/a#part', '/a'],
  ['http://user:secret@host/a?b', '/a'],
  ['http://host', ''],
  ['//user:secret@host/a', '//host/a'],
  ['http://host//user:secret@other/a', '//other/a'],
  [`//user:${'secret'.repeat(30)}`, '//'],
  ['//a/b', '//a/b'],
  ['//favicon.ico', '//favicon.ico'],
  ['/@scope/name', '/@scope/name'],
  ['host:443', ''],
  ['*', '*'],
  ['', ''],
  ['/\u00e9\u0001', '/??'],
] as const)
  test(`the path of ${JSON.stringify(target)} is ${JSON.stringify(path)}`, () => assert.equal(pathOfTarget(target), path));

test('a path is bounded, is visible ASCII and has no query, whatever the target is', () => {
  fc.assert(
    fc.property(anyText({ maxLength: 400 }), fc.constantFrom('', '/', 'http://h/', '/a?'), (text, start) => {
      const path = pathOfTarget(start + text);
      assert.match(path, /^[ -~]{0,128}$/);
      assert.equal(pathOfTarget(`/a?${text}`), '/a');
    }),
  );
});

class PathRecorder extends Recorder {
  readonly wantsPath: boolean;

  constructor(wantsPath: boolean) {
    super();
    this.wantsPath = wantsPath;
  }

  override onRequest(method: string, status: number, milliseconds: number, path = ''): void {
    super.onRequest(`${method} ${path}`, status, milliseconds);
  }
}

const http1: Passing = [
  ['>', 'GET /a/b?c=secret HTTP/1.1\r\nHost: x\r\n\r\nPOST / HTTP/1.1\r\ncontent-length: 2\r\n\r\nhi'],
  ['<', 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\nHTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n'],
];

function headers(id: number, ...bytes: readonly number[]): Buffer {
  const head = Buffer.alloc(FRAME_HEADER_BYTES);
  writeFrameHeader(head, 0, bytes.length, FrameType.HEADERS, Flag.END_HEADERS, id);
  return Buffer.concat([head, Buffer.from(bytes)]);
}

/** GET of the static table, a literal `:path` (RFC 7541 section 6.2.2), and 200. */
const http2: Passing = [
  ['>', PREFACE],
  ['>', headers(1, 0x82, 0x04, 4, ...Buffer.from('/a?b'))],
  ['<', headers(1, 0x88)],
];

test('observers of both protocols give the path to those that want it, wherever bytes are cut', () => {
  for (const lengths of [[1], [7], [1_000]]) {
    const [one, two] = [new PathRecorder(true), new PathRecorder(true)];
    pass(new Http1Observer(one), http1, cutter(lengths));
    pass(new Http2Observer(two), http2, cutter(lengths));
    assert.deepEqual([one.seen, two.seen], [['GET /a/b 200', 'POST / 404'], ['GET /a 200']]);
  }
});

test('observers keep no path for those that do not want it', () => {
  const [one, two] = [new PathRecorder(false), new PathRecorder(false)];
  pass(new Http1Observer(one), http1);
  pass(new Http2Observer(two), http2);
  assert.deepEqual([one.seen, two.seen], [['GET  200', 'POST  404'], ['GET  200']]);
});
