import type { X509Certificate } from 'node:crypto';
import type { TLSSocket } from 'node:tls';
import { purposeOf } from '../../../identity/certificate-purpose.ts';
import type { AccessConfig } from '../../contract.ts';
import type { LinkHost } from '../host.ts';
import { LinkError } from '../link-errors.ts';
import { UNREVOKE } from '../refusal.ts';
import { authorizationCode, certificateError } from '../tls-errors.ts';
import type { PeerCertificate } from '../peer-certificate.ts';
import { weaknessOf } from '../../../x509/parts.ts';
import { FORWARD, REVERSE } from '../../wire.ts';

/** What an access asks of peers, beyond what all do. */
type Demands = Pick<AccessConfig, 'unmarked'>;

/**
 * Why a peer that has done its part of TLS is not let in; undefined where it is.
 * @param demands what it is asked for beyond a certificate of the authority; nothing where it has yet to prove that it is of this site
 * @param shown its certificate
 * @param full why there are enough connections of whom it counts to
 */
export function refusalOfPeer(
  socket: TLSSocket,
  address: string,
  host: Pick<LinkHost, 'isRevoked'>,
  demands: Demands | undefined,
  shown: PeerCertificate | undefined,
  full: () => string | undefined,
): LinkError | undefined {
  const certificate = socket.getPeerX509Certificate();
  if (certificate === undefined)
    return new LinkError('tls-no-cert', `No certificate was shown from ${address}. Links need one of this site's authority.`);
  if (!socket.authorized)
    return certificateError({ code: authorizationCode(socket), certificate, peer: `the peer at ${address}`, now: Date.now() });
  const weakness = weaknessOf(certificate.publicKey);
  if (weakness !== undefined) return new LinkError('tls-weak', `The certificate shown from ${address} has ${weakness}.`);
  const misused = demands === undefined ? undefined : misuseOf(certificate, demands);
  if (misused !== undefined) return misused;
  if (socket.alpnProtocol !== FORWARD && socket.alpnProtocol !== REVERSE) {
    return new LinkError('not-earshot', `The peer at ${address} did not ask for ${FORWARD} (ALPN).`);
  }
  if (host.isRevoked({ certificate: shown })) {
    return new LinkError('revoked', `Certificate ${certificate.serialNumber} is revoked here. ${UNREVOKE}`);
  }
  const enough = full();
  return enough === undefined ? undefined : new LinkError('busy', enough);
}

/** Short, as a GOAWAY holds 120 characters. */
function misuseOf(certificate: X509Certificate, { unmarked }: Demands): LinkError | undefined {
  const purpose = purposeOf(certificate);
  if (purpose === 'application') return new LinkError('tls-wrong-purpose', 'This certificate is for applications, and opens no link.');
  if (purpose === 'api') return new LinkError('tls-wrong-purpose', 'This certificate is for the API of routers, and opens no link.');
  if (purpose === undefined && unmarked === 'refused') {
    return new LinkError('tls-wrong-purpose', 'Only certificates that are marked for links are let in here. Get a new token.');
  }
  return undefined;
}
