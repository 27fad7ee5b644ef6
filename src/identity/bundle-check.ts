import { createPrivateKey, type KeyObject } from 'node:crypto';
import type { CodeOf, ErrorCode } from '../errors/catalogue.ts';
import { CertificateError } from '../x509/errors.ts';
import { readCertificates, type CertificateFacts, type ReadCertificate } from '../x509/facts.ts';
import { PemError, readPem } from '../x509/pem.ts';
import { Use, weaknessOf } from '../x509/parts.ts';
import type { TlsBundle } from './tls-bundle.ts';

/**
 * Checks whether a bundle can serve a purpose now. Returns all problems, so that a user can fix them in one go. Warnings are about content
 * that works here, but maybe not elsewhere.
 */
export function checkBundle(bundle: TlsBundle, purpose: Purpose, clock: () => number = Date.now): BundleCheck {
  const found: Found = { problems: [], warnings: [], now: clock() };
  const label = `bundle ${bundle.name}`;
  const leaf = purpose.kind === 'trust' ? undefined : checkOwn(bundle, purpose, label, found);
  checkTrusted(bundle, purpose, label, found);
  const [first, ...rest] = found.problems;
  if (first !== undefined) return { ok: false, problems: [first, ...rest] };
  return { ok: true, ...(leaf === undefined ? {} : { leaf: leaf.facts }), warnings: found.warnings };
}

export type Purpose = Dates &
  (
    | { readonly kind: 'server'; readonly clientCa?: boolean }
    | { readonly kind: 'client'; readonly serverCa?: boolean }
    /** Uses only `ca`. */
    | { readonly kind: 'trust' }
    /** Signs other certificates. */
    | { readonly kind: 'authority' }
  );

interface Dates {
  /**
   * Certificates whose dates are checked; all if omitted. The peer may know a newer intermediate or CA, and decides itself if a clock is
   * wrong.
   */
  readonly dates?: 'leaf' | 'none';
}

export type BundleCheck =
  | { readonly ok: true; readonly leaf?: CertificateFacts; readonly warnings: readonly TlsProblem[] }
  | { readonly ok: false; readonly problems: readonly [TlsProblem, ...TlsProblem[]] };

/** Used in statuses, log lines and metrics. */
export interface TlsProblem {
  readonly code: TlsCode;
  /** Problem, location and remedy. Never contains a key. */
  readonly message: string;
}

export type TlsCode = CodeOf<'tls'>;

/** Caused by a wrong clock or a late renewal. The bundle itself is fine. */
export const isAboutDates = (code: ErrorCode): boolean => code === 'tls-expired' || code === 'tls-not-yet-valid';

interface Found {
  readonly problems: TlsProblem[];
  readonly warnings: TlsProblem[];
  readonly now: number;
}

const wrong = (found: Found, code: TlsCode, message: string): void => {
  found.problems.push({ code, message });
};

function readChain(pem: string, where: string, found: Found): ReturnType<typeof readCertificates> | undefined {
  try {
    return readCertificates(pem, where);
  } catch (error) {
    if (!(error instanceof CertificateError)) throw error;
    wrong(found, error.code === 'tls-no-cert' ? error.code : 'tls-mangled', error.message);
    return undefined;
  }
}

function checkOwn(
  bundle: TlsBundle,
  purpose: Exclude<Purpose, { kind: 'trust' }>,
  label: string,
  found: Found,
): ReadCertificate | undefined {
  const { cert, key } = bundle;
  if (cert === undefined) {
    wrong(found, 'tls-no-cert', `${label} lacks tls.crt: put the certificate there (PEM, with its intermediates behind it)`);
  }
  if (key === undefined) wrong(found, 'tls-no-key', `${label} lacks tls.key: put the certificate's private key there (PEM, no passphrase)`);
  const chain = cert === undefined ? undefined : readChain(cert, `${label}: tls.crt`, found);
  const privateKey = key === undefined ? undefined : readKey(key, `${label}: tls.key`, found);
  if (chain === undefined) return undefined;
  const [leaf] = chain;
  for (const [index, certificate] of chain.entries()) {
    const where = locationOf(`${label}: tls.crt`, index);
    if (purpose.dates === undefined || (purpose.dates === 'leaf' && index === 0)) checkDates(certificate, where, found);
    checkStrength(certificate, where, found);
  }
  for (const [index, certificate] of chain.entries()) checkOrder(certificate, chain[index + 1], index, label, found);
  if (privateKey !== undefined && !leaf.x509.checkPrivateKey(privateKey)) {
    wrong(found, 'tls-key-mismatch', `${label}: tls.key is not the key of the first certificate in tls.crt: put a matching pair there`);
  }
  if (purpose.kind === 'authority') checkSigner(leaf, label, found);
  else checkUse(leaf, purpose.kind, label, found);
  return leaf;
}

const locationOf = (file: string, index: number): string => (index === 0 ? file : `${file}: certificate ${index + 1}`);

