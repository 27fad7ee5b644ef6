import { Buffer } from 'node:buffer';

import { STATIC_TABLE } from './static-table.ts';

/**
 * Encodes a header block with the static table and literals without indexing (RFC 7541 section 6.2.2). The encoder has no state: blocks may
 * leave in any order, and a block that never leaves has no effect. Characters above 255 must not occur.
 */
export function encodeHeaderBlock(fields: readonly (readonly [name: string, value: string])[]): Buffer {
  let most = 0;
  for (const [name, value] of fields) most += name.length + value.length + 15;
  const out = Buffer.allocUnsafe(most);
  let at = 0;
  for (const [name, value] of fields) {
    const known = STATIC.get(name);
    const whole = known?.values.get(value);
    if (whole !== undefined) {
      at = writeInteger(out, at, 0x80, 7, whole);
      continue;
    }
    at = writeInteger(out, at, 0, 4, known?.index ?? 0);
    if (known === undefined) at = writeString(out, at, name);
    at = writeString(out, at, value);
  }
  return out.subarray(0, at);
}

interface Known {
  /** Index of the first entry with the name. */
  readonly index: number;
  readonly values: ReadonlyMap<string, number>;
}

const STATIC: ReadonlyMap<string, Known> = indexStaticTable();

function indexStaticTable(): ReadonlyMap<string, Known> {
  const byName = new Map<string, { readonly index: number; readonly values: Map<string, number> }>();
  STATIC_TABLE.forEach(([name, value], at) => {
    const known = byName.get(name) ?? { index: at + 1, values: new Map<string, number>() };
    byName.set(name, known);
    if (value !== '') known.values.set(value, at + 1);
  });
  return byName;
}

function writeString(out: Buffer, at: number, text: string): number {
  const start = writeInteger(out, at, 0, 7, text.length);
  return start + out.write(text, start, 'latin1');
}

/** RFC 7541 section 5.1. */
function writeInteger(out: Buffer, at: number, pattern: number, prefixBits: number, value: number): number {
  const mask = (1 << prefixBits) - 1;
  if (value < mask) {
    out[at] = pattern | value;
    return at + 1;
  }
  out[at++] = pattern | mask;
  let rest = value - mask;
  while (rest >= 0x80) {
    out[at++] = (rest & 0x7f) | 0x80;
    rest >>>= 7;
  }
  out[at] = rest;
  return at + 1;
}
