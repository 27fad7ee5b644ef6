import type { Socket } from 'node:net';
import { bounded, guard } from '../../telemetry/boundary.ts';

/** Milliseconds between two looks. */
const LOOK = 1_000;

const ended = new Set<Socket>();
let timer: NodeJS.Timeout | undefined;

/**
 * Watches a TCP socket whose peer has ended its half. Node.js polls such a socket no more, and the kernel says nothing but end of file to
 * those who read on; so a peer that resets or vanishes later would be noticed only when there is something to be written, and a
 * connection that waits for a slow server would be held for nobody. Writing nothing tells: it fails where the peer is gone
 * (EPIPE, which destroys the socket), and does nothing where it is not.
 */
export function watchEnded(socket: Socket): void {
  if (socket.destroyed) return;
  ended.add(socket);
  const closed = (): void => void ended.delete(socket);
  socket.once('close', bounded('connection/ended-closed', closed, closed));
  timer ??= setInterval(bounded('look/ended-sockets', look), LOOK).unref();
}

function look(): void {
  for (const socket of ended) guard('connection/ended-look', socket, poke, destroy);
  if (ended.size > 0) return;
  clearInterval(timer);
  timer = undefined;
}

function poke(socket: Socket): void {
  if (socket.writable && socket.writableLength === 0) socket.write(NOTHING);
}

const destroy = (socket: Socket): void => void socket.destroy();

const NOTHING = Buffer.alloc(0);
