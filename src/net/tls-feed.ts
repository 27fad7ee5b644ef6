import { Buffer } from 'node:buffer';
import { readSync } from 'node:fs';
import type { Socket } from 'node:net';
import type { Server } from 'node:tls';
import { bounded } from '../telemetry/boundary.ts';
import { readHandleOf, takeWithTlsInput, tlsInputOf, type TlsInput } from './node-internals.ts';

/** Passes up to `most` received bytes to TLS. @returns their number; undefined if the connection has ended or failed */
export type Feed = (most: number) => number | undefined;

const inputs = new WeakMap<Socket, { readonly tls: TlsInput; readonly only13: boolean }>();
/** Connections with bytes read here; `bytesRead` does not count them. */
const taken = new WeakSet<Socket>();
const piece = Buffer.allocUnsafeSlow(16_384);

/**
 * Makes `feedOf` work for the server's connections. Must be called before other listeners are added.
 *
 * @param only13 whether only TLS 1.3 is spoken; then the first data cannot contain a certificate, which is encrypted with a later key
 */
export function openTlsFeed(server: Server, only13 = false): void {
  for (const begin of server.listeners('connection')) {
    const beginSeen = (raw: Socket): void => {
      const tls = takeWithTlsInput(begin as (this: Server, raw: Socket) => void, server, raw);
      if (tls !== undefined) inputs.set(raw, { tls, only13 });
    };
    server.off('connection', begin as () => void);
    server.on(
      'connection',
      bounded('connection/tls-made', beginSeen, (_, raw) => void raw.destroy()),
    );
  }
}

/**
 * Whether the system may read the first data of a connection. OpenSSL keeps an input buffer as large as the first data that it gets at
 * once. That is up to 64 KiB if the system reads, where more data takes less time.
 */
export const beginsHarmlessly = (raw: Socket): boolean => inputs.get(raw)?.only13 === true;

/**
 * Returns a function that reads a connection in place of the system's events, which pass all received bytes to TLS, however many. Nothing
 * else may read the connection meanwhile. Undefined if that is not possible.
 */
export function feedOf(raw: Socket): Feed | undefined {
  // If this end has connected, the socket is the TLS socket.
  const tls = inputs.get(raw)?.tls ?? tlsInputOf(raw);
  const { fd } = readHandleOf(raw) ?? {};
  if (tls === undefined || fd === undefined || fd < 0) return undefined;
  return (most) => {
    // Once the connection is closed, another one may have the same file descriptor.
    const { fd: now = -1 } = readHandleOf(raw) ?? {};
    if (now < 0 || raw.destroyed) return undefined;
    const length = readNow(now, Math.min(most, piece.length));
    if (length === undefined || length === 0) return length;
    taken.add(raw);
    tls.receive(piece.subarray(0, length));
    return length;
  };
}

/** Whether the peer has sent any data that was read in either way. */
export const hasSentData = (raw: Socket): boolean => raw.bytesRead > 0 || taken.has(raw);

/** @returns 0 if no data has arrived; undefined if the connection has ended or failed */
function readNow(fd: number, most: number): number | undefined {
  try {
    const length = readSync(fd, piece, 0, most, null);
    return length === 0 ? undefined : length;
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EAGAIN' ? 0 : undefined;
  }
}
