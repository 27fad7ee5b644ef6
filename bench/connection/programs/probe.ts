/**
 * `node probe.ts HOST PORT`: begins a connection every 10 ms, says one byte, and prints `BEGUN WELL` for each: when it was begun
 * (milliseconds since 1970) and whether the byte came back within 250 ms.
 */
import { connect } from 'node:net';

const [, , host = '', port = ''] = process.argv;
const PATIENCE = 250;

setInterval(() => {
  const begun = performance.timeOrigin + performance.now();
  const socket = connect({ host, port: Number(port) });
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const late = setTimeout(resolve, PATIENCE, false);
  socket.on('data', () => resolve(true));
  socket.on('close', () => resolve(false));
  socket.on('error', () => resolve(false));
  socket.write('x');
  void promise.then((well) => {
    clearTimeout(late);
    socket.destroy();
    process.stdout.write(`${begun.toFixed(1)} ${well ? 1 : 0}\n`);
  });
}, 10);
