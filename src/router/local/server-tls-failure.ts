import { hostPort, type HostPort } from '../../text/host-port.ts';
import { printableAscii } from '../../text/printable.ts';
import { failure, type ServerFailure } from './failure.ts';

const BUNDLE = 'the bundle that tlsCredentials names';

/** Problem of a server's certificate and its remedy, by the error code of Node.js (X509_V_ERR_…). */
const certificateFaults: Readonly<Record<string, readonly [what: string, remedy: string]>> = {
  DEPTH_ZERO_SELF_SIGNED_CERT: ['is self-signed, and ca.crt does not contain it', `Put it into ca.crt of ${BUNDLE}.`],
  SELF_SIGNED_CERT_IN_CHAIN: ['comes from an authority that ca.crt does not contain', `Put that authority into ca.crt of ${BUNDLE}.`],
  UNABLE_TO_GET_ISSUER_CERT: ['comes from an authority that ca.crt does not contain', `Put that authority into ca.crt of ${BUNDLE}.`],
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: [
    'comes from an authority that ca.crt does not contain',
    `Put that authority into ca.crt of ${BUNDLE}.`,
  ],
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: [
    'comes from an authority that ca.crt does not contain, or the server does not send its intermediates',
    `Put that authority into ca.crt of ${BUNDLE}, or complete the server's chain.`,
  ],
  CERT_SIGNATURE_FAILURE: ['is not signed by the authority that it names', 'Install a certificate of that authority at the server.'],
  CERT_UNTRUSTED: ['comes from an authority that is not trusted for this use', `Put another authority into ca.crt of ${BUNDLE}.`],
  CERT_REJECTED: ['comes from an authority that rejects this use', 'Issue a certificate for servers.'],
  INVALID_CA: ['comes from a certificate that is not a CA certificate', `Put the CA certificate into ca.crt of ${BUNDLE}.`],
  INVALID_PURPOSE: ['is not for servers', 'Issue a certificate for server authentication.'],
  PATH_LENGTH_EXCEEDED: ['comes from an authority that its own authority does not permit', 'Issue it by another authority.'],
  CERT_CHAIN_TOO_LONG: ['has too long a chain', 'Issue it with a shorter chain.'],
  CERT_HAS_EXPIRED: ['has expired', 'Renew it at the server, or set the clock of this machine.'],
  CERT_NOT_YET_VALID: ['is not valid yet', 'Correct the wrong clock, here or at the authority.'],
  CERT_REVOKED: ['has been revoked by its authority', 'Issue a new one.'],
  CA_MD_TOO_WEAK: ['is signed with a weak algorithm', 'Issue a new one.'],
  CA_KEY_TOO_SMALL: ['comes from an authority with a short key', 'Issue a new one by another authority.'],
  EE_KEY_TOO_SMALL: ['has a short key', 'Issue a new one.'],
  HOSTNAME_MISMATCH: ['is not for this host', 'Use a host name of the certificate, or set verifyHostname to false.'],
};

/** Handshake failures that the other end or OpenSSL reports, by error code. */
const handshakeFaults: readonly (readonly [pattern: RegExp, words: string])[] = [
  [
    /WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG|HTTP_REQUEST|UNEXPECTED_MESSAGE|RECORD_LAYER_FAILURE/,
    'it does not speak TLS. Correct the port, or remove tlsCredentials',
  ],
  [/UNSUPPORTED_PROTOCOL|ALERT_PROTOCOL_VERSION/, 'it does not speak TLS 1.2 or later. Update the server'],
  [/ALERT_CERTIFICATE_REQUIRED/, 'it requires a client certificate. Set useClientCert, and put tls.crt and tls.key into the bundle'],
  [
    /ALERT_(UNKNOWN_CA|BAD_CERTIFICATE|CERTIFICATE_UNKNOWN|CERTIFICATE_EXPIRED|CERTIFICATE_REVOKED|UNSUPPORTED_CERTIFICATE)/,
    'it does not accept the client certificate. Put a certificate of an authority that the server trusts into the bundle',
  ],
  [/ALERT_UNRECOGNIZED_NAME/, 'it has no certificate for this host. Use a host name of its certificate'],
  [/NO_SHARED_CIPHER|ALERT_HANDSHAKE_FAILURE/, 'it has no cipher in common with this router. Enable current ciphers at the server'],
  [/ECONNRESET|EPIPE/, 'it closed the connection during the handshake. Does it speak TLS on this port?'],
];

/** Uses its own messages: those of Node.js advise the author of a program, and are wrong for a connector. */
export function tlsFailureOf(error: NodeJS.ErrnoException, server: HostPort): ServerFailure {
  const code = error.code ?? '';
  const at = hostPort(server);
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') {
    const advice = 'Use a host name of the certificate, or set verifyHostname to false.';
    return failure('tls-certificate', `The certificate of ${at} is for ${namesIn(error)}, not for ${server.host}. ${advice}`);
  }
  const fault = Object.hasOwn(certificateFaults, code) ? certificateFaults[code] : undefined;
  if (fault !== undefined) return failure('tls-certificate', `The certificate of ${at} ${fault[0]}. ${fault[1]}`);
  const [, words] = handshakeFaults.find(([pattern]) => pattern.test(code)) ?? [];
  if (words !== undefined) return failure('tls-failed', `TLS with ${at} failed: ${words}${words.endsWith('?') ? '' : '.'}`);
  if (isOfCertificate(code)) return failure('tls-certificate', `The certificate of ${at} was not accepted (${printableAscii(code, 80)}).`);
  const cause = code === '' ? (error.message.split('\n', 1)[0] ?? '') : code;
  return failure('tls-failed', `TLS with ${at} failed: ${printableAscii(cause, 200)}.`);
}

const isOfCertificate = (code: string): boolean =>
  /CERT|ISSUER|SIGNATURE|CRL|HOSTNAME|CHAIN|ALTNAME/.test(code) && !code.startsWith('ERR_SSL');

/** Returns the names of the certificate. The message of Node.js has only those of the host's kind, but the error has the certificate. */
function namesIn(error: Error): string {
  const { cert } = error as Error & { readonly cert?: { readonly subjectaltname?: string } };
  return printableAscii(cert?.subjectaltname ?? 'no host', 300);
}
