import { once } from 'node:events';
import { createServer } from 'node:net';

/** Below those that the kernel gives away (net.ipv4.ip_local_port_range, from 32768 on): it may give a port that has just been freed to somebody else. */
const FIRST = 10_000;
/** Test files run in processes of their own beside each other, and each takes from a range of its own, or seldom from that of another at another place. */
const RANGE = 100;
const RANGES = 200;

let next = Math.floor(Math.random() * RANGE);

/** A port of 127.0.0.1 at which nobody listens, and which nobody takes by chance. */
export async function freePort(): Promise<number> {
  for (let tried = 0; tried < RANGE; tried += 1) {
    const port = FIRST + (process.pid % RANGES) * RANGE + next;
    next = (next + 1) % RANGE;
    if (await isFree(port)) return port;
  }
  throw new Error(`All of the ${RANGE} ports of this process are taken, from ${FIRST + (process.pid % RANGES) * RANGE} on.`);
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  server.listen({ port, host: '127.0.0.1', exclusive: true });
  try {
    await once(server, 'listening');
  } catch {
    return false;
  }
  server.close();
  await once(server, 'close');
  return true;
}
