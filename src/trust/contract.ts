/** Types of certificates in the trust module. The module does not know resources: its callers turn problems into statuses. */
import type { KeyObject, X509Certificate } from 'node:crypto';
import type { CertificatePurpose } from '../identity/certificate-purpose.ts';
import type { IssuedCertificate } from '../identity/issued.ts';

/** Returns milliseconds since 1970. Code that needs the time takes a clock as parameter, so that tests can simulate a wrong clock. */
export type Clock = () => number;

export interface Authority {
  readonly name: string;
  readonly certificate: X509Certificate;
  readonly key: KeyObject;
  /** PEM of the intermediates that follow a certificate in `tls.crt`; empty for a root. */
  readonly chain: string;
  /** PEM that verifies its certificates: the content of `ca.crt`. */
  readonly ca: string;
}

export interface CertificateOrder {
  /** Common name, 1 to 64 characters. */
  readonly subject: string;
  /** DNS names (with an optional leading `*.`) and IP addresses. */
  readonly hosts?: readonly string[];
  /** Site ID, which the certificate contains as `urn:uuid:SITE-ID`. */
  readonly siteId?: string;
  readonly client?: boolean;
  readonly server?: boolean;
  /** Purpose mark in the certificate. Certificates of servers and authorities have none. */
  readonly purpose?: CertificatePurpose;
  /** Whether to issue a subordinate authority. */
  readonly signing?: boolean;
  /** Lifetime in days (default: 30). The certificate never outlives the authority. */
  readonly days?: number;
}

/** New certificate, with the data for the ledger. */
export interface NewCertificate extends IssuedCertificate {
  /** Upper-case hex, in the form of `X509Certificate.serialNumber`. */
  readonly serial: string;
  readonly notBefore: number;
  readonly notAfter: number;
}
