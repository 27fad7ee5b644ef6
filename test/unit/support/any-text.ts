import fc from 'fast-check';

const anyCodePoint = fc.integer({ min: 0, max: 0x10_ffff }).filter((point) => point < 0xd800 || point > 0xdfff);
export const anyCharacter = fc.oneof(fc.integer({ min: 0, max: 0xff }), anyCodePoint).map((point) => String.fromCodePoint(point));

/** Text of any characters, half of them below U+0100. `unit: 'binary'` of fast-check takes a second to set up, in each file. */
export function anyText(length: { readonly minLength?: number; readonly maxLength?: number } = {}): fc.Arbitrary<string> {
  return fc.string({ unit: anyCharacter, ...length });
}
