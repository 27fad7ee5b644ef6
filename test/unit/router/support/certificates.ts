import 'reflect-metadata';
import { createPrivateKey, webcrypto } from 'node:crypto';
import { isIP } from 'node:net';
import {
  BasicConstraintsExtension,
  ExtendedKeyUsageExtension,
  KeyUsageFlags,
  KeyUsagesExtension,
  SubjectAlternativeNameExtension,
  X509CertificateGenerator,
  type JsonGeneralName,
} from '@peculiar/x509';
import type { TlsBundle } from '../../../../src/router/contract.ts';

export interface TestAuthority {
  /** PEM. */
  readonly ca: string;
  /** A bundle with a certificate of this authority, for client and server. */
  issue(options?: IssueOptions): Promise<TlsBundle>;
}

export interface IssueOptions {
  readonly hosts?: readonly string[];
  readonly siteId?: string;
  readonly from?: Date;
  readonly to?: Date;
  readonly uses?: readonly ('client' | 'server')[];
  /** An RSA key of 1024 bits, which is obsolete. */
  readonly weak?: boolean;
  /** Authority that the other side is checked against, if not this one. */
  readonly ca?: string;
}

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;
const USES = { client: '1.3.6.1.5.5.7.3.2', server: '1.3.6.1.5.5.7.3.1' } as const;
const HOUR = 3_600_000;

/** A certificate authority, created on each call, so that the repository holds no key. */
export async function testAuthority(name = 'test authority'): Promise<TestAuthority> {
  const keys = await newKeys();
  const certificate = await X509CertificateGenerator.createSelfSigned(
    {
      name: `CN=${name}`,
      notBefore: new Date(Date.now() - HOUR),
      notAfter: new Date(Date.now() + 24 * HOUR),
      signingAlgorithm: ALGORITHM,
      keys,
      extensions: [
        new BasicConstraintsExtension(true, undefined, true),
        new KeyUsagesExtension(KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign, true),
      ],
    },
    webcrypto as Crypto,
  );
  const ca = certificate.toString('pem');
  let issued = 0;
  return {
    ca,
    issue: async (options = {}) => {
      const own = options.weak === true ? await weakKeys() : await newKeys();
      issued += 1;
      const { hosts = ['127.0.0.1', 'localhost'], siteId, uses = ['client', 'server'] } = options;
      const names: JsonGeneralName[] = hosts.map((host) => ({ type: isIP(host) === 0 ? 'dns' : 'ip', value: host }));
      if (siteId !== undefined) names.push({ type: 'url', value: `urn:uuid:${siteId}` });
      const leaf = await X509CertificateGenerator.create(
        {
          serialNumber: `4${issued.toString(16).padStart(15, '0')}`,
          issuer: certificate.subject,
          subject: `CN=${name} ${issued}`,
          notBefore: options.from ?? new Date(Date.now() - HOUR),
          notAfter: options.to ?? new Date(Date.now() + HOUR),
          signingAlgorithm: ALGORITHM,
          publicKey: own.publicKey,
          signingKey: keys.privateKey,
          extensions: [new ExtendedKeyUsageExtension(uses.map((use) => USES[use])), new SubjectAlternativeNameExtension(names)],
        },
        webcrypto as Crypto,
      );
      return { name: `bundle-${issued}`, cert: leaf.toString('pem'), key: await privatePem(own), ca: options.ca ?? ca };
    },
  };
}

function newKeys(): Promise<webcrypto.CryptoKeyPair> {
  return webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']) as Promise<webcrypto.CryptoKeyPair>;
}

function weakKeys(): Promise<webcrypto.CryptoKeyPair> {
  const algorithm = { name: 'RSASSA-PKCS1-v1_5', modulusLength: 1024, publicExponent: new Uint8Array([1, 0, 1]), hash: 'SHA-256' };
  return webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
}

async function privatePem(keys: webcrypto.CryptoKeyPair): Promise<string> {
  const der = Buffer.from(await webcrypto.subtle.exportKey('pkcs8', keys.privateKey));
  return createPrivateKey({ key: der, format: 'der', type: 'pkcs8' }).export({ type: 'pkcs8', format: 'pem' }).toString();
}
