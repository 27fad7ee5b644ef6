import { createHash } from 'node:crypto';
import type { Buffer } from 'node:buffer';

/**
 * The id of the site that has this Ed25519 key (32 bytes, raw): the first 16 bytes of its SHA-256, formed as a UUID of
 * version 8 (RFC 9562 section 5.8), lower case. 122 bits of the digest remain: finding a second key for a given id is out
 * of reach, so who proves the key proves the id.
 */
export function siteIdOf(publicKey: Uint8Array): string {
  const bytes = createHash('sha256').update(publicKey).digest().subarray(0, 16);
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x80, 6);
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
  return siteIdFromBytes(bytes);
}

export function siteIdFromBytes(bytes: Buffer): string {
  const hex = bytes.toString('hex', 0, 16);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}
