import { createHash, createPublicKey, randomBytes, type KeyObject, type X509Certificate } from 'node:crypto';
import { alternativeNames } from '../x509/alternative-names.ts';
import { API_CONTROL_URI, API_URI, APPLICATION_COMMENT, LINK_URI, type CertificatePurpose } from '../identity/certificate-purpose.ts';
import type { IssuedBundle } from '../identity/tls-bundle.ts';
import type { Authority, CertificateOrder, Clock, NewCertificate } from './contract.ts';
import {
  bitString,
  context,
  contextBytes,
  ia5String,
  objectIdentifier,
  octetString,
  sequence,
  Tag,
  time,
  unsignedInteger,
  yes,
} from '../x509/der-writer.ts';
import { readWhole } from '../x509/der-reader.ts';
import { TrustError } from './errors.ts';
import { writePem } from '../x509/pem.ts';
import { checkRequest, createKey, subjectName } from '../x509/request.ts';
import { algorithmFor, signed } from '../x509/signature.ts';
import { Extension, readCertificateParts, Use } from '../x509/parts.ts';

const SECOND = 1_000;
const DAY = 86_400 * SECOND;
/** Milliseconds by which certificates are backdated, for peers whose clocks are behind. */
export const BACKDATE = 300 * SECOND;
const DEFAULT_DAYS = 30;

/**
 * Issues a certificate for the key of a request, which that key must have signed. Ignores the request's subject and extensions: the order
 * alone decides.
 */
export function issueCertificate(
  authority: Authority,
  order: CertificateOrder & { readonly csr: string },
  clock: Clock = Date.now,
): NewCertificate {
  return certify(authority, order, checkRequest(order.csr).publicKey, clock);
}

/** Creates a key (ECDSA P-256) and issues a certificate for it. */
export function issueBundle(
  authority: Authority,
  name: string,
  order: CertificateOrder,
  clock: Clock = Date.now,
): IssuedBundle & { readonly serial: string } {
  const key = createKey();
  const { cert, ca, serial } = certify(authority, order, createPublicKey(key), clock);
  return { name, cert, key, ca, serial };
}

function certify(authority: Authority, order: CertificateOrder, publicKey: KeyObject, clock: Clock): NewCertificate {
  const validity = validityOf(authority, order.days ?? DEFAULT_DAYS, clock());
  const issuer = readCertificateParts(authority.certificate.raw);
  const { der, serial } = buildCertificate({
    subject: subjectName(order.subject),
    publicKey,
    validity,
    issuer: issuer.subject,
    issuerKey: authority.key,
    issuerKeyIdentifier: issuer.extensions.get(Extension.subjectKeyIdentifier),
    order,
  });
  return {
    cert: writePem('CERTIFICATE', der) + authority.chain,
    ca: authority.ca,
    serial,
    notBefore: validity.notBefore,
    notAfter: validity.notAfter,
  };
}

interface Validity {
  readonly notBefore: number;
  readonly notAfter: number;
}

/** Stays within the validity of the authority: peers that check both would reject any other certificate. */
function validityOf(authority: Authority, days: number, now: number): Validity {
  if (!(days > 0 && days <= 3_650)) {
    throw new TrustError('bad-argument', `a certificate cannot be valid for ${days} days: use more than 0 and at most 3650`);
  }
  const { certificate, name } = authority;
  const ends = certificate.validToDate.getTime();
  const begins = certificate.validFromDate.getTime();
  if (now >= ends) {
    throw new TrustError(
      'tls-expired',
      `the authority ${name} expired at ${iso(ends)}, and the clock of this machine is at ${iso(now)}: replace the authority, or set the clock`,
    );
  }
  if (now < begins) {
    throw new TrustError(
      'tls-not-yet-valid',
      `the authority ${name} is valid from ${iso(begins)}, and the clock of this machine is at ${iso(now)}: set the clock`,
    );
  }
  return { notBefore: wholeSecond(Math.max(begins, now - BACKDATE)), notAfter: wholeSecond(Math.min(ends, now + days * DAY)) };
}

const wholeSecond = (milliseconds: number): number => Math.floor(milliseconds / SECOND) * SECOND;
const iso = (milliseconds: number): string => new Date(milliseconds).toISOString();

export function buildRoot(subject: string, key: KeyObject, days: number, now: number): Buffer {
  const validity = { notBefore: wholeSecond(now - BACKDATE), notAfter: wholeSecond(now + days * DAY) };
  const name = subjectName(subject);
  const publicKey = createPublicKey(key);
  return buildCertificate({
    subject: name,
    publicKey,
    validity,
    issuer: name,
    issuerKey: key,
    issuerKeyIdentifier: undefined,
    order: { subject, signing: true },
  }).der;
}

