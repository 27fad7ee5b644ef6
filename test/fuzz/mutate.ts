import type { Random } from '../../bench/routing/random.ts';

/** One to four small changes: what a broken or a curious peer makes of good bytes. */
export function mutate(random: Random, sample: Buffer, pieces: readonly Buffer[] = TRICKY): Buffer {
  let bytes: Buffer = Buffer.from(sample);
  for (let left = 1 + random.below(4); left > 0; left -= 1) bytes = changed(random, bytes, pieces);
  return bytes;
}

/** Cuts bytes into a few chunks, as a network does. */
export function cut(random: Random, bytes: Buffer): Buffer[] {
  const chunks: Buffer[] = [];
  let from = 0;
  for (let left = random.below(4); left > 0 && from < bytes.length; left -= 1) {
    const to = from + 1 + random.below(Math.min(bytes.length - from, random.below(4) === 0 ? 3 : bytes.length));
    chunks.push(bytes.subarray(from, to));
    from = to;
  }
  if (from < bytes.length) chunks.push(bytes.subarray(from));
  return chunks;
}

function changed(random: Random, bytes: Buffer, pieces: readonly Buffer[]): Buffer {
  const at = random.below(bytes.length + 1);
  const [before, after] = [bytes.subarray(0, at), bytes.subarray(at)];
  switch (random.below(7)) {
    case 0:
      if (at < bytes.length) bytes[at] = random.below(256);
      return bytes;
    case 1:
      if (at < bytes.length) bytes[at] = (bytes[at] ?? 0) ^ (1 << random.below(8));
      return bytes;
    case 2:
      return Buffer.concat([before, after.subarray(random.below(20))]);
    case 3:
      return Buffer.concat([before, random.pick(pieces), after]);
    case 4:
      return before.length === 0 ? bytes : before;
    case 5:
      return Buffer.concat([before, bytes.subarray(random.below(bytes.length + 1)).subarray(0, 64), after]);
    default:
      return Buffer.concat([before, random.bytes(random.below(9)), after]);
  }
}

const TRICKY: readonly Buffer[] = [
  ...[
    '\0',
    '\r\n',
    '"',
    '\\u0000',
    '{',
    '[',
    '}',
    ']',
    '- ',
    '&a ',
    '*a',
    '__proto__',
    'é',
    '\ufeff',
    '=',
    '1e999',
    'null',
    '~',
    '../',
    ': ',
    '\t',
    '\n',
    ' ',
    '\u0080\u0000',
    '-----BEGIN CERTIFICATE-----',
  ].map((text) => Buffer.from(text)),
  Buffer.from('ffffffff', 'hex'),
  Buffer.from('7fffffff', 'hex'),
  Buffer.from('80000000', 'hex'),
  Buffer.from('00000000', 'hex'),
  Buffer.from('c080', 'hex'),
];
