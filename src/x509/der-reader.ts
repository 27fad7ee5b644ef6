import { Tag } from './der-writer.ts';
import { EarshotError } from '../errors/earshot-error.ts';

/** DER element: its content, and all its bytes. Both are views without copying. */
export interface Element {
  readonly tag: number;
  readonly content: Buffer;
  readonly whole: Buffer;
}

/** The bytes are not DER, or do not have the expected structure. */
export class DerError extends EarshotError<'tls-mangled'> {
  constructor(message: string) {
    super('tls-mangled', message);
  }
}

export function readWhole(bytes: Buffer, tag: number, what: string): Element {
  const element = readAt(bytes, 0, what);
  if (element.whole.length !== bytes.length) throw new DerError(`${what} is followed by ${bytes.length - element.whole.length} more bytes`);
  return expectTag(element, tag, what);
}

/** Returns the direct children. There is no recursion, so depth costs nothing: each caller reads the levels that it expects. */
export function readChildren(element: Element, what: string): readonly Element[] {
  const children: Element[] = [];
  for (let at = 0; at < element.content.length;) {
    const child = readAt(element.content, at, what);
    children.push(child);
    at += child.whole.length;
  }
  return children;
}

export function expectTag(element: Element | undefined, tag: number, what: string): Element {
  if (element === undefined) throw new DerError(`${what} is missing`);
  if (element.tag !== tag) throw new DerError(`${what} has the tag ${element.tag}, not ${tag}`);
  return element;
}

/** Accepts only definite, minimal lengths and single-byte tags, as DER and X.509 use. */
function readAt(bytes: Buffer, at: number, what: string): Element {
  const tag = bytes[at];
  const first = bytes[at + 1];
  if (tag === undefined || first === undefined) throw new DerError(`${what} is cut short`);
  if ((tag & 0x1f) === 0x1f) throw new DerError(`${what} has a tag of several bytes`);
  let start = at + 2;
  let length = first;
  if (first >= 0x80) {
    const count = first & 0x7f;
    if (count === 0 || count > 4) throw new DerError(`${what} has a length that is not DER`);
    if (start + count > bytes.length) throw new DerError(`${what} is cut short`);
    length = bytes.readUIntBE(start, count);
    if (length < 0x80 || length < 2 ** (8 * (count - 1))) throw new DerError(`${what} has a length that is not DER`);
    start += count;
  }
  if (start + length > bytes.length) throw new DerError(`${what} is cut short`);
  return { tag, content: bytes.subarray(start, start + length), whole: bytes.subarray(at, start + length) };
}

export function readObjectIdentifier(element: Element | undefined, what: string): string {
  const { content } = expectTag(element, Tag.objectIdentifier, what);
  if (content.length === 0 || content.length > 64) throw new DerError(`${what} has a length of ${content.length}`);
  const numbers: number[] = [];
  let value = 0;
  for (const byte of content) {
    value = value * 128 + (byte & 0x7f);
    if (value > Number.MAX_SAFE_INTEGER) throw new DerError(`${what} is too large`);
    if ((byte & 0x80) === 0) {
      numbers.push(value);
      value = 0;
    }
  }
  const [first = 0, ...rest] = numbers;
  const top = Math.min(2, Math.floor(first / 40));
  return [top, first - top * 40, ...rest].join('.');
}

/** Content of a BIT STRING without unused bits. */
export function readBitString(element: Element | undefined, what: string): Buffer {
  const { content } = expectTag(element, Tag.bitString, what);
  if (content[0] !== 0) throw new DerError(`${what} is not whole bytes`);
  return content.subarray(1);
}
