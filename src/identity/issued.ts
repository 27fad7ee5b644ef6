/** What one site gives another, and what it takes back. */
import { EarshotError } from '../errors/earshot-error.ts';

/** An answer to a certificate signing request, PEM. */
export interface IssuedCertificate {
  /** With its intermediates. */
  readonly cert: string;
  /** The authority that verifies the issuer's certificates. */
  readonly ca: string;
}

/** A certificate is not renewed now, and will be later. */
export class EarlyRenewalError extends EarshotError<'renew-early'> {
  /** Milliseconds. */
  readonly retryAfter: number;

  constructor(message: string, retryAfter: number) {
    super('renew-early', message);
    this.retryAfter = retryAfter;
  }
}

/** What is refused, whoever shows it. */
export interface Revocations {
  /** Sites' ids. */
  readonly sites: readonly string[];
  /** Serial numbers of certificates, upper-case hex as `X509Certificate.serialNumber` gives them. */
  readonly serials: readonly string[];
}
