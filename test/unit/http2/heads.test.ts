import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';

import { parseRequest, parseResponse, requestLines, responseLines } from '../../../src/http2/heads.ts';
import type { FieldLine } from '../../../src/http2/heads.ts';

/** Possible input of HPACK: any octets, most of them close to meaningful ones. */
const value = fc.oneof(
  fc.constantFrom('', ' ', 'a', ' a', 'a ', 'a\tb', '\u00a0', 'trailers'),
  fc.string({ unit: fc.integer({ min: 0, max: 0xff }).map((octet) => String.fromCharCode(octet)), maxLength: 6 }),
);
const name = fc.oneof(
  fc.constantFrom('x', 'x', 'y', 'cookie', 'te', 'host', '__proto__', 'constructor', 'earshot-via', 'connection', 'X', ''),
  fc.string({ maxLength: 3 }),
);
const fields = fc.array(fc.tuple(name, value), { maxLength: 6 });
const connect: readonly FieldLine[] = [
  [':method', 'CONNECT'],
  [':authority', 'key'],
];
const post: readonly FieldLine[] = [
  [':method', 'POST'],
  [':scheme', 'https'],
  [':path', '/'],
  [':authority', 'key'],
];

describe('a head', () => {
  it('that was taken can be passed on, and says the same there', () => {
    let taken = 0;
    fc.assert(
      fc.property(fc.constantFrom(connect, post), fields, (pseudo, regular) => {
        const parsed = parseRequest([...pseudo, ...regular]);
        if (!parsed.ok) return;
        taken += 1;
        assert.deepEqual(parseRequest(requestLines(parsed.head)), parsed);
      }),
      { numRuns: 500 },
    );
    // About 120, give or take ten.
    assert.ok(taken > 50, `${taken} of them were taken`);
  });

  it('of an answer likewise', () => {
    fc.assert(
      fc.property(fields, (regular) => {
        const parsed = parseResponse([[':status', '200'], ...regular]);
        if (parsed.ok) assert.deepEqual(parseResponse(responseLines(parsed.head)), parsed);
      }),
      { numRuns: 500 },
    );
  });

  it('has one field where there were several of a name, in their order, and empty ones leave no blank at an end', () => {
    const joined = (...values: readonly string[]): unknown => {
      const parsed = parseRequest([...connect, ...values.map((each): FieldLine => ['x', each])]);
      return parsed.ok && parsed.head.fields['x'];
    };
    assert.deepEqual(
      [joined('a', 'b'), joined('a', ''), joined('', 'a'), joined('', ''), joined('a', '', 'b')],
      ['a, b', 'a,', ', a', ',', 'a,, b'],
    );
    const cookies = parseRequest([...connect, ['cookie', 'a'], ['cookie', 'b'], ['cookie', '']]);
    assert.equal(cookies.ok && cookies.head.fields['cookie'], 'a; b;');
    const trailers = parseRequest([...connect, ['te', 'trailers'], ['te', 'trailers']]);
    assert.equal(trailers.ok && trailers.head.fields['te'], 'trailers');
  });
});
