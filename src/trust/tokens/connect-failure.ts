import { TrustError } from '../errors.ts';

/** Validity of the certificate that a server presented. */
export interface Validity {
  readonly from: Date;
  readonly to: Date;
}

/** Whether the error is about dates, so that the server's certificate gives the details. */
export function isAboutTime(error: unknown): boolean {
  const code = codeOf(error);
  return code === 'CERT_NOT_YET_VALID' || code === 'CERT_HAS_EXPIRED';
}

/**
 * Explains to the person who redeems a token why there was no response from its URL.
 * @param shown validity of the server's certificate, if the error is about dates
 */
export function connectFailure(error: unknown, url: URL, now: number, shown?: Validity): TrustError {
  const code = codeOf(error);
  const where = url.host;
  if (foreign.has(code)) {
    return new TrustError(
      'token-wrong-ca',
      `${where} presents a certificate that the authority in the token (spec.ca) did not issue: another server answers there, or the site has a new authority. Ask for a new token`,
      error,
    );
  }
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') {
    return new TrustError(
      'token-wrong-host',
      `${where} presents a certificate of the right authority, but not for ${url.hostname}: add that name to the access of the other site, or use a token with the right url`,
      error,
    );
  }
  if (code === 'CERT_NOT_YET_VALID' || code === 'CERT_HAS_EXPIRED') {
    const what = code === 'CERT_NOT_YET_VALID' ? 'is not valid yet' : 'has expired';
    const dates = shown === undefined ? '' : ` (it is valid from ${shown.from.toISOString()} to ${shown.to.toISOString()})`;
    return new TrustError(
      'clock-wrong',
      `the certificate of ${where}${dates} ${what} by the clock of this machine, ${new Date(now).toISOString()}: ` +
        'compare the clocks of both machines and correct the wrong one. ' +
        'If both are right, restart the other site',
      error,
    );
  }
  if (code.startsWith('ERR_SSL') || code === 'EPROTO') {
    return new TrustError(
      'server-failed',
      `${where} does not support TLS 1.3, so it is not a grant server (${code}): check that the url belongs to an Earshot site`,
      error,
    );
  }
  return new TrustError(
    'unreachable',
    `${where} is unreachable: ${reasons.get(code) ?? code}. Check that the other site runs, and that this machine can connect to it`,
    error,
  );
}

function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown error';
  // All addresses failed. Report the failure of the first one.
  if (error instanceof AggregateError && error.errors.length > 0) return codeOf(error.errors[0]);
  if (
    error.name === 'TimeoutError' ||
    (error.name === 'AbortError' && error.cause instanceof Error && error.cause.name === 'TimeoutError')
  ) {
    return 'TIMEOUT';
  }
  return 'code' in error && typeof error.code === 'string' ? error.code : error.name;
}

/** OpenSSL errors of a chain that does not end in the expected authority (X509_verify_cert_error_string). */
const foreign = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'CERT_SIGNATURE_FAILURE',
  'CERT_UNTRUSTED',
  'INVALID_CA',
]);

const reasons = new Map([
  ['ECONNREFUSED', 'connection refused: nothing is listening on that port'],
  ['ENOTFOUND', 'the name is unknown to DNS'],
  ['EAI_AGAIN', 'DNS does not answer'],
  ['ETIMEDOUT', 'no answer in time'],
  ['TIMEOUT', 'no answer in time: a firewall may drop the packets'],
  ['EHOSTUNREACH', 'there is no route to that address'],
  ['ENETUNREACH', 'there is no route to that network'],
  ['ECONNRESET', 'the connection was closed'],
]);
