import { createPublicKey, type KeyObject } from 'node:crypto';
import { Tag } from './der-writer.ts';
import { DerError, expectTag, readBitString, readChildren, readObjectIdentifier, readWhole, type Element } from './der-reader.ts';

/** Parts of a certificate (RFC 5280 section 4.1) that `X509Certificate` of node:crypto does not expose, undecoded. */
export interface CertificateParts {
  /** Name of the issuer, DER. */
  readonly issuer: Buffer;
  /** Name of the subject, DER. */
  readonly subject: Buffer;
  readonly signatureAlgorithm: string;
  /** Content of each extension's OCTET STRING, by object identifier. */
  readonly extensions: ReadonlyMap<string, Buffer>;
}

export function readCertificateParts(der: Buffer): CertificateParts {
  const certificate = readChildren(readWhole(der, Tag.sequence, 'the certificate'), 'the certificate');
  const tbs = readChildren(expectTag(certificate[0], Tag.sequence, 'the certificate to be signed'), 'the certificate to be signed');
  const algorithm = readChildren(expectTag(certificate[1], Tag.sequence, 'the signature algorithm'), 'the signature algorithm');
  // The version, [0], is optional, so later elements may be shifted.
  const rest = tbs[0]?.tag === 0xa0 ? tbs.slice(1) : tbs;
  return {
    issuer: expectTag(rest[2], Tag.sequence, 'the issuer').whole,
    subject: expectTag(rest[4], Tag.sequence, 'the subject').whole,
    signatureAlgorithm: readObjectIdentifier(algorithm[0], 'the signature algorithm'),
    extensions: readExtensions(rest.find((element) => element.tag === 0xa3)),
  };
}

function readExtensions(explicit: Element | undefined): ReadonlyMap<string, Buffer> {
  const extensions = new Map<string, Buffer>();
  if (explicit === undefined) return extensions;
  const list = readChildren(readWhole(explicit.content, Tag.sequence, 'the extensions'), 'the extensions');
  for (const item of list) {
    const parts = readChildren(expectTag(item, Tag.sequence, 'an extension'), 'an extension');
    const name = readObjectIdentifier(parts[0], 'an extension');
    extensions.set(name, expectTag(parts.at(-1), Tag.octetString, 'an extension').content);
  }
  return extensions;
}

/** Certificate signing request (RFC 2986). */
export interface RequestParts {
  /** Signed part, DER. */
  readonly signed: Buffer;
  readonly subject: Buffer;
  /** SubjectPublicKeyInfo, DER. */
  readonly publicKey: Buffer;
  readonly signatureAlgorithm: string;
  readonly signature: Buffer;
}

export function readRequestParts(der: Buffer): RequestParts {
  const [info, algorithm, signature, ...more] = readChildren(readWhole(der, Tag.sequence, 'the request'), 'the request');
  if (more.length > 0) throw new DerError('the request has more than three parts');
  const signed = expectTag(info, Tag.sequence, "the request's content");
  const [version, subject, publicKey] = readChildren(signed, "the request's content");
  if (!expectTag(version, Tag.integer, "the request's version").content.equals(Buffer.from([0]))) {
    throw new DerError('the request is of another version than 1');
  }
  return {
    signed: signed.whole,
    subject: expectTag(subject, Tag.sequence, "the request's subject").whole,
    publicKey: expectTag(publicKey, Tag.sequence, "the request's public key").whole,
    signatureAlgorithm: readObjectIdentifier(
      readChildren(expectTag(algorithm, Tag.sequence, "the request's algorithm"), "the request's algorithm")[0],
      "the request's algorithm",
    ),
    signature: readBitString(signature, "the request's signature"),
  };
}

/** Returns the last common name of a name (DER); undefined if no common name has a string type. */
export function commonNameOf(name: Buffer): string | undefined {
  let found: string | undefined;
  for (const part of readChildren(readWhole(name, Tag.sequence, 'the name'), 'the name')) {
    for (const pair of readChildren(part, 'the name')) {
      const [type, value] = readChildren(pair, 'the name');
      if (readObjectIdentifier(type, 'the name') !== COMMON_NAME || value === undefined) continue;
      if (value.tag === Tag.utf8String || value.tag === Tag.printableString || value.tag === Tag.ia5String) {
        found = value.content.toString('utf8');
      }
    }
  }
  return found;
}

