import type { Buffer } from 'node:buffer';
import type { Server, TLSSocket } from 'node:tls';
import { EarshotError } from '../errors/earshot-error.ts';
import { bounded } from '../telemetry/boundary.ts';
import { readHandleOf } from './read-handle.ts';
import { Credit, type Rate } from './token-bucket.ts';

/** Why a connection ends whose peer does what is bounded here. */
export class KeysChangedError extends EarshotError<'protocol'> {}

/** Whoever keeps to RFC 8446 section 5.5 changes his keys after hundreds of gigabytes. */
const RATE: Rate = { burst: 64, perSecond: 1 };
/** Of the label of a line that tells of changed keys, as against those of a handshake. */
const CHANGED = /^(?:CLIENT|SERVER)_TRAFFIC_SECRET_N /;
const LABEL_BYTES = 24;

/**
 * Ends TLS connections that come to a server and change their keys without end (KeyUpdate, RFC 8446 section 4.6.3). Each takes OpenSSL some twenty
 * microseconds for 27 bytes, and nobody sees anything of it: a megabyte is most of a second, in which nobody else is served. OpenSSL tells of each
 * by a line for a log of keys, of which the label is read, and nothing is kept.
 *
 * @param onExcess told of each that is ended
 */
export function boundKeyUpdates(server: Server, onExcess: (why: KeysChangedError, socket: TLSSocket) => void): void {
  const bounds = new WeakMap<TLSSocket, () => void>();
  const onLine = (line: Buffer, socket: TLSSocket): void => {
    if (!tellsOfChange(line)) return;
    const ended = (why: KeysChangedError): void => {
      endLater(socket);
      onExcess(why, socket);
    };
    const bound = bounds.get(socket) ?? boundOf(ended);
    bounds.set(socket, bound);
    bound();
  };
  server.on(
    'keylog',
    bounded('connection/key-changed', onLine, (_, __, socket) => endLater(socket)),
  );
}

/** The same of a connection to a server. It ends with a KeysChangedError. */
export function boundKeyUpdatesOf(socket: TLSSocket): void {
  const bound = boundOf((why) => endLater(socket, why));
  const onLine = (line: Buffer): void => {
    if (tellsOfChange(line)) bound();
  };
  socket.on(
    'keylog',
    bounded('connection/key-changed-there', onLine, () => endLater(socket)),
  );
}

const tellsOfChange = (line: Buffer): boolean => CHANGED.test(line.toString('latin1', 0, LABEL_BYTES));

/** @returns to be called with each change */
function boundOf(onExcess: (why: KeysChangedError) => void): () => void {
  const credit = new Credit(RATE);
  let isOver = false;
  return () => {
    if (isOver || credit.take(performance.now())) return;
    isOver = true;
    onExcess(new KeysChangedError('protocol', 'the peer changes the keys of its TLS connection without end'));
  };
}

/** OpenSSL is at work on it now, and has read up to 64 KiB; more are not to come. */
function endLater(socket: TLSSocket, why?: Error): void {
  readHandleOf(socket)?.readStop();
  const end = (): void => void socket.destroy(why);
  setImmediate(bounded('connection/keys-changed-too-often', end, end));
}
