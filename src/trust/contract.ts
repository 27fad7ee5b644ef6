/** What this room knows certificates by; it knows no resources, and whoever calls it turns a problem into a status. */
import type { KeyObject, X509Certificate } from 'node:crypto';
import type { CertificatePurpose } from '../identity/certificate-purpose.ts';
import type { IssuedCertificate } from '../identity/issued.ts';

/** Milliseconds since 1970. Everything that asks the time takes one, so that a wrong clock can be tried. */
export type Clock = () => number;

export interface Authority {
  readonly name: string;
  readonly certificate: X509Certificate;
  readonly key: KeyObject;
  /** What goes behind a certificate in `tls.crt`: intermediates, none for a root. PEM. */
  readonly chain: string;
  /** What verifies its certificates: `ca.crt`. PEM. */
  readonly ca: string;
}

export interface CertificateOrder {
  /** The common name, 1 to 64 characters. */
  readonly subject: string;
  /** DNS names (a leading `*.` may stand) and IP addresses. */
  readonly hosts?: readonly string[];
  /** `urn:uuid:SITE-ID` of it goes into the certificate. */
  readonly siteId?: string;
  readonly client?: boolean;
  readonly server?: boolean;
  /** What it says that it is for. Left out: nothing, as of servers and authorities. */
  readonly purpose?: CertificatePurpose;
  /** An authority below this one. */
  readonly signing?: boolean;
  /** Default 30. Never beyond the authority's own end. */
  readonly days?: number;
}

/** A certificate just made, with what goes on record of it. */
export interface NewCertificate extends IssuedCertificate {
  /** Upper-case hex as `X509Certificate.serialNumber` gives it. */
  readonly serial: string;
  readonly notBefore: number;
  readonly notAfter: number;
}
