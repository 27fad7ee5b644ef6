/**
 * Distinguished Encoding Rules (ITU-T X.690), as far as X.509 needs them. The certificate library would add 16 MB of resident memory to a
 * process that signs one certificate a month. Tests compare both.
 */
export function tlv(tag: number, ...parts: readonly Uint8Array[]): Buffer {
  const content = Buffer.concat(parts);
  return Buffer.concat([Buffer.from([tag]), lengthOf(content.length), content]);
}

function lengthOf(length: number): Buffer {
  if (length < 0x80) return Buffer.from([length]);
  const bytes = trimmed(Buffer.from(length.toString(16).padStart(8, '0'), 'hex'));
  return Buffer.concat([Buffer.from([0x80 | bytes.length]), bytes]);
}

function trimmed(bytes: Uint8Array): Uint8Array {
  const first = bytes.findIndex((byte) => byte !== 0);
  return first === -1 ? bytes.subarray(-1) : bytes.subarray(first);
}

export const sequence = (...parts: readonly Uint8Array[]): Buffer => tlv(Tag.sequence, ...parts);
export const set = (...parts: readonly Uint8Array[]): Buffer => tlv(Tag.set, ...parts);
export const octetString = (bytes: Uint8Array): Buffer => tlv(Tag.octetString, bytes);
export const utf8String = (text: string): Buffer => tlv(Tag.utf8String, Buffer.from(text, 'utf8'));
export const ia5String = (text: string): Buffer => tlv(Tag.ia5String, Buffer.from(text, 'latin1'));
export const nothing = (): Buffer => tlv(Tag.nothing);
export const yes = (): Buffer => tlv(Tag.boolean, Buffer.from([0xff]));
export const bitString = (bytes: Uint8Array, unused = 0): Buffer => tlv(Tag.bitString, Buffer.from([unused]), bytes);

/** Context-specific, constructed: `[n] EXPLICIT`, or `[n] IMPLICIT` of a constructed type. */
export const context = (number: number, ...parts: readonly Uint8Array[]): Buffer => tlv(0xa0 | number, ...parts);
/** Context-specific, primitive: `[n] IMPLICIT` of bytes. */
export const contextBytes = (number: number, bytes: Uint8Array): Buffer => tlv(0x80 | number, bytes);

/** Non-negative number, big-endian. */
export function unsignedInteger(bytes: Uint8Array): Buffer {
  const least = trimmed(bytes);
  return tlv(Tag.integer, ...((least[0] ?? 0) >= 0x80 ? [Buffer.from([0])] : []), least);
}

export function objectIdentifier(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted.split('.').map(Number);
  return tlv(Tag.objectIdentifier, Buffer.from([first * 40 + second, ...rest.flatMap(base128)]));
}

function base128(value: number): number[] {
  const digits = [value % 128];
  for (let left = Math.floor(value / 128); left > 0; left = Math.floor(left / 128)) digits.unshift(0x80 | (left % 128));
  return digits;
}

/** Whole seconds: UTCTime through 2049, GeneralizedTime from 2050 (RFC 5280 section 4.1.2.5). */
export function time(milliseconds: number): Buffer {
  const text = new Date(milliseconds).toISOString().replaceAll(/[-:T]|\.\d+/g, '');
  const isShort = text < '2050' && text >= '1950';
  return tlv(isShort ? Tag.utcTime : Tag.generalizedTime, Buffer.from(isShort ? text.slice(2) : text, 'latin1'));
}

/** Tags of the universal class. */
export const Tag = {
  boolean: 0x01,
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  nothing: 0x05,
  objectIdentifier: 0x06,
  utf8String: 0x0c,
  printableString: 0x13,
  ia5String: 0x16,
  utcTime: 0x17,
  generalizedTime: 0x18,
  sequence: 0x30,
  set: 0x31,
} as const;
