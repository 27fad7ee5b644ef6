/** Certificates as another controller of sites makes them: RSA keys in PKCS#1, both extended key uses, five years, no mark of a purpose. */
import 'reflect-metadata';
import { KeyObject, webcrypto } from 'node:crypto';
import { isIP } from 'node:net';
import {
  AuthorityKeyIdentifierExtension,
  BasicConstraintsExtension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  KeyUsageFlags,
  KeyUsagesExtension,
  SubjectAlternativeNameExtension,
  SubjectKeyIdentifierExtension,
  X509CertificateGenerator,
  type X509Certificate,
} from '@peculiar/x509';

const RSA = { name: 'RSASSA-PKCS1-v1_5', modulusLength: 2048, publicExponent: new Uint8Array([1, 0, 1]), hash: 'SHA-256' } as const;
const YEAR = 365 * 86_400_000;

export interface RsaAuthority {
  readonly certificate: X509Certificate;
  readonly keys: CryptoKeyPair;
}

/** `data` of a Secret of the type kubernetes.io/tls. */
export type TlsData = Readonly<Record<'tls.crt' | 'tls.key' | 'ca.crt', string>>;

type CryptoKeyPair = webcrypto.CryptoKeyPair;

export async function rsaAuthority(subject: string): Promise<RsaAuthority> {
  const keys = await newKeys();
  const certificate = await X509CertificateGenerator.createSelfSigned({
    ...lifetime(),
    name: [{ CN: [subject] }],
    keys,
    signingAlgorithm: RSA,
    extensions: [
      new BasicConstraintsExtension(true, undefined, true),
      new KeyUsagesExtension(KeyUsageFlags.digitalSignature | KeyUsageFlags.keyEncipherment | KeyUsageFlags.keyCertSign, true),
      bothUses(),
      namesOf([]),
      await SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  return { certificate, keys };
}

export function authorityData({ certificate, keys }: RsaAuthority): TlsData {
  return dataOf(certificate, keys, certificate);
}

export async function rsaCertificate(authority: RsaAuthority, subject: string, hosts: readonly string[], age = 0): Promise<TlsData> {
  const keys = await newKeys();
  const certificate = await X509CertificateGenerator.create({
    ...lifetime(age),
    subject: [{ CN: [subject] }],
    issuer: authority.certificate.subject,
    publicKey: keys.publicKey,
    signingKey: authority.keys.privateKey,
    signingAlgorithm: RSA,
    extensions: [
      new BasicConstraintsExtension(false, undefined, true),
      new KeyUsagesExtension(KeyUsageFlags.digitalSignature | KeyUsageFlags.keyEncipherment, true),
      bothUses(),
      await AuthorityKeyIdentifierExtension.create(authority.keys.publicKey),
      namesOf(hosts),
    ],
  });
  return dataOf(certificate, keys, authority.certificate);
}

const newKeys = (): Promise<CryptoKeyPair> => webcrypto.subtle.generateKey(RSA, true, ['sign', 'verify']) as Promise<CryptoKeyPair>;

/** @param age years that have passed of it */
function lifetime(age = 0): { readonly notBefore: Date; readonly notAfter: Date } {
  const from = Date.now() - age * YEAR;
  return { notBefore: new Date(from), notAfter: new Date(from + 5 * YEAR) };
}

function bothUses(): ExtendedKeyUsageExtension {
  return new ExtendedKeyUsageExtension([ExtendedKeyUsage.clientAuth, ExtendedKeyUsage.serverAuth]);
}

/** An empty extension without hosts. */
function namesOf(hosts: readonly string[]): SubjectAlternativeNameExtension {
  const names = hosts.length === 0 ? [''] : hosts;
  const addresses = names.filter((name) => isIP(name) !== 0).map((value) => ({ type: 'ip' as const, value }));
  return new SubjectAlternativeNameExtension([...names.map((value) => ({ type: 'dns' as const, value })), ...addresses]);
}

function dataOf(certificate: X509Certificate, { privateKey }: CryptoKeyPair, ca: X509Certificate): TlsData {
  const encoded = (text: string): string => Buffer.from(text).toString('base64');
  return {
    'tls.crt': encoded(certificate.toString('pem')),
    'tls.key': encoded(KeyObject.from(privateKey).export({ type: 'pkcs1', format: 'pem' }).toString()),
    'ca.crt': encoded(ca.toString('pem')),
  };
}
