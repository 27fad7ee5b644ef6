import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { byteSize } from '../../../src/text/byte-size.ts';

const MIB = 1 << 20;

describe('a number of bytes', () => {
  const sizes: readonly (readonly [string, number | undefined])[] = [
    ['256Mi', 256 * MIB],
    ['2Gi', 2048 * MIB],
    ['512M', 512e6],
    ['268435456', 256 * MIB],
    ['1Ti', 2 ** 40],
    ['0', 0],
    ['', undefined],
    ['-256Mi', undefined],
    ['256 Mi', undefined],
    ['256MiB', undefined],
    ['0.5Gi', undefined],
    ['lots', undefined],
  ];
  for (const [text, bytes] of sizes) it(`is ${bytes ?? 'not'} ${JSON.stringify(text)}`, () => assert.equal(byteSize(text), bytes));
});
