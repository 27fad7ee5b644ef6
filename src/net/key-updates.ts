import type { Buffer } from 'node:buffer';
import type { Server, TLSSocket } from 'node:tls';
import { EarshotError } from '../errors/earshot-error.ts';
import { bounded } from '../telemetry/boundary.ts';
import { readHandleOf } from './node-internals.ts';
import { RateLimiter } from '../limits/rate-limiter.ts';
import { limitTable } from '../limits/table.ts';

/** Reason for ending a connection whose peer exceeds a rate limit of TLS messages. */
export class EndlessTlsError extends EarshotError<'protocol'> {
  /** Action of the peer, as a verb phrase: `changes the keys of its TLS connection`. */
  readonly what: string;

  constructor(what: string) {
    super('protocol', `the peer ${what} without end`);
    this.what = what;
  }
}

/** Peers that follow RFC 8446 section 5.5 update keys only after hundreds of gigabytes. */
const RATE = limitTable.keyUpdates.value;
/** Label of a keylog line for updated keys, as opposed to the keys of a handshake. */
const CHANGED = /^(?:CLIENT|SERVER)_TRAFFIC_SECRET_N /;
const LABEL_BYTES = 24;

/**
 * Ends TLS connections of a server whose client updates keys without end (KeyUpdate, RFC 8446 section 4.6.3). OpenSSL takes about twenty
 * microseconds for each 27-byte message, so a megabyte blocks the event loop for most of a second. The only sign of an update is a keylog
 * line. Only its label is read, and nothing is stored.
 *
 * @param onExcess called for each connection that is ended
 */
export function limitKeyUpdates(server: Server, onExcess: (why: EndlessTlsError, socket: TLSSocket) => void): void {
  const bounds = new WeakMap<TLSSocket, () => void>();
  const onLine = (line: Buffer, socket: TLSSocket): void => {
    if (!reportsChange(line)) return;
    const ended = (why: EndlessTlsError): void => {
      endLater(socket);
      onExcess(why, socket);
    };
    const bound = bounds.get(socket) ?? boundOf(CHANGES_KEYS, ended);
    bounds.set(socket, bound);
    bound();
  };
  server.on(
    'keylog',
    bounded('connection/key-changed', onLine, (_, __, socket) => endLater(socket)),
  );
}

/**
 * Does the same for a connection to a server. It also limits NewSessionTicket messages (RFC 8446 section 4.6.1), which take four times as
 * long each. The connection ends with an EndlessTlsError.
 */
export function limitKeyUpdatesOf(socket: TLSSocket): void {
  const ended = (why: EndlessTlsError): void => endLater(socket, why);
  const broken = (): void => endLater(socket);
  const onChange = boundOf(CHANGES_KEYS, ended);
  const onLine = (line: Buffer): void => {
    if (reportsChange(line)) onChange();
  };
  socket.on('keylog', bounded('connection/key-changed-there', onLine, broken));
  socket.on('session', bounded('connection/session-offered', boundOf('offers to resume its TLS session', ended), broken));
}

const CHANGES_KEYS = 'changes the keys of its TLS connection';

const reportsChange = (line: Buffer): boolean => CHANGED.test(line.toString('latin1', 0, LABEL_BYTES));

/** @returns a function to call for each message */
export function boundOf(what: string, onExcess: (why: EndlessTlsError) => void): () => void {
  const credit = new RateLimiter(RATE);
  let isOver = false;
  return () => {
    if (isOver || credit.take(performance.now())) return;
    isOver = true;
    onExcess(new EndlessTlsError(what));
  };
}

/** Ends the socket in the next iteration: OpenSSL is processing up to 64 KiB now. Reading stops at once. */
export function endLater(socket: TLSSocket, why?: Error): void {
  readHandleOf(socket)?.readStop();
  const end = (): void => void socket.destroy(why);
  setImmediate(bounded('connection/keys-changed-too-often', end, end));
}
