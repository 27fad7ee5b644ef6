import type { ErrorCode } from '../errors/catalogue.ts';
import { EarshotError } from '../errors/earshot-error.ts';

/** Failure to parse, create or accept a certificate, a key or a request. */
export class CertificateError extends EarshotError<CertificateCode> {}

export type CertificateCode = Extract<ErrorCode, 'tls-no-cert' | 'tls-mangled' | 'tls-weak' | 'request-malformed' | 'bad-argument'>;
