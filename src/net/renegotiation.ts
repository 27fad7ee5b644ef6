import type { TLSSocket } from 'node:tls';
import { tlsHandshakesOf } from './node-internals.ts';
import { bounded } from '../telemetry/boundary.ts';
import { boundOf, endLater, type EndlessTlsError } from './key-updates.ts';

/**
 * Ends a connection of a server as soon as its client starts another handshake, which TLS before 1.3 allows (RFC 5246 section 7.4.1.2).
 * Must be called when the first handshake ends.
 *
 * With SSL_OP_NO_RENEGOTIATION, or for a client without secure renegotiation, OpenSSL would answer each attempt with an alert and report
 * nothing. One iteration can bring 60,000 attempts of 33 bytes, at 3 microseconds each, and unread alerts pile up without a limit. So the
 * server has to allow both kinds of renegotiation.
 */
export function rejectRenegotiation(socket: TLSSocket, onEnd: () => void): void {
  const handle = tlsHandshakesOf(socket);
  if (handle === undefined) {
    socket.disableRenegotiation();
    return;
  }
  const begun = (): void => {
    // The handshake may bring certificates of any length, and verifying them takes long. So they are not requested.
    handle.setVerifyMode(false, false);
    endLater(socket);
    onEnd();
  };
  handle.onhandshakestart = bounded('connection/renegotiation', begun, () => endLater(socket));
}

/**
 * Limits the handshakes that a server may request (HelloRequest, RFC 5246 section 7.4.1.1). OpenSSL refuses each with an alert, which
 * takes about twenty microseconds for 33 bytes. A server beyond the rate limit is disconnected with an EndlessTlsError. Must be called
 * when the first handshake ends.
 */
export function limitRenegotiation(socket: TLSSocket): void {
  const handle = tlsHandshakesOf(socket);
  if (handle === undefined) return;
  const ended = (why: EndlessTlsError): void => endLater(socket, why);
  handle.onhandshakestart = bounded('connection/handshake-asked', boundOf('requests TLS handshakes', ended), () => endLater(socket));
  // Node.js also reports a refused handshake here, and would repeat everything that followed the first one.
  handle.onhandshakedone = () => {};
}
