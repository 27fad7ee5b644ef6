import { Buffer } from 'node:buffer';
import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { countRead } from './read-count.ts';
import { canReadInto, onReadInto, readInto } from './node-internals.ts';
import { shortRecordLimiter } from './short-records.ts';
import { networkOf } from '../x509/network.ts';

/** Size in bytes; libuv allocates the same. */
export const READ_BUFFER_BYTES = 65_536;

/**
 * Size of the first reads, and total of bytes after which reads are larger. Until then it is unknown whether the reader keeps up, and
 * unread bytes must be stored.
 */
const [FIRST_READ_BYTES, FIRST_READS_BYTES] = [16_384, 65_536];

/** Buffer that all sockets read into, one at a time. Bytes to keep are copied before the next read. */
let shared = Buffer.allocUnsafeSlow(READ_BUFFER_BYTES);

/**
 * Passes on everything that a socket reads from now on, with the socket as `this`. A chunk is valid during the call only. Allocating tens of thousands of chunks a
 * second would keep the garbage collector busy (docs/adr/0008-own-http2-session.md has the cost). Without the required Node.js internals,
 * chunks arrive as Node.js allocates them.
 */
export function receive<S extends Duplex>(socket: S, handler: (this: S, chunk: Buffer) => void): void {
  const countRecord = shortRecordLimiter.limit(socket, whoseOf);
  const onChunk = (chunk: Buffer): void => {
    countRead(chunk.length);
    countRecord?.(chunk.length);
    handler.call(socket, chunk);
  };
  // Also handles data that was read earlier, and data that a newer Node.js might deliver this way.
  socket.on('data', onChunk);
  if (socket instanceof Socket) readIntoShared(socket, onChunk);
  socket.resume();
}

/** Groups by port and client network. */
const whoseOf = ({ localPort, remoteAddress = '' }: Socket): string => `${localPort} ${networkOf(remoteAddress)}`;

/** Socket whose chunk is being handled. */
let reader: { overwritten: boolean } | undefined;
/** Whether one read ever began within another. */
let nested = false;

/** Whether sockets still share the buffer: false once one read began within another. */
export const canShareReads = (): boolean => !nested;

function readIntoShared(socket: Socket, onChunk: (chunk: Buffer) => void): void {
  if (nested || !canReadInto(socket)) return;
  const self = { overwritten: false };
  let first = FIRST_READS_BYTES;
  readInto(socket, shared.subarray(0, FIRST_READ_BYTES));
  onReadInto(socket, (length) => {
    if (first > 0) {
      first -= length;
      if (first <= 0 && !nested) readInto(socket, shared);
    }
    const outer = reader;
    if (outer !== undefined) overwrite(outer);
    reader = self;
    try {
      onChunk(shared.subarray(0, length));
    } finally {
      reader = outer;
      if (self.overwritten) socket.destroy(new Error('the bytes that it had read were overwritten by another read'));
    }
    return true;
  });
}

/**
 * Handles a read that began while another chunk was being processed. Current Node.js never does that: it only reads while polling for
 * events. If it happens, the rest of the outer chunk is overwritten. Transferring the memory empties that chunk, so that it cannot be
 * forwarded; its reader may throw. The socket ends, and no more sockets share the buffer.
 */
function overwrite(outer: { overwritten: boolean }): void {
  nested = true;
  outer.overwritten = true;
  // Node.js only knows the address of the memory, which stays the same.
  shared = Buffer.from(shared.buffer.transfer());
}
