import type { TLSSocket } from 'node:tls';
import { bounded } from '../../../telemetry/boundary.ts';
import { FORWARD, REVERSE } from '../../wire.ts';
import { PREFACE } from '../../http2/frames.ts';
import { type LinkError } from '../link-errors.ts';
import { printableAscii } from '../../../text/printable.ts';

/** RFC 9113 section 7. */
const INADEQUATE_SECURITY = 0xc;
/** Milliseconds that the peer has to read it. */
const READ_DEADLINE = 500;

/**
 * Ends a connection whose certificate is not accepted, with the reason in a GOAWAY frame: TLS has alerts for some reasons
 * only, and none with a text. Nothing that the peer sends is looked at.
 */
export function sendGoaway(socket: TLSSocket, error: LinkError): void {
  socket.on('error', () => {});
  const { alpnProtocol } = socket;
  if (alpnProtocol !== FORWARD && alpnProtocol !== REVERSE) {
    socket.destroy();
    return;
  }
  socket.resume();
  // There this end is the client of HTTP/2.
  if (alpnProtocol === REVERSE) socket.write(PREFACE);
  socket.end(goaway(`${error.code}: ${error.message}`));
  const destroy = (): void => void socket.destroy();
  const timer = setTimeout(bounded('connection/refused-deadline', destroy, destroy), READ_DEADLINE);
  const closed = (): void => clearTimeout(timer);
  socket.once('close', bounded('connection/refused-closed', closed, closed));
}

/** An empty SETTINGS frame, which must be a server's first (RFC 9113 section 3.4), and GOAWAY (section 6.8). */
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
