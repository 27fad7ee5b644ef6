import type { TLSSocket } from 'node:tls';
import { tlsHandshakesOf } from './node-internals.ts';
import { bounded } from '../telemetry/boundary.ts';
import { boundOf, endLater, type EndlessTlsError } from './key-updates.ts';

/**
 * Ends a connection of a server as soon as its client asks for another handshake, which TLS has before 1.3 (RFC 5246 section 7.4.1.2). To be
 * called when the first is over.
 *
 * To refuse it (SSL_OP_NO_RENEGOTIATION) would not do, nor where the client does not know of secure renegotiation: then OpenSSL answers each by an alert
 * and tells nobody. In a turn of the loop that is 60,000 of 33 bytes, some 3 microseconds each, and answers that nobody reads are kept without a
 * bound. So the server has to allow for them all.
 */
export function rejectRenegotiation(socket: TLSSocket, onEnd: () => void): void {
  const handle = tlsHandshakesOf(socket);
  if (handle === undefined) {
    socket.disableRenegotiation();
    return;
  }
  const begun = (): void => {
    // Certificates may have come with it, of any length, and verifying them takes long: they are not asked for.
    handle.setVerifyMode(false, false);
    endLater(socket);
    onEnd();
  };
  handle.onhandshakestart = bounded('connection/handshake-anew', begun, () => endLater(socket));
}

/**
 * Of a connection to a server, which may ask for another handshake (HelloRequest, RFC 5246 section 7.4.1.1): each is refused by an alert, which
 * takes some twenty microseconds for 33 bytes. Whoever does so without end is cut off, with an EndlessTlsError. To be called when the first is
 * over.
 */
export function limitRenegotiation(socket: TLSSocket): void {
  const handle = tlsHandshakesOf(socket);
  if (handle === undefined) return;
  const ended = (why: EndlessTlsError): void => endLater(socket, why);
  handle.onhandshakestart = bounded('connection/handshake-asked', boundOf('asks for TLS handshakes', ended), () => endLater(socket));
  // It is told of one that was refused as well, and all that follows upon the first would follow again.
  handle.onhandshakedone = () => {};
}
