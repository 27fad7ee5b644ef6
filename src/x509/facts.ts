import { X509Certificate } from 'node:crypto';
import { CertificateError } from './errors.ts';
import { isCertificateBlock, PemError, readPem } from './pem.ts';
import { commonNameOf, Extension, readAlternativeNames, readCertificateParts, readUses, type CertificateParts } from './parts.ts';
import { printable } from '../text/printable.ts';
import { isUuid } from '../text/names.ts';

/** Data of a certificate for statuses and metrics. */
export interface CertificateFacts {
  readonly subject: string;
  readonly commonName?: string;
  readonly issuer: string;
  readonly serial: string;
  readonly notBefore: number;
  readonly notAfter: number;
  readonly hosts: readonly string[];
  /** Site ID from a URI `urn:uuid:…`. */
  readonly siteId?: string;
  readonly isAuthority: boolean;
}

/** Parsed certificate. */
export interface ReadCertificate {
  readonly x509: X509Certificate;
  readonly parts: CertificateParts;
  readonly facts: CertificateFacts;
  /** Object identifiers of `extendedKeyUsage`; undefined permits every use. */
  readonly uses: readonly string[] | undefined;
  /** Whether `keyUsage` permits signing certificates. */
  readonly maySign: boolean;
}

/** Parses all certificates of a PEM text. @throws CertificateError `tls-no-cert` or `tls-mangled` with the location */
export function readCertificates(pem: string, where: string): readonly [ReadCertificate, ...ReadCertificate[]] {
  const blocks = blocksOf(pem, where);
  const [first, ...rest] = blocks
    .filter(isCertificateBlock)
    .map(({ der, line }) => readCertificate(der, `${where}: the certificate that begins in line ${line}`));
  if (first !== undefined) return [first, ...rest];
  const others = [...new Set(blocks.map(({ label }) => label))].slice(0, 3);
  const holds = others.length === 0 ? 'it has no line "-----BEGIN CERTIFICATE-----"' : `it contains a ${others.join(' and a ')}`;
  throw new CertificateError('tls-no-cert', `${where} contains no certificate: ${holds}`);
}

function blocksOf(pem: string, where: string): ReturnType<typeof readPem> {
  try {
    return readPem(pem);
  } catch (error) {
    if (error instanceof PemError) throw new CertificateError('tls-mangled', `${where} is not PEM: ${error.message}`, error);
    throw error;
  }
}

/** @throws CertificateError `tls-mangled` */
export function readCertificate(der: Uint8Array, where: string): ReadCertificate {
  try {
    const x509 = new X509Certificate(der);
    const parts = readCertificateParts(x509.raw);
    return {
      x509,
      parts,
      facts: factsOf(x509, parts),
      uses: readUses(parts.extensions.get(Extension.extendedKeyUsage)),
      maySign: maySign(parts.extensions.get(Extension.keyUsage)),
    };
  } catch (error) {
    throw new CertificateError('tls-mangled', `${where} cannot be read: ${error instanceof Error ? error.message : String(error)}`, error);
  }
}

/** Returns data of the first certificate of a PEM text. @throws CertificateError `tls-mangled` or `tls-no-cert` with the location */
export function certificateFacts(pem: string, where: string): CertificateFacts {
  return readCertificates(pem, where)[0].facts;
}

function factsOf(x509: X509Certificate, parts: CertificateParts): CertificateFacts {
  const names = readAlternativeNames(parts.extensions.get(Extension.subjectAltName));
  const commonName = commonNameOf(parts.subject);
  const siteId = names.uri.map((uri) => /^urn:uuid:(.+)$/.exec(uri)?.[1]).find((id) => id !== undefined && isUuid(id));
  return {
    subject: onOneLine(x509.subject),
    ...(commonName === undefined ? {} : { commonName }),
    issuer: onOneLine(x509.issuer),
    serial: x509.serialNumber,
    notBefore: x509.validFromDate.getTime(),
    notAfter: x509.validToDate.getTime(),
    hosts: [...names.dns, ...names.ip],
    ...(siteId === undefined ? {} : { siteId }),
    isAuthority: x509.ca,
  };
}

/** Names are untrusted text. Node.js puts each part on its own line, and returns undefined for an empty name. */
function onOneLine(name: string | undefined): string {
  return printable((name ?? '').replaceAll('\n', ', '), 512);
}

/** keyCertSign is bit 5 from the left (RFC 5280 section 4.2.1.3). Without the extension every use is permitted. */
const maySign = (keyUsage: Buffer | undefined): boolean => keyUsage === undefined || ((keyUsage[3] ?? 0) & 0b0000_0100) !== 0;
