import type { ErrorCode } from '../errors/catalogue.ts';
import { EarshotError } from '../errors/earshot-error.ts';

/** A certificate, a key or a request that cannot be read, made or taken. */
export class CertificateError extends EarshotError<CertificateCode> {}

export type CertificateCode = Extract<ErrorCode, 'tls-no-cert' | 'tls-mangled' | 'tls-weak' | 'request-malformed' | 'bad-argument'>;