/** Renews a root with the same name and key, so that certificates of either root verify with the other. DER. */
export function renewRoot(root: X509Certificate, key: KeyObject, days: number, now: number): Buffer {
  const { subject, extensions: before } = readCertificateParts(root.raw);
  return buildCertificate({
    subject,
    publicKey: createPublicKey(key),
    validity: { notBefore: wholeSecond(now - BACKDATE), notAfter: wholeSecond(now + days * DAY) },
    issuer: subject,
    issuerKey: key,
    issuerKeyIdentifier: undefined,
    // Issued certificates refer to the root by this identifier.
    keyIdentifier: before.get(Extension.subjectKeyIdentifier),
    order: { subject: '', signing: true },
  }).der;
}

interface Parts {
  readonly subject: Buffer;
  readonly publicKey: KeyObject;
  readonly validity: Validity;
  readonly issuer: Buffer;
  readonly issuerKey: KeyObject;
  readonly issuerKeyIdentifier: Buffer | undefined;
  /** Subject key identifier; derived from the key if omitted. */
  readonly keyIdentifier?: Buffer | undefined;
  readonly order: CertificateOrder;
}

/** RFC 5280 section 4.1. */
function buildCertificate(parts: Parts): { readonly der: Buffer; readonly serial: string } {
  // 128 random bits. The hex form omits leading zero bytes, as OpenSSL does.
  const serial = randomBytes(16);
  const spki = parts.publicKey.export({ type: 'spki', format: 'der' });
  const content = sequence(
    context(0, unsignedInteger(Buffer.from([2]))),
    unsignedInteger(serial),
    algorithmFor(parts.issuerKey).identifier,
    parts.issuer,
    sequence(time(parts.validity.notBefore), time(parts.validity.notAfter)),
    parts.subject,
    spki,
    context(3, sequence(...extensions(parts, spki))),
  );
  return {
    der: signed(content, parts.issuerKey),
    serial: serial
      .toString('hex')
      .toUpperCase()
      .replace(/^(?:00)+(?=..)/, ''),
  };
}

function extensions({ order, publicKey, issuerKeyIdentifier, keyIdentifier }: Parts, spki: Buffer): Buffer[] {
  const uses = [...(order.server === true ? [Use.server] : []), ...(order.client === true ? [Use.client] : [])];
  const siteUris = order.siteId === undefined ? [] : [`urn:uuid:${order.siteId}`];
  const marks = order.purpose === undefined ? [] : MARKS[order.purpose];
  const names = alternativeNames(order.hosts ?? [], [...siteUris, ...marks]);
  const isAuthority = order.signing === true;
  return [
    extension(Extension.basicConstraints, sequence(...(isAuthority ? [yes()] : [])), 'critical'),
    extension(Extension.keyUsage, keyUsage(isAuthority, publicKey), 'critical'),
    ...(uses.length === 0 ? [] : [extension(Extension.extendedKeyUsage, sequence(...uses.map(objectIdentifier)))]),
    // SHA-256 of the whole SubjectPublicKeyInfo (RFC 7093 section 2, method 4), truncated to 160 bits as in method 1.
    extension(Extension.subjectKeyIdentifier, keyIdentifier ?? octetString(createHash('sha256').update(spki).digest().subarray(0, 20))),
    ...authorityKeyIdentifier(issuerKeyIdentifier),
    ...(names === undefined ? [] : [extension(Extension.subjectAltName, names)]),
    ...(order.purpose === 'application' ? [extension(Extension.comment, ia5String(APPLICATION_COMMENT))] : []),
  ];
}

/** URIs by purpose. */
const MARKS: Readonly<Record<CertificatePurpose, readonly string[]>> = {
  link: [LINK_URI],
  application: [],
  api: [API_URI],
  'api-control': [API_URI, API_CONTROL_URI],
};

function extension(name: string, content: Buffer, critical?: 'critical'): Buffer {
  return sequence(objectIdentifier(name), ...(critical === undefined ? [] : [yes()]), octetString(content));
}

/** Bits are numbered from the left: digitalSignature 0, keyEncipherment 2, keyCertSign 5, cRLSign 6 (RFC 5280 section 4.2.1.3). */
function keyUsage(isAuthority: boolean, publicKey: KeyObject): Buffer {
  if (isAuthority) return bitString(Buffer.from([0b0000_0110]), 1);
  return publicKey.asymmetricKeyType === 'rsa' ? bitString(Buffer.from([0b1010_0000]), 5) : bitString(Buffer.from([0b1000_0000]), 7);
}

function authorityKeyIdentifier(subjectKeyIdentifier: Buffer | undefined): Buffer[] {
  if (subjectKeyIdentifier === undefined) return [];
  // The extension contains a DER OCTET STRING. Replace its tag and length by [0].
  const { content } = readWhole(subjectKeyIdentifier, Tag.octetString, "the authority's key identifier");
  return [extension(Extension.authorityKeyIdentifier, sequence(contextBytes(0, content)))];
}
