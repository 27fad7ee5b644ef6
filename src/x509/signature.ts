import { sign, type KeyObject } from 'node:crypto';
import { bitString, nothing, objectIdentifier, sequence } from './der-writer.ts';
import { CertificateError } from './errors.ts';

/** Encodes content, algorithm and signature: the structure of both certificates and requests. */
export function signed(content: Buffer, key: KeyObject): Buffer {
  const algorithm = algorithmFor(key);
  return sequence(content, algorithm.identifier, bitString(sign(algorithm.hash, content, key)));
}

export interface SignatureAlgorithm {
  /** AlgorithmIdentifier, DER. */
  readonly identifier: Buffer;
  /** Hash name for `node:crypto`; null for Ed25519 and Ed448, which include hashing. */
  readonly hash: string | null;
}

/** RSA with SHA-256 (RFC 4055), ECDSA with the hash of the curve's size (RFC 5758), EdDSA (RFC 8410). */
export function algorithmFor(key: KeyObject): SignatureAlgorithm {
  switch (key.asymmetricKeyType) {
    case 'rsa':
      return { identifier: sequence(objectIdentifier('1.2.840.113549.1.1.11'), nothing()), hash: 'sha256' };
    case 'ec': {
      const curve = curves.get(key.asymmetricKeyDetails?.namedCurve ?? '');
      if (curve !== undefined) return { identifier: sequence(objectIdentifier(curve.oid)), hash: curve.hash };
      break;
    }
    case 'ed25519':
      return { identifier: sequence(objectIdentifier('1.3.101.112')), hash: null };
    case 'ed448':
      return { identifier: sequence(objectIdentifier('1.3.101.113')), hash: null };
    default:
  }
  throw new CertificateError(
    'tls-weak',
    `a key of the kind ${key.asymmetricKeyType ?? 'unknown'} cannot sign: use ECDSA P-256, P-384, P-521, Ed25519 or RSA`,
  );
}

const curves = new Map([
  ['prime256v1', { oid: '1.2.840.10045.4.3.2', hash: 'sha256' }],
  ['secp384r1', { oid: '1.2.840.10045.4.3.3', hash: 'sha384' }],
  ['secp521r1', { oid: '1.2.840.10045.4.3.4', hash: 'sha512' }],
]);

/** Hashes of request signatures, by object identifier. SHA-1 is not accepted. */
export const signatureHashes: ReadonlyMap<string, string | null> = new Map<string, string | null>([
  ['1.2.840.113549.1.1.11', 'sha256'],
  ['1.2.840.113549.1.1.12', 'sha384'],
  ['1.2.840.113549.1.1.13', 'sha512'],
  ['1.2.840.10045.4.3.2', 'sha256'],
  ['1.2.840.10045.4.3.3', 'sha384'],
  ['1.2.840.10045.4.3.4', 'sha512'],
  ['1.3.101.112', null],
  ['1.3.101.113', null],
]);
