import { Buffer } from 'node:buffer';
import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { countRead } from './read-count.ts';
import { shortRecordLimiter } from '../../work/short-records.ts';
import { networkOf } from '../../x509/network.ts';

/** What libuv offers by itself is as large. */
export const READ_BUFFER_BYTES = 65_536;

/** Of the first reads, up to so many bytes in all: whether anybody wants more is not known yet, and what nobody takes is to be kept. */
const [FIRST_READ_BYTES, FIRST_READS_BYTES] = [16_384, 65_536];

/** Where sockets read, one at a time: what is to be kept is copied on before the next read. */
let shared = Buffer.allocUnsafeSlow(READ_BUFFER_BYTES);

/**
 * Hands on what a socket reads, from now on. A chunk is valid during the call only: no buffer of the heap is made for it, of which
 * there would be tens of thousands a second, and the collector would never stop (docs/adr/0008-own-http2-session.md has what that costs).
 *
 * Node.js documents how a socket is made that reads into a given buffer (`onread` of net.Socket), but a server makes its sockets itself.
 * So the same is done to a socket that is there. Where its parts are not found, chunks come as Node.js makes them.
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

/** Whether sockets of this Node.js can be made to read into one buffer, as far as is known. */
export function canShareReads(): boolean {
  return slots !== undefined && !nested;
}

/** Whose chunk is being handled. */
let reader: { overwritten: boolean } | undefined;
/** It has happened that one read began within another. */
let nested = false;

function readIntoShared(socket: Socket, onChunk: (chunk: Buffer) => void): void {
  // Not in the types since it is not documented; whether it is there is looked at.
  const { _handle: handle } = socket as unknown as { readonly _handle?: { useUserBuffer?: (buffer: Buffer) => void } | null };
  if (slots === undefined || nested || typeof handle?.useUserBuffer !== 'function') return;
  const self = { overwritten: false };
  const { buffer, callback } = slots;
  const readInto = (where: Buffer): void => {
    handle.useUserBuffer?.(where);
    Reflect.set(socket, buffer, where);
  };
  let first = FIRST_READS_BYTES;
  readInto(shared.subarray(0, FIRST_READ_BYTES));
  Reflect.set(socket, callback, (length: number): boolean => {
    if (first > 0) {
      first -= length;
      if (first <= 0 && !nested) readInto(shared);
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

interface Slots {
  readonly buffer: symbol;
  readonly callback: symbol;
}

/** Where a socket that was made with `onread` keeps the buffer and the callback. */
function findSlots(): Slots | undefined {
  const callback = (): boolean => true;
  const probe = new Socket({ onread: { buffer: shared, callback } });
  const keyOf = (value: unknown): symbol | undefined =>
    Object.getOwnPropertySymbols(probe).find((key) => Reflect.get(probe, key) === value);
  const found = { buffer: keyOf(shared), callback: keyOf(callback) };
  probe.destroy();
  return found.buffer === undefined || found.callback === undefined ? undefined : { buffer: found.buffer, callback: found.callback };
}

const slots = findSlots();
