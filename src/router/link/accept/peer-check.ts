import type { X509Certificate } from 'node:crypto';
import type { TLSSocket } from 'node:tls';
import { purposeOf } from '../../../identity/certificate-purpose.ts';
import type { AccessConfig } from '../../contract.ts';
import type { LinkHost } from '../host.ts';
import { LinkError } from '../link-errors.ts';
import { UNREVOKE } from '../refusal.ts';
import { authorizationCode, certificateError } from '../tls-errors.ts';
import { certificateOf } from '../peer-certificate.ts';
import { weaknessOf } from '../../../x509/parts.ts';
import { FORWARD, REVERSE } from '../../wire.ts';

/** Connections that may be open with one certificate: a site's routers share one. */
const CONNECTIONS_OF_PEER = 256;

/** What an access asks of peers, beyond what all do. */
type Demands = Pick<AccessConfig, 'unmarked'>;

/**
 * Why a peer that has done its part of TLS is not let in; undefined where it is.
 * @param open how many connections are open with a certificate of that serial number
 */
export function refusalOfPeer(
  socket: TLSSocket,
  address: string,
  host: Pick<LinkHost, 'isRevoked'>,
  demands: Demands,
  open: (serial: string) => number,
): LinkError | undefined {
  const certificate = socket.getPeerX509Certificate();
  if (certificate === undefined)
    return new LinkError('tls-no-cert', `No certificate was shown from ${address}. Links need one of this site's authority.`);
  if (!socket.authorized)
    return certificateError({ code: authorizationCode(socket), certificate, peer: `the peer at ${address}`, now: Date.now() });
  const weakness = weaknessOf(certificate.publicKey);
  if (weakness !== undefined) return new LinkError('tls-weak', `The certificate shown from ${address} has ${weakness}.`);
  const misused = misuseOf(certificate, demands);
  if (misused !== undefined) return misused;
  if (socket.alpnProtocol !== FORWARD && socket.alpnProtocol !== REVERSE) {
    return new LinkError('not-earshot', `The peer at ${address} did not ask for ${FORWARD} (ALPN).`);
  }
  if (host.isRevoked({ certificate: certificateOf(socket) })) {
    return new LinkError('revoked', `Certificate ${certificate.serialNumber} has been revoked here. ${UNREVOKE}`);
  }
  if (open(certificate.serialNumber) >= CONNECTIONS_OF_PEER)
    return new LinkError('busy', `${CONNECTIONS_OF_PEER} connections are open with this certificate.`);
  return undefined;
}

/** Short, as a GOAWAY holds 120 characters. */
function misuseOf(certificate: X509Certificate, { unmarked }: Demands): LinkError | undefined {
  const purpose = purposeOf(certificate);
  if (purpose === 'application') return new LinkError('tls-wrong-purpose', 'This certificate is for applications, and opens no link.');
  if (purpose === undefined && unmarked === 'refused') {
    return new LinkError('tls-wrong-purpose', 'Only certificates that are marked for links are let in here. Get a new token.');
  }
  return undefined;
}
