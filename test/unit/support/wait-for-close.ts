import type { Socket } from 'node:net';

/** Reads a socket until it is closed. A reset closes it too, and would reject the promise of `once`. */
export function waitForClose(socket: Socket): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  if (socket.closed) resolve();
  socket
    .on('error', () => {})
    .once('close', () => resolve())
    .resume();
  return promise;
}
