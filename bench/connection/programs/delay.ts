/**
 * `node delay.ts LISTEN TARGET MS WINDOW`: passes TCP connections on to 127.0.0.1 as a link with so many milliseconds of round trip would.
 * Each direction holds every byte back for half of it. As with TCP over a real distance, at most WINDOW bytes of a direction are on their
 * way or not yet acknowledged, and an acknowledgement takes the other half.
 */
import { connect, createServer, type Socket } from 'node:net';

const [listen = 0, target = 0, roundTrip = 0, window = 0] = process.argv.slice(2).map(Number);
const half = roundTrip / 2;

createServer({ allowHalfOpen: true, noDelay: true, highWaterMark: 262_144 }, (client) => {
  // The target must not hear of the connection before its first packet would have arrived.
  setTimeout(() => {
    const server = connect({ host: '127.0.0.1', port: target, allowHalfOpen: true, noDelay: true });
    pass(client, server);
    pass(server, client);
  }, half);
}).listen(listen);

function pass(from: Socket, to: Socket): void {
  let unacknowledged = 0;
  const later = (act: () => void): void => {
    setTimeout(act, half);
  };
  // Timers of one length run in the order in which they were set.
  from.on('data', (chunk: Buffer) => {
    unacknowledged += chunk.length;
    if (unacknowledged >= window) from.pause();
    const acknowledge = (): void =>
      later(() => {
        unacknowledged -= chunk.length;
        if (unacknowledged < window && from.isPaused()) from.resume();
      });
    // The receiver acknowledges what it has room for: when the bytes are the kernel's.
    later(() => {
      if (!to.destroyed) to.write(chunk, acknowledge);
    });
  });
  from.on('end', () =>
    later(() => {
      if (!to.destroyed) to.end();
    }),
  );
  from.on('error', () => undefined);
  from.on('close', (failed) => {
    if (failed) later(() => to.resetAndDestroy());
  });
}
