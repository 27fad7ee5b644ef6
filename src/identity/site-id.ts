import { hash } from 'node:crypto';
import { Buffer } from 'node:buffer';

/** Number of characters of a site ID. */
export const SITE_ID_LENGTH = 36;

/**
 * Returns the ID of the site with this Ed25519 key (32 bytes, raw): a UUID of version 8 (RFC 9562 section 5.8), lower case. It contains the
 * first 16 bytes of the key's SHA-256. 122 bits of the digest remain, so finding a second key for an ID is infeasible: proof of the key is
 * proof of the ID.
 */
export function siteIdOf(publicKey: Uint8Array): string {
  const bytes = hash('sha256', publicKey, 'buffer').subarray(0, 16);
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x80, 6);
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
  return siteIdFromBytes(bytes);
}

/** @param at offset of the 16 bytes */
export function siteIdFromBytes(bytes: Uint8Array, at = 0): string {
  writeSiteId(bytes, at, written);
  return written.toString('latin1');
}

/**
 * Writes the 36 characters of an ID to the start of `into`. Decoding many bytes into one string is cheaper than many strings, and records
 * contain many IDs.
 */
export function writeSiteId(bytes: Uint8Array, at: number, into: Uint8Array): void {
  let place = 0;
  for (let byte = 0; byte < 16; byte += 1) {
    if (byte === 4 || byte === 6 || byte === 8 || byte === 10) into[place++] = HYPHEN;
    const value = bytes[at + byte] ?? 0;
    into[place++] = DIGITS[value >> 4] ?? 0;
    into[place++] = DIGITS[value & 15] ?? 0;
  }
}

const written = Buffer.alloc(SITE_ID_LENGTH);
const DIGITS = Buffer.from('0123456789abcdef');
const HYPHEN = 0x2d;
