import type { Clock, Loop, Owner } from './loop.ts';
import { Endpoint } from './endpoint.ts';
import { Path } from './path.ts';
import type { Random } from './random.ts';

const LOOPBACK = '127.0.0.1';

export interface Address {
  /** Or the path of a socket. */
  readonly host: string;
  readonly port: number;
}

export interface Listener {
  /** Undefined: all addresses of the machine. */
  readonly host: string | undefined;
  readonly port: number;
  /** SO_REUSEPORT. */
  readonly shared: boolean;
  onConnection(endpoint: Endpoint): void;
}

/** A machine: addresses, ports, clock, and whatever runs there. Two with one address are two processes of one machine, each with what it talks to. */
export class Machine implements Owner {
  readonly name: string;
  readonly host: string;
  readonly network: Network;
  readonly clock: Clock;
  readonly endpoints = new Set<Endpoint>();
  readonly listeners = new Map<number, Listener[]>();
  isOn = true;
  soonAt = 0;
  busyUntil = 0;
  /** It has no file descriptors left: nothing is accepted or opened. */
  isStarved = false;
  /** Its work takes time, now and then. */
  isSlow = false;
  /** The last port that a connection got. */
  readonly #ports: { last: number };

  constructor(network: Network, name: string, host: string) {
    this.network = network;
    this.name = name;
    this.host = host;
    const [other] = network.at(host);
    this.clock = other?.clock ?? { ahead: 0, rate: 1, since: 0 };
    this.#ports = other === undefined ? { last: 32_768 } : other.#ports;
  }

  port(): number {
    this.#ports.last += 1;
    return this.#ports.last;
  }

  /** @returns whether the address was free */
  listen(listener: Listener): boolean {
    const taken = this.network.at(this.host).flatMap(({ listeners }) => listeners.get(listener.port) ?? []);
    if (taken.some((other) => overlaps(other, listener) && !(other.shared && listener.shared))) return false;
    this.listeners.set(listener.port, [...(this.listeners.get(listener.port) ?? []), listener]);
    return true;
  }

  close(listener: Listener): void {
    const left = (this.listeners.get(listener.port) ?? []).filter((other) => other !== listener);
    if (left.length === 0) this.listeners.delete(listener.port);
    else this.listeners.set(listener.port, left);
  }

  listens(port: number): boolean {
    return this.listeners.has(port);
  }
}

/** It is one of the same machine's. */
const isLocal = ({ host }: Address): boolean => host === LOOPBACK || host.startsWith('/');

const overlaps = (one: Listener, other: Listener): boolean => one.host === undefined || other.host === undefined || one.host === other.host;

/** Milliseconds between two tries to reach a silent host, and until that is given up (tcp_syn_retries). */
const KNOCK = 1_000;
/** Delays of a slow path: there and back, with the jitter of both. */
const LONGEST_ROUND_TRIP = 2.2;
const MOST_KNOCKS = 6;

export class Network {
  readonly loop: Loop;
  readonly random: Random;
  readonly machines = new Set<Machine>();
  readonly #paths: Path[] = [];
  /** By both addresses. */
  readonly #pathsBetween = new Map<string, Map<string, Path>>();
  readonly #trace: (where: string, what: Uint8Array | string) => void;
  /** Bytes that a connection holds, one way. */
  readonly #capacity: number;
  readonly #slow: number | undefined;

  /** @param slow milliseconds that all paths between machines take, one way */
  constructor(loop: Loop, random: Random, trace: (where: string, what: Uint8Array | string) => void, slow?: number) {
    this.#slow = slow;
    this.loop = loop;
    this.random = random;
    this.#trace = trace;
    this.#capacity = random.scaled(8_192, 262_144);
  }

  trace(where: string, what: Uint8Array | string): void {
    this.#trace(where, what);
  }

  /** @returns milliseconds that a connection takes for so many bytes over a slow path: what it holds, in each round trip */
  timeFor(bytes: number): number {
    return (bytes / this.#capacity) * LONGEST_ROUND_TRIP * (this.#slow ?? 0);
  }

  add(name: string, host: string): Machine {
    const machine = new Machine(this, name, host);
    this.machines.add(machine);
    return machine;
  }

  /** The processes of a machine. */
  at(host: string): readonly Machine[] {
    return [...this.machines].filter((machine) => machine.host === host);
  }

  path({ host: one }: Machine, { host: other }: Machine): Path {
    const known = this.#pathsBetween.get(one)?.get(other);
    if (known !== undefined) return known;
    const path = new Path(this, one === other, this.#slow);
    this.#paths.push(path);
    this.#pathsBetween.getOrInsertComputed(one, () => new Map()).set(other, path);
    this.#pathsBetween.getOrInsertComputed(other, () => new Map()).set(one, path);
    return path;
  }

  heal(): void {
    for (const path of this.#paths) path.release();
  }

  get endpoints(): number {
    return this.machines.values().reduce((sum, { endpoints }) => sum + endpoints.size, 0);
  }

  /** @param done with the endpoint, or the system's code. @returns how to give up */
  connect(from: Machine, address: Address, done: (result: Endpoint | string) => void): () => void {
    const [to] = isLocal(address) ? [from] : this.at(address.host);
    let over = false;
    const finish = (result: Endpoint | string): void => {
      if (over && typeof result !== 'string') result.close();
      if (over) return;
      over = true;
      done(result);
    };
    if (to === undefined) {
      this.loop.soon(from, () => finish('ENETUNREACH'));
    } else {
      this.#knock(from, to, address, 0, finish);
    }
    return () => {
      over = true;
    };
  }

  #knock(from: Machine, to: Machine, address: Address, knocks: number, finish: (result: Endpoint | string) => void): void {
    const path = this.path(from, to);
    if ([from, to].some((end) => path.isHeldFor(end)) || !to.isOn) {
      if (knocks >= MOST_KNOCKS) finish('ETIMEDOUT');
      else this.loop.after(KNOCK * 2 ** knocks, from, () => this.#knock(from, to, address, knocks + 1, finish));
      return;
    }
    path.deliver(path.arrival(0), to, () => {
      const found = this.#listenerAt(to.host, address);
      if (found === undefined) {
        path.deliver(path.arrival(0), from, () => finish('ECONNREFUSED'));
        return;
      }
      const { machine, listener } = found;
      const isLoopback = address.host === LOOPBACK;
      const near = new Endpoint(from, { port: from.port(), isLoopback }, path, this.#capacity);
      const far = new Endpoint(machine, { port: address.port, isLoopback }, path, this.#capacity);
      Endpoint.connect(near, far);
      const fail = (): void => {
        near.vanish();
        this.loop.after(KNOCK, from, () => finish('ETIMEDOUT'));
      };
      path.halfMade.add(fail);
      path.deliver(path.arrival(0), from, () => {
        path.halfMade.delete(fail);
        finish(near);
      });
      this.loop.soon(machine, () => {
        // Its process was ended before it came to it.
        if (far.closed) return;
        // The listener is gone: the kernel resets connections that waited to be accepted.
        if (machine.listeners.get(listener.port)?.includes(listener) === true) listener.onConnection(far);
        else far.reset();
      });
    });
  }

  /** One of those who share the port. */
  #listenerAt(at: string, { host, port }: Address): { readonly machine: Machine; readonly listener: Listener } | undefined {
    const all = this.at(at).flatMap((machine) => (machine.listeners.get(port) ?? []).map((listener) => ({ machine, listener })));
    return this.random.pick(all.filter(({ listener }) => listener.host === undefined || listener.host === host));
  }
}
