import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { LinkError, printable } from '../../../../src/router/link/link-errors.ts';
import type { ResponseHead, Stream } from '../../../../src/router/http2/contract.ts';
import { parseResponse, responseLines } from '../../../../src/router/http2/heads.ts';
import { refuseLink, refusalOf } from '../../../../src/router/link/refusal.ts';

/** What is said on a stream that only answers. */
function answerOf(refuse: (stream: Stream) => unknown): ResponseHead {
  let said: ResponseHead | undefined;
  refuse({
    id: 1,
    queued: 0,
    respond: (head) => void (said = head),
    write: () => true,
    end: () => {},
    reset: () => {},
    consumed: () => {},
  });
  return said ?? assert.fail('nothing was said');
}

test('whatever the reason of a refusal holds, it can be sent, and the other end reads it', () => {
  const text = fc.oneof(fc.string({ unit: 'binary', maxLength: 30 }), fc.string({ unit: 'binary', minLength: 390, maxLength: 2_000 }));
  fc.assert(
    fc.property(text, (message) => {
      const head = answerOf((stream) => refuseLink(stream, new LinkError('version', message)));
      assert.deepEqual(parseResponse(responseLines(head)).ok, true);
      const { code } = refusalOf(head.status, head.fields, 'the peer');
      assert.equal(code, 'version');
    }),
    { numRuns: 1_000 },
  );
});

test('text from outside is shown in printable ASCII, and cut', () => {
  assert.equal(printable('a\u202eb\n\u00e9'), 'a?b??');
  assert.equal(printable('x'.repeat(500), 400), `${'x'.repeat(400)}...`);
});
