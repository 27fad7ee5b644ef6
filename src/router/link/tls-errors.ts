/** Converts errors of OpenSSL and the system to messages for a status. */
import type { X509Certificate } from 'node:crypto';
import type { TLSSocket } from 'node:tls';
import { LinkError, type LinkCode } from './link-errors.ts';
import { printableAscii } from '../../text/printable.ts';
import { EndlessTlsError } from '../../net/key-updates.ts';

/** A certificate that failed verification. */
export interface RejectedCertificate {
  /** Code from Node.js: an X509 error such as `CERT_HAS_EXPIRED`, or one about the host name. */
  readonly code: string;
  /** Certificate that the peer presented. */
  readonly certificate: X509Certificate | undefined;
  /** Owner of the certificate, for the message: `the peer at west.example:55671`. */
  readonly peer: string;
  readonly now: number;
}

/** Error for a peer's certificate that failed verification here. */
export function certificateError(rejected: RejectedCertificate): LinkError {
  const { certificate, peer, now } = rejected;
  const code = codeOfVerification(rejected.code);
  const clock = new Date(now).toISOString();
  switch (code) {
    case 'tls-expired':
      return expiredError(peer, certificate?.validToDate, now);
    case 'tls-not-yet-valid':
      return new LinkError(
        code,
        `The certificate of ${peer} is valid from ${certificate?.validFromDate.toISOString() ?? 'an unknown time'}, ` +
          `by the clock of its issuer; the clock here is at ${clock}. Correct the wrong clock.`,
      );
    case 'tls-foreign-ca':
      return new LinkError(
        code,
        `The certificate of ${peer} was issued by ${issuerOf(certificate)}, not by the authority in ca.crt. Get a new token from that site.`,
      );
    case 'tls-host-mismatch':
      return new LinkError(
        code,
        `The certificate of ${peer} is for ${printableAscii(certificate?.subjectAltName ?? 'no host')}, not for that host. ` +
          `Link to one of these hosts, or add this host to the access there.`,
      );
    case 'tls-weak':
      return new LinkError(code, `The certificate of ${peer} is weak (${rejected.code}). Issue a new one there.`);
    case 'tls-wrong-purpose':
      return new LinkError(code, `The certificate of ${peer} is not for this use (${rejected.code}). Issue a new one there.`);
    default:
      return new LinkError(code, `The certificate of ${peer} was not accepted: ${printableAscii(rejected.code)}.`);
  }
}

/** Error for a peer's certificate that has expired. */
export function expiredError(peer: string, end: Date | undefined, now: number): LinkError {
  return new LinkError(
    'tls-expired',
    `The certificate of ${peer} expired at ${end?.toISOString() ?? 'an unknown time'}; ` +
      `the clock here is at ${new Date(now).toISOString()}. Renew it there, or set the clock here.`,
  );
}

/** Error for a connection that failed before both ends had accepted it. */
export function connectError(error: unknown, peer: string): LinkError {
  if (error instanceof LinkError) return error;
  if (error instanceof EndlessTlsError) {
    return new LinkError('protocol', `${peer} ${error.what} without end.`, error);
  }
  const code = codeOf(error);
  const said = error instanceof Error ? printableAscii(error.message) : '';
  switch (code) {
    case 'ECONNREFUSED':
      return new LinkError(
        'refused',
        `Connection refused: nothing is listening at ${peer}. Is the site there running, and is this its port?`,
        error,
      );
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
    case 'EAI_NODATA':
    case 'EAI_NONAME':
      return new LinkError('name-unknown', `The host name of ${peer} cannot be resolved (${code}).`, error);
    case 'EHOSTUNREACH':
    case 'ENETUNREACH':
    case 'EADDRNOTAVAIL':
      return new LinkError('unreachable', `Unreachable: there is no route to ${peer} (${code}).`, error);
    case 'ETIMEDOUT':
      return new LinkError('timeout', `No answer from ${peer}. Does a firewall drop packets?`, error);
    case 'ECONNRESET':
    case 'EPIPE':
      return new LinkError('lost', `The connection to ${peer} broke (${code}).`, error);
    default:
      return alertError(code, peer, error) ?? new LinkError('tls-failed', `No TLS with ${peer}: ${said === '' ? code : said}.`, error);
  }
}

