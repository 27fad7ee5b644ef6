import type { Buffer } from 'node:buffer';
import type { Server, TLSSocket } from 'node:tls';
import { EarshotError } from '../errors/earshot-error.ts';
import { bounded } from '../telemetry/boundary.ts';
import { readHandleOf } from './node-internals.ts';
import { RateLimiter } from '../limits/rate-limiter.ts';
import { limitTable } from '../limits/table.ts';

/** Why a connection ends whose peer does without end what is bounded here. */
export class EndlessTlsError extends EarshotError<'protocol'> {
  /** Of the peer: `changes the keys of its TLS connection`. */
  readonly what: string;

  constructor(what: string) {
    super('protocol', `the peer ${what} without end`);
    this.what = what;
  }
}

/** Whoever keeps to RFC 8446 section 5.5 changes his keys after hundreds of gigabytes. */
const RATE = limitTable.keyUpdates.value;
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
export function limitKeyUpdates(server: Server, onExcess: (why: EndlessTlsError, socket: TLSSocket) => void): void {
  const bounds = new WeakMap<TLSSocket, () => void>();
  const onLine = (line: Buffer, socket: TLSSocket): void => {
    if (!tellsOfChange(line)) return;
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
 * The same of a connection to a server, and of its offers to resume it (NewSessionTicket, RFC 8446 section 4.6.1), each of which takes four times as long. It ends with
 * an EndlessTlsError.
 */
export function limitKeyUpdatesOf(socket: TLSSocket): void {
  const ended = (why: EndlessTlsError): void => endLater(socket, why);
  const broken = (): void => endLater(socket);
  const onChange = boundOf(CHANGES_KEYS, ended);
  const onLine = (line: Buffer): void => {
    if (tellsOfChange(line)) onChange();
  };
  socket.on('keylog', bounded('connection/key-changed-there', onLine, broken));
  socket.on('session', bounded('connection/session-offered', boundOf('offers to resume its TLS session', ended), broken));
}

const CHANGES_KEYS = 'changes the keys of its TLS connection';

const tellsOfChange = (line: Buffer): boolean => CHANGED.test(line.toString('latin1', 0, LABEL_BYTES));

/** @returns to be called each time */
export function boundOf(what: string, onExcess: (why: EndlessTlsError) => void): () => void {
  const credit = new RateLimiter(RATE);
  let isOver = false;
  return () => {
    if (isOver || credit.take(performance.now())) return;
    isOver = true;
    onExcess(new EndlessTlsError(what));
  };
}

/** OpenSSL is at work on it now, and has read up to 64 KiB; more are not to come. */
export function endLater(socket: TLSSocket, why?: Error): void {
  readHandleOf(socket)?.readStop();
  const end = (): void => void socket.destroy(why);
  setImmediate(bounded('connection/keys-changed-too-often', end, end));
}
