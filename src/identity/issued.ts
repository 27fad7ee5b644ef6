/** What one site gives another, and what it takes back. */

/** An answer to a certificate signing request, PEM. */
export interface IssuedCertificate {
  /** With its intermediates. */
  readonly cert: string;
  /** The authority that verifies the issuer's certificates. */
  readonly ca: string;
}

/** What is refused, whoever shows it. */
export interface Revocations {
  /** Sites' ids. */
  readonly sites: readonly string[];
  /** Serial numbers of certificates, upper-case hex as `X509Certificate.serialNumber` gives them. */
  readonly serials: readonly string[];
}
