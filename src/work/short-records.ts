import { TLSSocket } from 'node:tls';
import { bounded, guard } from '../telemetry/boundary.ts';
import { Fifo } from './fifo.ts';
import { readHandleOf } from './read-handle.ts';

/** Bytes of what TLS hands on, below which it costs about as much as a byte does. */
const SHORT = 1_024;
/** So many of one connection that is not known to bring many at once. */
const SOME = 64;
/** So many in a turn of the event loop of one connection, and of all of those that have brought some. */
const MOST = 256;
const MOST_OF_ALL = 2_048;
/** Bytes after which a connection that has not brought many at once is taken to be one that does not. */
const NEW = 65_536;

/** One connection, as far as its records are counted. */
class Reading {
  readonly socket: TLSSocket;
  count = 0;
  /** Bytes until it is not new any more. */
  left = NEW;
  isWaiting = false;

  constructor(socket: TLSSocket) {
    this.socket = socket;
  }
}

/** Of which some were counted in this turn, or in earlier ones. */
let counted: Reading[] = [];
/** The system does not read them until it is their turn. */
const waiting = new Fifo<Reading>();
/** Those that have brought many in one turn before, and may do so at any time, all together. */
const suspects = new Set<Reading>();
const strangers = new Set<Reading>();
/** Those of them that the system does not read in this turn. */
let held: Reading[] = [];
let inTurn = 0;
let isEnding = false;

/**
 * Bounds what short records of TLS may take of a turn of the event loop. TLS hands on each by itself, and two megabytes of what has come may be read in one
 * turn, of each connection: ninety thousand records of a byte. So a connection that has brought many in a turn is not read further in it, and those are
 * read on one in a turn. What is read at once, 64 KiB, is handed on whole: so where many have come in a turn, neither those who did so before are read in it,
 * which wait with the others, nor those that are new.
 *
 * @returns to be called with the length of each; undefined where the socket has no TLS
 */
export function boundShortRecords(socket: unknown): ((length: number) => void) | undefined {
  if (!(socket instanceof TLSSocket)) return undefined;
  const reading = new Reading(socket);
  strangers.add(reading);
  const leave = (): void => {
    strangers.delete(reading);
    suspects.delete(reading);
  };
  socket.once('close', bounded('connection/short-records-closed', leave));
  return (length) => {
    if (reading.left > 0) {
      reading.left -= length;
      if (reading.left <= 0) strangers.delete(reading);
    }
    if (length < SHORT) count(reading);
  };
}

function count(reading: Reading): void {
  reading.count += 1;
  if (reading.count < SOME) return;
  if (reading.count === SOME) {
    counted.push(reading);
    endLater();
  }
  if (reading.count === MOST) {
    strangers.delete(reading);
    suspects.add(reading);
    stop(reading);
  }
  inTurn += 1;
  if (inTurn === MOST_OF_ALL) holdOthers();
}

function holdOthers(): void {
  for (const reading of suspects) stop(reading);
  held = [...strangers];
  for (const { socket } of held) readHandleOf(socket)?.readStop();
}

function stop(reading: Reading): void {
  readHandleOf(reading.socket)?.readStop();
  if (reading.isWaiting) return;
  reading.isWaiting = true;
  waiting.push(reading);
  endLater();
}

/** Unless its user has it wait as well, who then goes on by himself. */
function goOn({ socket, isWaiting }: Reading): void {
  if (!isWaiting && !socket.destroyed && !socket.isPaused()) readHandleOf(socket)?.readStart();
}

function endLater(): void {
  if (isEnding) return;
  isEnding = true;
  setImmediate(endTurn);
}

const destroy = ({ socket }: Reading): void => void socket.destroy();

const endTurn = bounded('look/short-records', () => {
  isEnding = false;
  inTurn = 0;
  for (const reading of counted) reading.count = 0;
  counted = [];
  const next = waiting.shift();
  if (next !== undefined) next.isWaiting = false;
  if (waiting.size > 0) endLater();
  const reads = next === undefined ? held : [next, ...held];
  held = [];
  for (const reading of reads) guard('connection/short-records', reading, goOn, destroy);
});
