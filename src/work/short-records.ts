import { TLSSocket } from 'node:tls';
import { bounded, guard } from '../telemetry/boundary.ts';
import { FairQueue } from './fair-queue.ts';
import { readHandleOf } from './read-handle.ts';

/** Bytes of what TLS hands on, below which it costs about as much as a byte does. */
const SHORT = 1_024;
/** So many of one connection that is not known to bring many at once. */
const SOME = 8;
/** So many in a turn of the event loop of one connection, and of all of those that have brought some. */
const MOST = 256;
const MOST_OF_ALL = 2_048;

/** One connection, as far as its records are counted. */
class Reading {
  readonly socket: TLSSocket;
  /** With whom it waits in line: all others do not wait for them. */
  readonly whose: string;
  count = 0;
  /** But for `read` the system does not read it, whatever its user says. */
  state: 'read' | 'held' | 'in line' = 'read';
  /** It may be read, and its user had it wait when that began: where Node.js did not stop it itself, it does not start it either. */
  isStopped = false;

  constructor(socket: TLSSocket, whose: string) {
    this.socket = socket;
    this.whose = whose;
  }
}

/** Of which some were counted in this turn, or in earlier ones. */
let counted: Reading[] = [];
/** Those that have brought many in one turn before, and may do so at any time, all together. */
const suspects = new Set<Reading>();
/** Those of them that are read in their turn, one in a turn of the loop. */
const waiting = new FairQueue<Reading>();
/** Whose turn it is: it is read in this one. */
let next: Reading | undefined;
/** All others. Whoever brought some in a turn that had too many is last. */
const others = new Set<Reading>();
/** Those of them that are read again from the next turn on, and from the one after it. */
let held: readonly Reading[] = [];
let heldLonger: readonly Reading[] = [];
let inTurn = 0;
let isEnding = false;

/**
 * Bounds what short records of TLS may take of a turn of the event loop. TLS hands on each by itself, and two megabytes of what has come may be read in one
 * turn, of each connection: ninety thousand records of a byte. So a connection that has brought many in a turn is not read further in it, and those are
 * read on one in a turn. What is read at once, 64 KiB, is handed on whole: so where many have come in a turn, nobody else is read in it. Those who did so before
 * wait in line with the others; those who had a part in it are left out of the next turn, so that whoever was not read in this one is read first in that.
 *
 * @param whoseOf those of each are read in turn where they wait in line
 * @returns to be called with the length of each; undefined where the socket has no TLS
 */
export function limitShortRecords(socket: unknown, whoseOf: (socket: TLSSocket) => string): ((length: number) => void) | undefined {
  if (!(socket instanceof TLSSocket)) return undefined;
  const reading = new Reading(socket, whoseOf(socket));
  others.add(reading);
  const leave = (): void => {
    others.delete(reading);
    suspects.delete(reading);
    waiting.delete(reading.whose, reading);
  };
  // Its user may have had it wait meanwhile.
  const resumed = (): void => {
    if (reading.state !== 'read') readHandleOf(socket)?.readStop();
    else if (reading.isStopped) goOn(reading);
  };
  socket.once('close', bounded('connection/short-records-closed', leave, leave));
  socket.on('resume', bounded('connection/short-records-resumed', resumed));
  return (length) => {
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
    others.delete(reading);
    suspects.add(reading);
    waitInLine(reading);
  }
  inTurn += 1;
  if (inTurn === MOST_OF_ALL) holdAll();
}

function holdAll(): void {
  for (const reading of suspects) if (reading !== next) waitInLine(reading);
  const later = counted.filter((reading) => others.delete(reading));
  for (const reading of [...others, ...later]) stop(reading, 'held');
  held = [...others];
  heldLonger = later;
  for (const reading of later) others.add(reading);
}

function waitInLine(reading: Reading): void {
  if (reading.state === 'in line') return;
  stop(reading, 'in line');
  waiting.add(reading.whose, reading);
  endLater();
}

function stop(reading: Reading, state: 'held' | 'in line'): void {
  reading.state = state;
  readHandleOf(reading.socket)?.readStop();
}

/** Unless its user has it wait as well: then as soon as he goes on. */
function goOn(reading: Reading): void {
  const { socket } = reading;
  reading.state = 'read';
  reading.isStopped = socket.isPaused();
  if (!socket.destroyed && !reading.isStopped) readHandleOf(socket)?.readStart();
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
  // What becomes ready together is read in this order: those of an address of which nobody waits in line come first.
  const due = [...held.filter(({ whose }) => !waiting.has(whose)), ...held.filter(({ whose }) => waiting.has(whose))];
  [held, heldLonger] = [heldLonger, []];
  next = waiting.take();
  if (waiting.size + held.length > 0) endLater();
  const reads = due.filter(({ state }) => state === 'held');
  for (const reading of next === undefined ? reads : [...reads, next]) guard('connection/short-records', reading, goOn, destroy);
});
