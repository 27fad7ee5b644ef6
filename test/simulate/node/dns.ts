/** Stands for `node:dns` in the router: a name is that of a machine, or unknown. */
import { here, random, surroundings } from '../current.ts';
import type { Machine } from '../network.ts';

interface Found {
  readonly address: string;
  readonly family: number;
}

/** Milliseconds that an answer takes. */
const ANSWER: readonly [number, number] = [1, 50];

export function lookup(host: string, _: object, done: (error: NodeJS.ErrnoException | null, addresses: readonly Found[]) => void): void {
  addressOf(here(), host, (address) => {
    if (address !== undefined) done(null, [{ address, family: 4 }]);
    else done(Object.assign(new Error(`getaddrinfo ENOTFOUND ${host}`), { code: 'ENOTFOUND' }), []);
  });
}

/** @returns how to give up */
export function addressOf(from: Machine, host: string, done: (address: string | undefined) => void): () => void {
  const { loop, network } = surroundings();
  const known = host === 'localhost' ? '127.0.0.1' : [...network.machines].find(({ name }) => name === host)?.host;
  const due = loop.after(random().int(...ANSWER), from, () => done(known));
  return () => loop.cancel(due);
}
