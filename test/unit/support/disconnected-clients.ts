import { Worker } from 'node:worker_threads';

const CLIENTS = `
const { connect } = require('node:net');
const { workerData: { port, count, over } } = require('node:worker_threads');
for (let at = 0; at < count; at += 1) {
  const socket = connect(port, '127.0.0.1', () => socket.resetAndDestroy());
  socket.once('close', () => { Atomics.add(over, 0, 1); Atomics.notify(over, 0); });
}
`;

/** So many connect to a port of this process and reset: when this returns all have done so, and none has been accepted, since this thread stood still. */
export function comeAndGo(port: number, count: number): void {
  const over = new Int32Array(new SharedArrayBuffer(4));
  const worker = new Worker(CLIENTS, { eval: true, workerData: { port, count, over } });
  worker.unref();
  for (let gone = 0; gone < count; gone = Atomics.load(over, 0)) Atomics.wait(over, 0, gone, 10_000);
}

/** Connections that this process has open. */
export const openSockets = (): number => process.getActiveResourcesInfo().filter((kind) => kind === 'TCPSocketWrap').length;
