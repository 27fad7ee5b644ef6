import type { X509Certificate } from 'node:crypto';
import type { TLSSocket } from 'node:tls';
import { isApiPurpose, purposeOf } from '../../../identity/certificate-purpose.ts';
import type { AccessConfig } from '../../contract.ts';
import type { LinkHost } from '../host.ts';
import { LinkError } from '../link-errors.ts';
import { UNREVOKE } from '../refusal.ts';
import { authorizationCode, certificateError } from '../tls-errors.ts';
import type { PeerCertificate } from '../peer-certificate.ts';
import { weaknessOf } from '../../../x509/parts.ts';
import { FORWARD, REVERSE } from '../../wire.ts';

/** Requirements of an access beyond those for all peers. */
type Demands = Pick<AccessConfig, 'unmarked'>;

/**
 * Reason to refuse a peer that has completed TLS; undefined if it is admitted.
 * @param demands requirements beyond a certificate of the authority; undefined for a peer that will prove to be of this site
 * @param shown the peer's certificate
 * @param full reason if its owner already has enough connections
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
    return new LinkError('tls-no-cert', `The client at ${address} presented no certificate. Links need one of this site's authority.`);
  if (!socket.authorized)
    return certificateError({ code: authorizationCode(socket), certificate, peer: `the peer at ${address}`, now: Date.now() });
  const weakness = weaknessOf(certificate.publicKey);
  if (weakness !== undefined) return new LinkError('tls-weak', `The certificate of the client at ${address} has ${weakness}.`);
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

/** Messages are short, since a GOAWAY holds 120 characters. */
function misuseOf(certificate: X509Certificate, { unmarked }: Demands): LinkError | undefined {
  const purpose = purposeOf(certificate);
  if (purpose === 'application') return new LinkError('tls-wrong-purpose', 'This certificate is for applications, not for links.');
  if (isApiPurpose(purpose)) return new LinkError('tls-wrong-purpose', 'This certificate is for the router API, not for links.');
  if (purpose === undefined && unmarked === 'refused') {
    return new LinkError('tls-wrong-purpose', 'This access accepts only certificates that are marked for links. Get a new token.');
  }
  return undefined;
}