export const COMMON_NAME = '2.5.4.3';

export const Extension = {
  subjectKeyIdentifier: '2.5.29.14',
  keyUsage: '2.5.29.15',
  subjectAltName: '2.5.29.17',
  basicConstraints: '2.5.29.19',
  authorityKeyIdentifier: '2.5.29.35',
  extendedKeyUsage: '2.5.29.37',
  /** Netscape comment, for people who inspect a certificate. */
  comment: '2.16.840.1.113730.1.13',
} as const;

export const Use = { server: '1.3.6.1.5.5.7.3.1', client: '1.3.6.1.5.5.7.3.2', any: '2.5.29.37.0' } as const;

/** `dns:`, `ip:` and `uri:` names. Other kinds are ignored. */
export interface AlternativeNames {
  readonly dns: readonly string[];
  readonly ip: readonly string[];
  readonly uri: readonly string[];
}

export function readAlternativeNames(extension: Buffer | undefined): AlternativeNames {
  const names = { dns: [] as string[], ip: [] as string[], uri: [] as string[] };
  if (extension === undefined) return names;
  for (const name of readChildren(readWhole(extension, Tag.sequence, 'the alternative names'), 'the alternative names')) {
    if (name.tag === 0x82) names.dns.push(name.content.toString('latin1'));
    else if (name.tag === 0x86) names.uri.push(name.content.toString('latin1'));
    else if (name.tag === 0x87) names.ip.push(addressText(name.content));
  }
  return names;
}

/** Returns the text of a comment. */
export function readComment(extension: Buffer | undefined): string | undefined {
  if (extension === undefined) return undefined;
  return readWhole(extension, Tag.ia5String, 'the comment').content.toString('latin1');
}

function addressText(bytes: Buffer): string {
  if (bytes.length === 4) return bytes.join('.');
  if (bytes.length !== 16) throw new DerError(`an address of ${bytes.length} bytes`);
  const groups = Array.from({ length: 8 }, (_, index) => bytes.readUInt16BE(index * 2).toString(16));
  // The URL parser writes an IPv6 address in its short form (RFC 5952).
  return new URL(`http://[${groups.join(':')}]`).hostname.slice(1, -1);
}

/** Returns the object identifiers of `extendedKeyUsage`; undefined if every use is permitted. */
export function readUses(extension: Buffer | undefined): readonly string[] | undefined {
  if (extension === undefined) return undefined;
  const list = readChildren(readWhole(extension, Tag.sequence, 'the key usage'), 'the key usage');
  return list.map((element) => readObjectIdentifier(element, 'the key usage'));
}

/** Returns why a public key is too weak, or not supported by TLS 1.3; undefined if it is acceptable. */
export function weaknessOf(key: KeyObject): string | undefined {
  const { modulusLength = 0, namedCurve = '', publicExponent = 0n } = key.asymmetricKeyDetails ?? {};
  switch (key.asymmetricKeyType) {
    case 'rsa':
    case 'rsa-pss':
      if (modulusLength < 2048) return `an RSA key of ${modulusLength} bits (2048 is the least)`;
      if (modulusLength > 8192) return `an RSA key of ${modulusLength} bits (8192 is the most)`;
      // OpenSSL accepts an exponent as long as the modulus up to 3072 bits. Verifying a signature then takes more than ten times as long.
      return publicExponent >= 2n ** 32n
        ? `an RSA key whose public exponent has ${publicExponent.toString(2).length} bits (32 is the most)`
        : undefined;
    case 'ec':
      return strongCurves.has(namedCurve) ? undefined : `a key on the curve ${namedCurve} (use P-256, P-384 or P-521)`;
    case 'ed25519':
    case 'ed448':
      return undefined;
    default:
      return `a key of the kind ${key.asymmetricKeyType ?? 'unknown'}`;
  }
}

const strongCurves = new Set(['prime256v1', 'secp384r1', 'secp521r1']);

/** @throws OpenSSL's error if the bytes are not a key */
export const publicKeyOf = (spki: Buffer): KeyObject => createPublicKey({ key: spki, format: 'der', type: 'spki' });
