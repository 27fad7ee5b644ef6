import { createHash } from 'node:crypto';

/**
 * The site id that belongs to a raw Ed25519 public key (32 bytes): the first 16 bytes of its SHA-256, made a UUID of version
 * 8 and variant 10 (RFC 9562 section 5.8). So 122 bits of the hash are left, and nobody finds another key for an id.
 */
export function siteIdOf(publicKey: Uint8Array): string {
  const bytes = createHash('sha256').update(publicKey).digest().subarray(0, 16);
  bytes[6] = 0x80 | ((bytes[6] ?? 0) & 0x0f);
  bytes[8] = 0x80 | ((bytes[8] ?? 0) & 0x3f);
  const hex = bytes.toString('hex');
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
}

/** Of any version: an id comes from outside, and only a proof makes it a site's. */
export const isSiteId = (text: string): boolean => /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/.test(text);

/**
 * The name that a site may bear in a certificate: lower-case letters, digits, `-` and `.`, at most 64 characters (RFC 5280,
 * ub-common-name).
 */
export const isSiteName = (text: string): boolean => /^[a-z0-9](?:[-a-z0-9.]{0,62}[a-z0-9])?$/.test(text);