/** Sites that a certificate names as `URI:urn:uuid:…` in its subject alternative names. */
export function sitesOf(subjectAltName: string): readonly string[] {
  return [...subjectAltName.matchAll(/(?:^|, )URI:urn:uuid:([0-9a-f-]{36})(?=,|$)/gi)].map(([, id = '']) => id.toLowerCase());
}

function codeOfVerification(code: string): LinkCode {
  switch (code) {
    case 'CERT_HAS_EXPIRED':
      return 'tls-expired';
    case 'CERT_NOT_YET_VALID':
      return 'tls-not-yet-valid';
    case 'ERR_TLS_CERT_ALTNAME_INVALID':
    case 'ERR_TLS_CERT_ALTNAME_FORMAT':
    case 'HOSTNAME_MISMATCH':
      return 'tls-host-mismatch';
    case 'INVALID_PURPOSE':
      return 'tls-wrong-purpose';
    case 'CA_MD_TOO_WEAK':
    case 'CA_KEY_TOO_SMALL':
    case 'EE_KEY_TOO_SMALL':
      return 'tls-weak';
    case 'SELF_SIGNED_CERT_IN_CHAIN':
    case 'DEPTH_ZERO_SELF_SIGNED_CERT':
    case 'UNABLE_TO_VERIFY_LEAF_SIGNATURE':
    case 'UNABLE_TO_GET_ISSUER_CERT':
    case 'UNABLE_TO_GET_ISSUER_CERT_LOCALLY':
    case 'CERT_SIGNATURE_FAILURE':
    case 'INVALID_CA':
    case 'CERT_UNTRUSTED':
      return 'tls-foreign-ca';
    default:
      return 'tls-failed';
  }
}

/** Converts alerts of RFC 8446 section 6.2, as OpenSSL names them. */
function alertError(code: string, peer: string, error: unknown): LinkError | undefined {
  if (/ALERT_NO_APPLICATION_PROTOCOL|NO_APPLICATION_PROTOCOL/.test(code)) {
    return new LinkError('not-earshot', `The peer at ${peer} speaks TLS, but not the link protocol. Is this the right port?`, error);
  }
  if (/WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG|HTTP_REQUEST|UNEXPECTED_MESSAGE|RECORD_LAYER_FAILURE/.test(code) || code === 'EPROTO') {
    return new LinkError('not-earshot', `The peer at ${peer} does not speak TLS. Is this the right port?`, error);
  }
  if (/UNSUPPORTED_PROTOCOL|ALERT_PROTOCOL_VERSION/.test(code)) {
    return new LinkError('tls-weak', `${peer} does not speak TLS 1.3, which links need.`, error);
  }
  if (/ALERT_CERTIFICATE_EXPIRED/.test(code)) {
    return new LinkError(
      'tls-expired',
      `${peer} reports that our certificate has expired. Renew it, or check the clocks of both sides.`,
      error,
    );
  }
  if (/ALERT_UNKNOWN_CA|ALERT_BAD_CERTIFICATE|ALERT_CERTIFICATE_UNKNOWN/.test(code)) {
    return new LinkError(
      'tls-foreign-ca',
      `The authority of ${peer} did not issue our certificate. Get a new token from that site.`,
      error,
    );
  }
  return undefined;
}

function issuerOf(certificate: X509Certificate | undefined): string {
  if (certificate === undefined) return 'an unknown authority';
  // Typed as string, but undefined if the name is empty. Any peer can present such a certificate.
  const name: string | undefined = certificate.issuer;
  return name === undefined ? 'an authority without a name' : `"${printableAscii(name.replaceAll('\n', ', '))}"`;
}

export const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : 'unknown';

/** Typed as an error, but a code string if OpenSSL found the fault. */
export function authorizationCode(socket: TLSSocket): string {
  const found: unknown = socket.authorizationError;
  return typeof found === 'string' ? found : codeOf(found);
}