/** Messages never quote the key. */
function readKey(pem: string, where: string, found: Found): KeyObject | undefined {
  const mangled = (why: string): undefined => void wrong(found, 'tls-mangled', `${where} ${why}`);
  let label: string | undefined;
  try {
    label = readPem(pem).find((block) => block.label.endsWith('PRIVATE KEY'))?.label;
  } catch (error) {
    if (error instanceof PemError) return mangled(`is not PEM: ${error.message}`);
    throw error;
  }
  if (label === undefined) {
    wrong(found, 'tls-no-key', `${where} contains no private key: it has no line "-----BEGIN PRIVATE KEY-----"`);
    return undefined;
  }
  if (label.startsWith('ENCRYPTED') || /^Proc-Type:.*ENCRYPTED/m.test(pem)) {
    return mangled('is protected by a passphrase: remove it with "openssl pkey -in tls.key -out plain.key"');
  }
  try {
    return createPrivateKey(pem);
  } catch {
    return mangled(`cannot be read: the ${label} in it is damaged`);
  }
}

function checkDates(certificate: ReadCertificate, where: string, found: Found): void {
  const { notBefore, notAfter } = certificate.facts;
  if (found.now > notAfter) {
    wrong(
      found,
      'tls-expired',
      `${where} expired at ${iso(notAfter)}, and the clock here is at ${iso(found.now)}: renew it, or set the clock`,
    );
  }
  if (found.now < notBefore) {
    wrong(
      found,
      'tls-not-yet-valid',
      `${where} is valid from ${iso(notBefore)} by the clock of its issuer, and the clock here is at ${iso(found.now)}: correct the wrong clock`,
    );
  }
}

function checkStrength(certificate: ReadCertificate, where: string, found: Found): void {
  const weakness = weaknessOf(certificate.x509.publicKey);
  if (weakness !== undefined) wrong(found, 'tls-weak', `${where} has ${weakness}: create a new key and certificate`);
  const hash = weakSignatures.get(certificate.parts.signatureAlgorithm);
  // The signature of a root is not relied on.
  const isRoot = certificate.x509.checkIssued(certificate.x509);
  if (hash !== undefined && !isRoot) {
    wrong(found, 'tls-weak', `${where} is signed with ${hash}: issue it again with SHA-256 or better`);
  }
}

const iso = (milliseconds: number): string => new Date(milliseconds).toISOString();

const weakSignatures = new Map([
  ['1.2.840.113549.1.1.2', 'MD2'],
  ['1.2.840.113549.1.1.4', 'MD5'],
  ['1.2.840.113549.1.1.5', 'SHA-1'],
  ['1.3.14.3.2.29', 'SHA-1'],
  ['1.2.840.10040.4.3', 'SHA-1'],
  ['1.2.840.10045.4.1', 'SHA-1'],
]);

function checkOrder(certificate: ReadCertificate, next: ReadCertificate | undefined, index: number, label: string, found: Found): void {
  if (next === undefined || certificate.x509.checkIssued(next.x509)) return;
  found.warnings.push({
    code: 'tls-foreign-ca',
    message: `${label}: tls.crt: certificate ${index + 2} is not the issuer of certificate ${index + 1}: put the issuer of each certificate behind it`,
  });
}

function checkSigner(leaf: ReadCertificate, label: string, found: Found): void {
  if (leaf.facts.isAuthority && leaf.maySign) return;
  wrong(
    found,
    'tls-not-a-ca',
    `${label}: tls.crt is not a certificate authority (basicConstraints CA:TRUE and keyUsage keyCertSign): put an authority's ` +
      'certificate and key there',
  );
}

function checkUse(leaf: ReadCertificate, kind: 'server' | 'client', label: string, found: Found): void {
  if (leaf.uses === undefined || leaf.uses.includes(Use[kind]) || leaf.uses.includes(Use.any)) return;
  wrong(
    found,
    'tls-wrong-purpose',
    `${label}: tls.crt is not for a TLS ${kind}: its extendedKeyUsage lacks ${kind}Auth; issue it for that use`,
  );
}

function checkTrusted(bundle: TlsBundle, purpose: Purpose, label: string, found: Found): void {
  const isNeeded =
    purpose.kind === 'trust' ||
    (purpose.kind === 'server' && purpose.clientCa === true) ||
    (purpose.kind === 'client' && purpose.serverCa === true);
  const { ca } = bundle;
  if (ca === undefined) {
    if (isNeeded) {
      wrong(found, 'tls-no-ca', `${label} lacks ca.crt: put the certificate of the other side's authority there`);
    }
    return;
  }
  const authorities = readChain(ca, `${label}: ca.crt`, found);
  if (authorities === undefined) return;
  const each = authorities.map((certificate, index) => {
    const one: Found = { problems: [], warnings: [], now: found.now };
    const where = locationOf(`${label}: ca.crt`, index);
    if (purpose.dates === undefined) checkDates(certificate, where, one);
    checkStrength(certificate, where, one);
    checkTrustedOne(certificate, where, one);
    return one;
  });
  // One valid CA is enough: during a change of CA the old and the new one are both present.
  const works = each.some(({ problems }) => problems.length === 0);
  for (const { problems, warnings } of each) {
    (works ? found.warnings : found.problems).push(...problems);
    found.warnings.push(...warnings);
  }
}

/** OpenSSL accepts a server's self-signed certificate as its own CA. Any other certificate must be a CA. */
function checkTrustedOne(certificate: ReadCertificate, where: string, found: Found): void {
  const isOwn = certificate.x509.checkIssued(certificate.x509);
  if ((certificate.facts.isAuthority && certificate.maySign) || (isOwn && !certificate.facts.isAuthority)) return;
  wrong(found, 'tls-not-a-ca', `${where} is not a certificate authority: put the issuer's certificate there, not the server's`);
}
