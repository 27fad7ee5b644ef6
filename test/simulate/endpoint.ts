import type { Loop, Owner } from './loop.ts';
import type { Path } from './path.ts';

/** The machine whose kernel it is. */
export interface Host extends Owner {
  /** Its address. */
  readonly host: string;
  readonly isOn: boolean;
  readonly endpoints: Set<Endpoint>;
  readonly network: { readonly loop: Loop; trace(where: string, what: Uint8Array | string): void };
}

/** A user of a socket of the kernel: it is notified of changes, and reads them. */
export interface EndpointUser {
  /** Bytes, an end or a reset have arrived. */
  onReadable(): void;
  /** There is room again, after `write` took less than it was given. */
  onWritable(): void;
}

type Item = { readonly at: number; readonly what: Buffer | 'fin' | 'rst' };

/** Kernel state of one TCP connection at one machine. Its user reads and writes without waiting; bytes keep their order, and only a reset loses any. */
export class Endpoint {
  user: EndpointUser = NOBODY;
  readonly machine: Host;
  readonly port: number;
  /** Whether it is of a client or a server, or of their peer. */
  readonly isLoopback: boolean;
  /** Bytes that have arrived and were not read. */
  unread = 0;
  /** The peer's FIN has arrived. */
  ended = false;
  /** Its RST has arrived. */
  broken = false;
  /** Our FIN has been sent. */
  shut = false;
  /** Our RST has been sent. */
  hasReset = false;
  /** Its user has closed it: the kernel knows it no more. */
  closed = false;
  readonly #where: string;
  readonly #path: Path;
  readonly #capacity: number;
  #peer: Endpoint | undefined;
  #arrived: Buffer[] = [];
  /** On its way to the peer. */
  #flying: Item[] = [];
  #bytesFlying = 0;
  #lastAt = 0;
  #moving = false;
  #wantsRoom = false;

  constructor(machine: Host, { port, isLoopback }: { readonly port: number; readonly isLoopback: boolean }, path: Path, capacity: number) {
    this.machine = machine;
    this.port = port;
    this.#where = `${machine.name}:${port}`;
    this.isLoopback = isLoopback;
    this.#path = path;
    this.#capacity = capacity;
    machine.endpoints.add(this);
  }

  static connect(one: Endpoint, other: Endpoint): void {
    one.#peer = other;
    other.#peer = one;
  }

  get peer(): Endpoint {
    if (this.#peer === undefined) throw new Error('An endpoint without a peer.');
    return this.#peer;
  }

  /** Nothing more will come of it, whether its user has looked or not. */
  get over(): boolean {
    return this.closed || this.broken;
  }

  /** @returns how many bytes were taken; `onWritable` follows where they were not all. Not to be called once it is `broken` */
  write(chunk: Uint8Array): number {
    const room = this.peer.over ? Infinity : this.#capacity - this.#bytesFlying - this.peer.unread;
    const taken = Math.max(0, Math.min(room, chunk.length));
    if (taken < chunk.length) this.#wantsRoom = true;
    if (taken > 0) this.#sendBytes(Buffer.from(taken === chunk.length ? chunk : chunk.subarray(0, taken)));
    return taken;
  }

  read(most: number): Buffer | undefined {
    const first = this.#arrived[0];
    if (first === undefined) return undefined;
    const bytes = this.#arrived.length === 1 ? first : Buffer.concat(this.#arrived);
    const isAll = bytes.length <= most;
    const chunk = isAll ? bytes : bytes.subarray(0, most);
    this.#arrived = isAll ? [] : [bytes.subarray(most)];
    this.unread -= chunk.length;
    this.#tellRoom();
    return chunk;
  }

  /** FIN. */
  shutdown(): void {
    if (this.shut || this.over) return;
    this.shut = true;
    this.#send('fin', 0);
  }

  /** Unread bytes make it a reset, as close(2) does. */
  close(): void {
    if (this.closed) return;
    if (this.unread > 0) {
      this.reset();
      return;
    }
    this.shutdown();
    this.#forget();
  }

  reset(): void {
    if (this.closed) return;
    if (!this.broken) {
      this.hasReset = true;
      this.#flying = [];
      this.#bytesFlying = 0;
      // Unacknowledged data is sent again, except for a reset.
      if (!this.#path.isHeldFor(this.peer.machine, this.peer)) this.#send('rst', 0);
    }
    this.#forget();
  }

  /** Its machine lost power: no peer is notified. */
  vanish(): void {
    this.#flying = [];
    this.#bytesFlying = 0;
    this.broken = true;
    this.#notify();
    this.#forget();
  }

  /** An RST of a middlebox. */
  receiveReset(): void {
    this.#take('rst');
    this.#notify();
  }

  #notify(): void {
    const { user, machine } = this;
    machine.network.loop.soon(machine, () => user.onReadable());
  }

  #forget(): void {
    this.closed = true;
    this.#arrived = [];
    this.unread = 0;
    this.user = NOBODY;
    this.machine.endpoints.delete(this);
  }

  #sendBytes(bytes: Buffer): void {
    const cut = this.#path.cut(bytes.length);
    this.#bytesFlying += bytes.length;
    if (cut > 0) this.#send(bytes.subarray(0, cut), cut);
    this.#send(cut > 0 ? bytes.subarray(cut) : bytes, bytes.length - cut);
  }

  #send(what: Item['what'], length: number): void {
    this.#lastAt = Math.max(this.#lastAt, this.#path.arrival(length));
    this.#flying.push({ at: this.#lastAt, what });
    this.#move();
  }

  #move(): void {
    const first = this.#flying[0];
    if (this.#moving || first === undefined) return;
    this.#moving = true;
    this.#path.deliver(first.at, this.peer.machine, () => this.#arrive(), this.peer);
  }

  #arrive(): void {
    this.#moving = false;
    const { now } = this.machine.network.loop;
    const { peer } = this;
    while (this.#flying[0] !== undefined && this.#flying[0].at <= now) {
      const { what } = this.#flying[0];
      this.#flying.shift();
      if (typeof what !== 'string') this.#bytesFlying -= what.length;
      peer.#take(what);
    }
    if (!peer.closed) peer.user.onReadable();
    this.#move();
  }

  #take(what: Item['what']): void {
    this.machine.network.trace(this.#where, what);
    if (this.closed) {
      // The connection is unknown here: unless the machine is off, it answers with an RST.
      if (what !== 'rst' && what !== 'fin' && this.machine.isOn && !this.peer.over) this.#answerRst();
      return;
    }
    if (this.broken) return;
    if (what === 'rst') {
      this.broken = true;
      this.#arrived = [];
      this.unread = 0;
      this.#flying = [];
      this.#bytesFlying = 0;
    } else if (what === 'fin') {
      this.ended = true;
    } else {
      this.#arrived.push(what);
      this.unread += what.length;
    }
  }

  /** Not lost while the path is held: TCP sends unacknowledged bytes again, and each time they are answered. */
  #answerRst(): void {
    if (this.#flying.some(({ what }) => what === 'rst')) return;
    this.#flying = [];
    this.#bytesFlying = 0;
    this.#send('rst', 0);
  }

  /** The peer may write again. */
  #tellRoom(): void {
    const { peer } = this;
    if (!peer.#wantsRoom || peer.closed) return;
    peer.#wantsRoom = false;
    this.#path.deliver(this.#path.arrival(0), peer.machine, () => {
      if (!peer.closed) peer.user.onWritable();
    });
  }
}

/** Reads nothing and says nothing. */
export const NOBODY: EndpointUser = { onReadable() {}, onWritable() {} };
