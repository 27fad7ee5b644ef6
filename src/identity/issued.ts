/** Certificates that one site issues for another, and revocations. */
import { EarshotError } from '../errors/earshot-error.ts';

/** Response to a certificate signing request, PEM. */
export interface IssuedCertificate {
  /** Certificate with its intermediates. */
  readonly cert: string;
  /** CA that verifies the issuer's certificates. */
  readonly ca: string;
}

/** The certificate is not renewed now. A later request may succeed. */
export class EarlyRenewalError extends EarshotError<'renew-early'> {
  /** Milliseconds until the next request. */
  readonly retryAfter: number;

  constructor(message: string, retryAfter: number) {
    super('renew-early', message);
    this.retryAfter = retryAfter;
  }
}

/** Revoked sites and certificates. */
export interface Revocations {
  /** Site IDs. */
  readonly sites: readonly string[];
  /** Serial numbers of certificates, upper-case hex, in the form of `X509Certificate.serialNumber`. */
  readonly serials: readonly string[];
}
