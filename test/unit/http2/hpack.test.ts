import assert from 'node:assert/strict';
import { Buffer } from 'node:buffer';
import { describe, it } from 'node:test';

import fc from 'fast-check';

import { ConnectionError } from '../../../src/http2/errors.ts';
import { HpackDecoder } from '../../../src/http2/hpack/decoder.ts';
import { encodeHeaderBlock } from '../../../src/http2/hpack/encoder.ts';

type Line = readonly [string, string];

function decode(decoder: HpackDecoder, hex: string): Line[] {
  const lines: Line[] = [];
  decoder.decode(Buffer.from(hex.replaceAll(' ', ''), 'hex'), (name, value) => lines.push([name, value]));
  return lines;
}

const FIRST: Line[] = [
  [':method', 'GET'],
  [':scheme', 'http'],
  [':path', '/'],
  [':authority', 'www.example.com'],
];
const SECOND: Line[] = [...FIRST, ['cache-control', 'no-cache']];
const THIRD: Line[] = [
  [':method', 'GET'],
  [':scheme', 'https'],
  [':path', '/index.html'],
  [':authority', 'www.example.com'],
  ['custom-key', 'custom-value'],
];

const DATE = 'Mon, 21 Oct 2013 20:13:21 GMT';
const LOCATION = 'https://www.example.com';
const ANSWERS: readonly Line[][] = [
  [
    [':status', '302'],
    ['cache-control', 'private'],
    ['date', DATE],
    ['location', LOCATION],
  ],
  [
    [':status', '307'],
    ['cache-control', 'private'],
    ['date', DATE],
    ['location', LOCATION],
  ],
  [
    [':status', '200'],
    ['cache-control', 'private'],
    ['date', 'Mon, 21 Oct 2013 20:13:22 GMT'],
    ['location', LOCATION],
    ['content-encoding', 'gzip'],
    ['set-cookie', 'foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1'],
  ],
];

describe('HPACK, by the examples of RFC 7541 appendix C', () => {
  it('C.2: each kind of literal, and an indexed field', () => {
    assert.deepEqual(decode(new HpackDecoder(4096), '400a 6375 7374 6f6d 2d6b 6579 0d63 7573 746f 6d2d 6865 6164 6572'), [
      ['custom-key', 'custom-header'],
    ]);
    assert.deepEqual(decode(new HpackDecoder(4096), '040c 2f73 616d 706c 652f 7061 7468'), [[':path', '/sample/path']]);
    assert.deepEqual(decode(new HpackDecoder(4096), '1008 7061 7373 776f 7264 0673 6563 7265 74'), [['password', 'secret']]);
    assert.deepEqual(decode(new HpackDecoder(4096), '82'), [[':method', 'GET']]);
  });

  it('C.3: three requests on one connection', () => {
    const decoder = new HpackDecoder(4096);
    assert.deepEqual(decode(decoder, '8286 8441 0f77 7777 2e65 7861 6d70 6c65 2e63 6f6d'), FIRST);
    assert.deepEqual(decode(decoder, '8286 84be 5808 6e6f 2d63 6163 6865'), SECOND);
    assert.deepEqual(decode(decoder, '8287 85bf 400a 6375 7374 6f6d 2d6b 6579 0c63 7573 746f 6d2d 7661 6c75 65'), THIRD);
  });

  it('C.4: the same with Huffman coding', () => {
    const decoder = new HpackDecoder(4096);
    assert.deepEqual(decode(decoder, '8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff'), FIRST);
    assert.deepEqual(decode(decoder, '8286 84be 5886 a8eb 1064 9cbf'), SECOND);
    assert.deepEqual(decode(decoder, '8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf'), THIRD);
  });

  it('C.5: three responses with a table of 256 bytes, from which entries are evicted', () => {
    const decoder = new HpackDecoder(256);
    const blocks = [
      '4803 3330 3258 0770 7269 7661 7465 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133 3a32 3120 474d 546e 1768 7474 7073 3a2f 2f77 7777 2e65 7861 6d70 6c65 2e63 6f6d',
      '4803 3330 37c1 c0bf',
      '88c1 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133 3a32 3220 474d 54c0 5a04 677a 6970 7738 666f 6f3d 4153 444a 4b48 514b 425a 584f 5157 454f 5049 5541 5851 5745 4f49 553b 206d 6178 2d61 6765 3d33 3630 303b 2076 6572 7369 6f6e 3d31',
    ];
    assert.deepEqual(
      blocks.map((block) => decode(decoder, block)),
      ANSWERS,
    );
  });

  it('C.6: the same with Huffman coding', () => {
    const decoder = new HpackDecoder(256);
    const blocks = [
      '4882 6402 5885 aec3 771a 4b61 96d0 7abe 9410 54d4 44a8 2005 9504 0b81 66e0 82a6 2d1b ff6e 919d 29ad 1718 63c7 8f0b 97c8 e9ae 82ae 43d3',
      '4883 640e ffc1 c0bf',
      '88c1 6196 d07a be94 1054 d444 a820 0595 040b 8166 e084 a62d 1bff c05a 839b d9ab 77ad 94e7 821d d7f2 e6c7 b335 dfdf cd5b 3960 d5af 2708 7f36 72c1 ab27 0fb5 291f 9587 3160 65c0 03ed 4ee5 b106 3d50 07',
    ];
    assert.deepEqual(
      blocks.map((block) => decode(decoder, block)),
      ANSWERS,
    );
  });
});

