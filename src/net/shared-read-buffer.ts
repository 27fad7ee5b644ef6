import { Buffer } from 'node:buffer';
import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { countRead } from './read-count.ts';
import { canReadInto, onReadInto, readInto } from './node-internals.ts';
import { shortRecordLimiter } from './short-records.ts';
import { networkOf } from '../x509/network.ts';

/** What libuv offers by itself is as large. */
export const READ_BUFFER_BYTES = 65_536;

/** Of the first reads, up to so many bytes in all: whether anybody wants more is not known yet, and what nobody takes is to be kept. */
const [FIRST_READ_BYTES, FIRST_READS_BYTES] = [16_384, 65_536];

/** Where sockets read, one at a time: what is to be kept is copied on before the next read. */
let shared = Buffer.allocUnsafeSlow(READ_BUFFER_BYTES);

/**
 * Hands on what a socket reads, from now on. A chunk is valid during the call only: no buffer of the heap is made for it, of which
 * there would be tens of thousands a second, and the collector would never stop (docs/adr/0008-own-http2-session.md has what that costs).
 * Without the internal parts of Node.js that this needs, chunks come as Node.js makes them.
 */
export function receive(socket: Duplex, handler: (chunk: Buffer) => void): void {
  const countRecord = shortRecordLimiter.limit(socket, whoseOf);
  const onChunk = (chunk: Buffer): void => {
    countRead(chunk.length);
    countRecord?.(chunk.length);
    handler(chunk);
  };
  // Also what it has read before, and what a newer Node.js might bring this way.
  socket.on('data', onChunk);
  if (socket instanceof Socket) readIntoShared(socket, onChunk);
  socket.resume();
}

/** At one port, of one address. */
const whoseOf = ({ localPort, remoteAddress = '' }: Socket): string => `${localPort} ${networkOf(remoteAddress)}`;

/** Whose chunk is being handled. */
let reader: { overwritten: boolean } | undefined;
/** It has happened that one read began within another. */
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
 * One socket has read while the chunk of another one, or its own, was being handled. Today's Node.js does not do that: it reads when it
 * waits for events, and no event is waited for within a handler. If it does, what is left of the outer chunk is wrong. So that nobody
 * passes it on, the memory is taken from under it: it is empty, and who looks at it may throw. Its socket ends, and no more sockets share.
 */
function overwrite(outer: { overwritten: boolean }): void {
  nested = true;
  outer.overwritten = true;
  // What Node.js knows is its address, which stays.
  shared = Buffer.from(shared.buffer.transfer());
}
