import { once } from 'node:events';
import { createServer } from 'node:net';
import { freePorts } from '../../../scripts/demo/connection/ports.ts';

/** Below the kernel's own range (net.ipv4.ip_local_port_range, from 32768 on), which may give a port that was just freed to another process. */
const FIRST = 10_000;
/** Test files run in processes of their own beside each other, and each takes from a range of its own. */
const RANGE = 200;
const RANGES = 100;

let last: Promise<number> | undefined;

/** A port without a listener, which no other process takes by chance. */
export function freePort(): Promise<number> {
  // One after another: each begins behind the one before.
  last = (last ?? claim()).then(async (before) => (await freePorts({ port: before + 1 })).port);
  return last;
}

/** Holds the first port of a range as long as this process lives, so that the others are its own. @returns where to begin */
async function claim(): Promise<number> {
  for (let count = 0; count < RANGES; count += 1) {
    const first = FIRST + ((process.pid + count) % RANGES) * RANGE;
    const server = createServer().unref();
    server.listen({ host: '127.0.0.1', port: first, exclusive: true });
    try {
      await once(server, 'listening');
      return first + Math.floor((Math.random() * RANGE) / 2);
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'EADDRINUSE')) throw error;
    }
  }
  throw new Error(`all ${RANGES} ranges of ports are taken`);
}
