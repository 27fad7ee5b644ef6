import { freePorts } from '../../../scripts/demo/connection/ports.ts';

/** Below those that the kernel gives away (net.ipv4.ip_local_port_range, from 32768 on): it may give a port that has just been freed to somebody else. */
const FIRST = 10_000;
/** Test files run in processes of their own beside each other, and each takes from a range of its own, or seldom from that of another at another place. */
const RANGE = 200;
const RANGES = 100;

let next = FIRST + (process.pid % RANGES) * RANGE + Math.floor((Math.random() * RANGE) / 2);

/** A port at which nobody listens, and which nobody takes by chance. */
export async function freePort(): Promise<number> {
  const { port } = await freePorts({ port: next });
  next = port + 1;
  return port;
}
