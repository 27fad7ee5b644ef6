import { TLSSocket } from 'node:tls';
import { bounded, guard } from '../telemetry/boundary.ts';
import { FairQueue } from '../limits/fair-queue.ts';
import { readHandleOf } from './node-internals.ts';

/** Size in bytes below which a record costs about as much as a single byte. */
const SHORT = 1_024;
/** Number of records of one connection in an event-loop iteration that are not counted. */
const SOME = 8;
/** Maximum number of records in an event-loop iteration, of one connection and of all counted ones. */
const MOST = 256;
const MOST_OF_ALL = 2_048;

/** One connection whose records are counted. */
class Reading {
  readonly socket: TLSSocket;
  /** Owner in the queue of waiting connections. */
  readonly owner: string;
  count = 0;
  /** The system reads the connection only in state `read`, whatever its user does. */
  state: 'read' | 'held' | 'in line' = 'read';
  /**
   * Whether its user had paused it when it became readable again. Node.js did not stop reading itself then, so it does not start it
   * either.
   */
  isStopped = false;

  constructor(socket: TLSSocket, owner: string) {
    this.socket = socket;
    this.owner = owner;
  }
}

/**
 * Limits the short TLS records of an event-loop iteration. TLS delivers each record separately, and one iteration may read two megabytes
 * of each connection: ninety thousand one-byte records.
 *
 * - A connection that brought many records in an iteration is not read further in it. Such connections are then read one in an iteration.
 * - A read of 64 KiB is delivered whole. After many records, no other connection is read in this iteration.
 * - Connections that did so before wait in the queue. Those that took part skip the next iteration, so that the others are read first.
 */
export class ShortRecordLimiter {
  /** Connections with counted records, of this iteration or earlier ones. */
  #counted: Reading[] = [];
  /** Connections that brought many records in one earlier iteration. All of them may do so again at the same time. */
  readonly #suspects = new Set<Reading>();
  /** Suspects that wait to be read, one in an iteration. */
  readonly #waiting = new FairQueue<Reading>();
  /** The suspect that is read in this iteration. */
  #next: Reading | undefined;
  /** All other connections. Those with records in an overloaded iteration are last. */
  readonly #others = new Set<Reading>();
  /** Other connections that are read again from the next iteration on, and from the one after it. */
  #held: readonly Reading[] = [];
  #heldLonger: readonly Reading[] = [];
  #inIteration = 0;
  #isEnding = false;

  /**
   * @param ownerOf owner of a connection; waiting connections are read round-robin by owner
   * @returns a function to call with the length of each record; undefined for a socket without TLS
   */
  limit(socket: unknown, ownerOf: (socket: TLSSocket) => string): ((length: number) => void) | undefined {
    if (!(socket instanceof TLSSocket)) return undefined;
    const reading = new Reading(socket, ownerOf(socket));
    this.#others.add(reading);
    const leave = (): void => {
      this.#others.delete(reading);
      this.#suspects.delete(reading);
      this.#waiting.delete(reading.owner, reading);
    };
    // Its user may have paused it meanwhile.
    const resumed = (): void => {
      if (reading.state !== 'read') readHandleOf(socket)?.readStop();
      else if (reading.isStopped) resume(reading);
    };
    socket.once('close', bounded('connection/short-records-closed', leave, leave));
    socket.on('resume', bounded('connection/short-records-resumed', resumed));
    return (length) => {
      if (length < SHORT) this.#count(reading);
    };
  }

  #count(reading: Reading): void {
    reading.count += 1;
    if (reading.count < SOME) return;
    if (reading.count === SOME) {
      this.#counted.push(reading);
      this.#endLater();
    }
    if (reading.count === MOST) {
      this.#others.delete(reading);
      this.#suspects.add(reading);
      this.#waitInLine(reading);
    }
    this.#inIteration += 1;
    if (this.#inIteration === MOST_OF_ALL) this.#holdAll();
  }

  #holdAll(): void {
    for (const reading of this.#suspects) if (reading !== this.#next) this.#waitInLine(reading);
    const later = this.#counted.filter((reading) => this.#others.delete(reading));
    for (const reading of [...this.#others, ...later]) stop(reading, 'held');
    this.#held = [...this.#others];
    this.#heldLonger = later;
    for (const reading of later) this.#others.add(reading);
  }

  #waitInLine(reading: Reading): void {
    if (reading.state === 'in line') return;
    stop(reading, 'in line');
    this.#waiting.add(reading.owner, reading);
    this.#endLater();
  }

  #endLater(): void {
    if (this.#isEnding) return;
    this.#isEnding = true;
    setImmediate(this.#endIteration);
  }

  readonly #endIteration = bounded('look/short-records', () => {
    this.#isEnding = false;
    this.#inIteration = 0;
    for (const reading of this.#counted) reading.count = 0;
    this.#counted = [];
    // Sockets that become readable together are read in this order: first those whose owner has none in the queue.
    const due = [
      ...this.#held.filter(({ owner }) => !this.#waiting.has(owner)),
      ...this.#held.filter(({ owner }) => this.#waiting.has(owner)),
    ];
    [this.#held, this.#heldLonger] = [this.#heldLonger, []];
    this.#next = this.#waiting.take();
    if (this.#waiting.size + this.#held.length > 0) this.#endLater();
    const reads = due.filter(({ state }) => state === 'held');
    for (const reading of this.#next === undefined ? reads : [...reads, this.#next])
      guard('connection/short-records', reading, resume, destroy);
  });
}

function stop(reading: Reading, state: 'held' | 'in line'): void {
  reading.state = state;
  readHandleOf(reading.socket)?.readStop();
}

/** Resumes reading. If the user has paused the socket, reading starts when the user resumes it. */
function resume(reading: Reading): void {
  const { socket } = reading;
  reading.state = 'read';
  reading.isStopped = socket.isPaused();
  if (!socket.destroyed && !reading.isStopped) readHandleOf(socket)?.readStart();
}

const destroy = ({ socket }: Reading): void => void socket.destroy();

/** Limiter of this process. */
export const shortRecordLimiter = new ShortRecordLimiter();
