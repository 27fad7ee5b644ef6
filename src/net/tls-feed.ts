import { Buffer } from 'node:buffer';
import { readSync } from 'node:fs';
import type { Socket } from 'node:net';
import type { Server } from 'node:tls';
import { bounded } from '../telemetry/boundary.ts';
import { readHandleOf, takeWithTlsInput, tlsInputOf, type TlsInput } from './node-internals.ts';

/** Gives TLS what has come of a connection, up to so many bytes. @returns how many; undefined where it has ended, or broken */
export type Feed = (most: number) => number | undefined;

const inputs = new WeakMap<Socket, { readonly tls: TlsInput; readonly only13: boolean }>();
/** Of whom something was taken: nobody else counts it. */
const taken = new WeakSet<Socket>();
const piece = Buffer.allocUnsafeSlow(16_384);

/**
 * Has the server's connections read by `takerOf`, too. To be called before anybody else listens for them.
 *
 * @param only13 no other TLS is spoken: then nobody can show a certificate in what comes first, since it is encrypted by what the server answers
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
 * Whether the system may read what comes first of a connection. OpenSSL's input is as large from then on as what it was first given at once: 64 KiB by the
 * system, where more data takes less time.
 */
export const beginsHarmlessly = (raw: Socket): boolean => inputs.get(raw)?.only13 === true;

/**
 * What reads a connection in the place of the system's events, which give TLS all that has come, however much that is. While it is used nothing
 * else may read. Undefined where that cannot be.
 */
export function feedOf(raw: Socket): Feed | undefined {
  // Where this end has connected, the socket is that of TLS.
  const tls = inputs.get(raw)?.tls ?? tlsInputOf(raw);
  const { fd } = readHandleOf(raw) ?? {};
  if (tls === undefined || fd === undefined || fd < 0) return undefined;
  return (most) => {
    // Once closed, the number is another's.
    const { fd: now = -1 } = readHandleOf(raw) ?? {};
    if (now < 0 || raw.destroyed) return undefined;
    const length = readNow(now, Math.min(most, piece.length));
    if (length === undefined || length === 0) return length;
    taken.add(raw);
    tls.receive(piece.subarray(0, length));
    return length;
  };
}

/** Whether its peer has said anything that was read, in whatever way. */
export const hasSentData = (raw: Socket): boolean => raw.bytesRead > 0 || taken.has(raw);

/** @returns 0 where nothing has come; undefined where nothing comes any more */
function readNow(fd: number, most: number): number | undefined {
  try {
    const length = readSync(fd, piece, 0, most, null);
    return length === 0 ? undefined : length;
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EAGAIN' ? 0 : undefined;
  }
}
