import { Buffer } from 'node:buffer';
import { createPrivateKey, createPublicKey, generateKeyPairSync, sign, verify } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { EarshotError } from '../errors/earshot-error.ts';

/** Key of a site, Ed25519 (RFC 8032). Signs the site's own announcements. */
export interface SiteKey {
  /** 32 bytes. */
  readonly publicKey: Buffer;
  /** Returns a signature of 64 bytes. */
  sign(message: Uint8Array): Buffer;
}

/** Creates the key of a new site. `pem` is the secret text to store (PKCS #8 PEM). */
export function generateSiteKey(): { readonly pem: string; readonly key: SiteKey } {
  const { privateKey } = generateKeyPairSync('ed25519');
  const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
  return { pem, key: keyFrom(privateKey) };
}

/**
 * Parses a key (PKCS #8 PEM, not encrypted).
 * @throws EarshotError `site-key` if the text is invalid; the message never contains any of it
 */
export function siteKeyFrom(pem: string): SiteKey {
  let privateKey: KeyObject;
  try {
    privateKey = createPrivateKey({ key: pem, format: 'pem' });
  } catch (error) {
    throw new EarshotError(
      'site-key',
      "The site's key is not an unencrypted private key in PEM. Restore it from a backup; without it, create a new site.",
      error,
    );
  }
  if (privateKey.asymmetricKeyType !== 'ed25519') {
    throw new EarshotError(
      'site-key',
      `The site's key is of type ${privateKey.asymmetricKeyType ?? 'unknown'}, it must be Ed25519. Restore the file that Earshot wrote.`,
    );
  }
  return keyFrom(privateKey);
}

/** Verifies an Ed25519 signature (RFC 8032) with a raw public key of 32 bytes. Never throws. */
export function verifySignature(publicKey: Buffer, message: Uint8Array, signature: Uint8Array): boolean {
  if (publicKey.length !== PUBLIC_KEY_BYTES || signature.length !== SIGNATURE_BYTES) return false;
  try {
    return verify(null, message, createPublicKey({ key: Buffer.concat([spkiPrefix, publicKey]), format: 'der', type: 'spki' }), signature);
  } catch {
    // OpenSSL rejects some points when it parses the key.
    return false;
  }
}

export const PUBLIC_KEY_BYTES = 32;
export const SIGNATURE_BYTES = 64;

/** SubjectPublicKeyInfo of an Ed25519 key up to the key itself (RFC 8410 section 4). */
const spkiPrefix = Buffer.from('302a300506032b6570032100', 'hex');

function keyFrom(privateKey: KeyObject): SiteKey {
  const spki = createPublicKey(privateKey).export({ type: 'spki', format: 'der' });
  return { publicKey: Buffer.from(spki.subarray(spki.length - PUBLIC_KEY_BYTES)), sign: (message) => sign(null, message, privateKey) };
}
