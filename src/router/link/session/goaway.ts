import type { TLSSocket } from 'node:tls';
import { bounded } from '../../../telemetry/boundary.ts';
import { FORWARD, REVERSE } from '../../wire.ts';
import { PREFACE } from '../../../http2/frames.ts';
import { type LinkError } from '../link-errors.ts';
import { printableAscii } from '../../../text/printable.ts';

/** Error code of RFC 9113 section 7. */
const INADEQUATE_SECURITY = 0xc;
/** Milliseconds for the peer to read the GOAWAY. */
const READ_DEADLINE = 500;

/**
 * Ends a connection whose certificate is refused, with the reason in a GOAWAY frame. TLS has alerts for some reasons only, and none has a
 * text. Input from the peer is dropped.
 */
export function sendGoaway(socket: TLSSocket, error: LinkError): void {
  socket.on('error', () => {});
  const { alpnProtocol } = socket;
  if (alpnProtocol !== FORWARD && alpnProtocol !== REVERSE) {
    socket.destroy();
    return;
  }
  socket.resume();
  // On a reverse connection this end is the HTTP/2 client.
  if (alpnProtocol === REVERSE) socket.write(PREFACE);
  socket.end(goaway(`${error.code}: ${error.message}`));
  const destroy = (): void => void socket.destroy();
  const timer = setTimeout(bounded('connection/refused-deadline', destroy, destroy), READ_DEADLINE);
  const closed = (): void => clearTimeout(timer);
  socket.once('close', bounded('connection/refused-closed', closed, closed));
}

/** An empty SETTINGS frame, which a server must send first (RFC 9113 section 3.4), and GOAWAY (section 6.8). */
function goaway(text: string): Buffer {
  const debug = Buffer.from(printableAscii(text, 400), 'latin1');
  const frames = Buffer.alloc(9 + 9 + 8 + debug.length);
  frames[3] = 0x4;
  frames.writeUIntBE(8 + debug.length, 9, 3);
  frames[12] = 0x7;
  frames.writeUInt32BE(INADEQUATE_SECURITY, 22);
  debug.copy(frames, 26);
  return frames;
}