describe('HPACK', () => {
  const refused: readonly (readonly [what: string, hex: string, message: RegExp])[] = [
    ['index 0', '80', /no entry has index 0/],
    ['an index beyond both tables', 'bf', /no entry has index 63/],
    ['an integer without end', 'ff ffff ffff ffff', /too large/],
    ['a string that ends after its block', '0003 6162', /ends after its block/],
    ['a block that ends within a field', '41', /ends within a field/],
    ['a table larger than ours', '3fe2 1f', /over our limit/],
    ['a change of size after a field', '8220', /follows a field/],
    ['Huffman padding with zeros', '0083 f1e3 c0 00', /not well-formed/],
    ['Huffman padding of a whole octet', '0082 1fff 00', /not well-formed/],
    ['EOS within a Huffman code', '0084 ffff ffff 00', /not well-formed/],
  ];
  for (const [what, hex, message] of refused) {
    it(`refuses ${what}`, () => {
      assert.throws(
        () => decode(new HpackDecoder(4096), hex),
        (error) => error instanceof ConnectionError && error.errorCode === 9 && message.test(error.message),
      );
    });
  }

  it('keeps no entry that is larger than the table, and empties it', () => {
    const decoder = new HpackDecoder(64);
    decode(decoder, '4001 6101 62');
    assert.deepEqual(decode(decoder, 'be'), [['a', 'b']]);
    decode(decoder, `4001 61 40 ${'62'.repeat(64)}`);
    assert.throws(() => decode(decoder, 'be'), ConnectionError);
  });

  it('decodes what it encodes', () => {
    const octets = fc.string({ unit: fc.integer({ min: 0, max: 255 }).map((code) => String.fromCharCode(code)), maxLength: 400 });
    const name = fc.oneof(octets, fc.constantFrom(':method', ':status', ':authority', 'cookie'));
    fc.assert(
      fc.property(fc.array(fc.tuple(name, fc.oneof(octets, fc.constantFrom('GET', '200')))), (lines) => {
        const decoded: Line[] = [];
        new HpackDecoder(4096).decode(encodeHeaderBlock(lines), (decodedName, value) => decoded.push([decodedName, value]));
        assert.deepEqual(decoded, lines);
      }),
    );
  });

  it('takes any octets with an answer or a COMPRESSION_ERROR', () => {
    const decoder = new HpackDecoder(4096);
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 64 }), (octets) => {
        try {
          decoder.decode(Buffer.from(octets), () => undefined);
        } catch (error) {
          assert.ok(error instanceof ConnectionError);
        }
      }),
      { numRuns: 500 },
    );
  });
});
