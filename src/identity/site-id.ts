import { createHash } from 'node:crypto';
import type { Buffer } from 'node:buffer';
import { isUuid } from '../x509/alternative-names.ts';

/**
 * The id of the site that has this Ed25519 key (32 bytes, raw): the first 16 bytes of its SHA-256, formed as a UUID of
 * version 8 (RFC 9562 section 5.8), lower case. 122 bits of the digest remain: finding a second key for a given id is out
 * of reach, so who proves the key proves the id.
 */
export function siteIdOf(publicKey: Uint8Array): string {
  return siteIdFromBytes(siteIdBytes(publicKey));
}

/** The 16 bytes of that UUID, which the routing protocol carries. */
export function siteIdBytes(publicKey: Uint8Array): Buffer {
  const bytes = createHash('sha256').update(publicKey).digest().subarray(0, 16);
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x80, 6);
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
  return bytes;
}

/** The UUID as text. */
export function siteIdFromBytes(bytes: Buffer): string {
  const hex = bytes.toString('hex', 0, 16);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

/** Whether some key can have this id. */
export function isSiteId(text: string): boolean {
  return SITE_ID.test(text);
}

const SITE_ID = /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

/**
 * Whether a certificate or a redemption may claim this id: a UUID of any version. What is wrong about it comes to light when
 * it is compared with the id of the key that was proved, and there the answer says so.
 */
export const isClaimedSiteId = isUuid;

/**
 * The name that a site may bear in a certificate: lower-case letters, digits, `-` and `.`, at most 64 characters (RFC 5280,
 * ub-common-name).
 */
export const isSiteName = (text: string): boolean => /^[a-z0-9](?:[-a-z0-9.]{0,62}[a-z0-9])?$/.test(text);
