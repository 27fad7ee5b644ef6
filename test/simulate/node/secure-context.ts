/** Certificates that a TLS end shows and trusts. */
import { constants, type X509Certificate as RealCertificate } from 'node:crypto';
import { wallClock } from '../current.ts';
import { certificateIn } from './crypto.ts';

export interface SecureContextOptions {
  readonly cert?: string | undefined;
  readonly key?: string | undefined;
  readonly ca?: string | undefined;
  readonly secureOptions?: number;
}

const USES = { client: '1.3.6.1.5.5.7.3.2', server: '1.3.6.1.5.5.7.3.1' } as const;

export class SecureContext {
  readonly certificate: RealCertificate | undefined;
  /** It lets peers in again that it has let in, without a look at their certificates. */
  readonly resumes: boolean;
  readonly #ca: RealCertificate | undefined;

  constructor({ cert, ca, secureOptions = 0 }: SecureContextOptions) {
    this.certificate = cert === undefined ? undefined : certificateIn(cert);
    this.#ca = ca === undefined ? undefined : certificateIn(ca);
    this.resumes = (secureOptions & constants.SSL_OP_NO_TICKET) === 0;
  }

  /** OpenSSL's code for what is wrong with a peer; undefined where nothing is. */
  verify(peer: SecureContext | undefined, use: keyof typeof USES): string | undefined {
    const certificate = peer?.certificate;
    if (certificate === undefined) return 'UNABLE_TO_GET_ISSUER_CERT';
    if (this.#ca === undefined || !certificate.checkIssued(this.#ca) || !certificate.verify(this.#ca.publicKey))
      return 'UNABLE_TO_VERIFY_LEAF_SIGNATURE';
    const now = wallClock();
    if (certificate.validToDate.getTime() < now) return 'CERT_HAS_EXPIRED';
    if (certificate.validFromDate.getTime() > now) return 'CERT_NOT_YET_VALID';
    return certificate.keyUsage.includes(USES[use]) ? undefined : 'INVALID_PURPOSE';
  }
}

export function createSecureContext(options: SecureContextOptions): SecureContext {
  return new SecureContext(options);
}
