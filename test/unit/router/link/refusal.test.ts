import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import fc from 'fast-check';
import { anyText } from '../../support/any-text.ts';
import { LinkError, type LinkCode } from '../../../../src/router/link/link-errors.ts';
import type { ResponseHead, Stream } from '../../../../src/http2/contract.ts';
import { parseResponse, responseLines } from '../../../../src/http2/heads.ts';
import { refusalIn, refuseLink, refusalOf } from '../../../../src/router/link/refusal.ts';

/** Text on a stream that only answers. */
function answerOf(refuse: (stream: Stream) => unknown): ResponseHead {
  let said: ResponseHead | undefined;
  refuse({
    id: 1,
    queued: 0,
    held: 0,
    respond: (head) => void (said = head),
    write: () => true,
    end: () => {},
    reset: () => {},
    consumed: () => {},
  });
  return said ?? assert.fail('nothing was said');
}

test('whatever the reason of a refusal holds, it can be sent, and the other end reads it', () => {
  const text = fc.oneof(anyText({ maxLength: 30 }), anyText({ minLength: 390, maxLength: 2_000 }));
  fc.assert(
    fc.property(text, (message) => {
      const head = answerOf((stream) => refuseLink(stream, new LinkError('version', message)));
      assert.deepEqual(parseResponse(responseLines(head)).ok, true);
      const { code } = refusalOf(head.status, head.fields, 'the peer', 'east');
      assert.equal(code, 'version');
    }),
    { numRuns: 250 },
  );
});

test('each code of the protocol is said and read, so that routers of other versions understand each other', () => {
  const [, section = ''] = readFileSync('docs/protocol.md', 'utf8').split('\n## 9. Errors\n');
  const codes = [...(section.split('\n## ')[0] ?? '').matchAll(/`([a-z-]+)`(?=[^|\n]*\|[^|\n]*\|$)/gm)].map(([, code = '']) => code);
  assert.ok(codes.length > 15, codes.join(' '));
  for (const code of codes) {
    const head = answerOf((stream) => refuseLink(stream, new LinkError(code as LinkCode, 'no.')));
    assert.match(head.fields['proxy-status'] ?? '', new RegExp(`details="${code}: no\\."`));
    assert.equal(refusalOf(head.status, head.fields, 'the peer', 'east').code, code);
    assert.equal(refusalIn(`the session was ended (${code}: no.)`, 'the peer', 'east')?.code, code);
  }
});

test('a site that is revoked reads who can take that back, and how, also from a peer of an earlier version', () => {
  for (const said of [
    'Certificate 12 is revoked here. Lift it with `earshot site unrevoke NAME`.',
    'This site has been revoked here. Lift it with `earshot site unrevoke`.',
  ]) {
    const error = refusalIn(`revoked: ${said}`, 'west.example:55671', 'east');
    assert.equal(
      error?.message,
      'The site at west.example:55671 has revoked this site. To lift the revocation, use `earshot site unrevoke east` there.',
    );
  }
  assert.match(refusalIn('revoked: for other reasons', 'west:1', 'east')?.message ?? '', /west:1 refuses this link: for other reasons/);
});
