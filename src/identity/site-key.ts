import { Buffer } from 'node:buffer';
import { createPrivateKey, createPublicKey, generateKeyPairSync, sign, verify } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { EarshotError } from '../errors/earshot-error.ts';

/** The key of a site, Ed25519 (RFC 8032): it signs what the site says of itself. */
export interface SiteKey {
  /** 32 bytes. */
  readonly publicKey: Buffer;
  /** 64 bytes. */
  sign(message: Uint8Array): Buffer;
}

/** A new site's key, and the text to keep it as: PKCS #8, PEM, secret. */
export function generateSiteKey(): { readonly pem: string; readonly key: SiteKey } {
  const { privateKey } = generateKeyPairSync('ed25519');
  const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
  return { pem, key: keyFrom(privateKey) };
}

/**
 * The key from its text (PKCS #8, PEM, not encrypted).
 * @throws EarshotError `site-key` where the text is not that; the message never holds any of it
 */
export function siteKeyFrom(pem: string): SiteKey {
  let privateKey: KeyObject;
  try {
    privateKey = createPrivateKey({ key: pem, format: 'pem' });
  } catch (error) {
    throw new EarshotError(
      'site-key',
      "The site's key is not an unencrypted private key in PEM. Restore it from a backup; without it the site has to be made anew.",
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

/** Whether the signature over the message is of that key (Ed25519, RFC 8032; 32 bytes, raw). Never throws. */
export function verifySignature(publicKey: Buffer, message: Uint8Array, signature: Uint8Array): boolean {
  if (publicKey.length !== PUBLIC_KEY_BYTES || signature.length !== SIGNATURE_BYTES) return false;
  try {
    return verify(null, message, createPublicKey({ key: Buffer.concat([spkiPrefix, publicKey]), format: 'der', type: 'spki' }), signature);
  } catch {
    // OpenSSL refuses some points already when it reads the key.
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
