import type { Due } from './loop.ts';
import type { Endpoint, EndpointUser } from './endpoint.ts';
import { Random } from './random.ts';
import type { Manner } from './shaker.ts';

/** The pace of a reader. */
export type Reading =
  | { readonly kind: 'all' }
  /** So many bytes each so many milliseconds. */
  | { readonly kind: 'slow'; readonly bytes: number; readonly every: number }
  /** So many bytes, and then nothing for ever. */
  | { readonly kind: 'stops'; readonly after: number };

/** Acts of one end of a connection. */
export interface Part {
  /** Bytes that it sends; what it gets, where it echoes. */
  readonly sends: number | 'echo';
  /** At most so many at once, then a pause of so many milliseconds. */
  readonly chunk: number;
  readonly pause: number;
  /** It half-closes after that; otherwise it keeps the connection. */
  readonly ends: boolean;
  readonly reads: Reading;
}

export interface Talk {
  readonly id: number;
  readonly client: Part;
  readonly server: Part;
  /** How its client begins TLS, where the listener has it. */
  readonly manner?: Manner;
}

/** The first bytes that a client sends: the number of its connection. */
export const HEADER_BYTES = 8;
const MOST_SENT = 65_536;
const PERIOD = 65_536;
/** Twice, so that each piece of it stands together. */
const PATTERN = (() => {
  const once = new Random(0).bytes(PERIOD);
  return Buffer.concat([once, once]);
})();

/** Byte at that position of a direction of a connection. */
function pattern(id: number, isUp: boolean, at: number, length: number): Buffer {
  const start = (at + id * 7_919 + (isUp ? 0 : 31_337)) % PERIOD;
  return PATTERN.subarray(start, start + Math.min(length, PERIOD));
}

/** One end of a connection at a client or a server: sends and reads as its part says, and compares what comes. */
export class Talker implements EndpointUser {
  readonly endpoint: Endpoint;
  readonly isClient: boolean;
  sent = 0;
  received = 0;
  /** It read the other's FIN. */
  sawEnd = false;
  /** Its own is sent. */
  finished = false;
  /** It left, or was reset. */
  gone = false;
  wasReset = false;
  /** Difference between received and sent bytes. */
  fault: string | undefined;
  readonly id: number;
  readonly #part: Part;
  readonly #onGone: () => void;
  #sendTimer: Due | undefined;
  #readTimer: Due | undefined;

  constructor(endpoint: Endpoint, id: number, part: Part, isClient: boolean, onGone: () => void, received = 0) {
    this.endpoint = endpoint;
    this.id = id;
    this.isClient = isClient;
    this.#part = part;
    this.#onGone = onGone;
    this.received = received;
    endpoint.user = this;
    this.onReadable();
    this.#send();
  }

  /** All that it will ever send has been taken by the kernel. */
  get hasSent(): boolean {
    return this.#part.sends === 'echo' ? this.sawEnd && this.sent >= this.received : this.sent >= this.#part.sends;
  }

  /** It has something to send that the kernel has not taken. */
  get hasMore(): boolean {
    return this.sent < (this.#part.sends === 'echo' ? this.received : this.#part.sends);
  }

  get isReading(): boolean {
    const { reads } = this.#part;
    return !this.gone && (reads.kind !== 'stops' || this.received < reads.after);
  }

  onReadable(): void {
    if (this.gone) return;
    if (this.endpoint.broken) this.#leave(true);
    else if (this.#part.reads.kind === 'slow') this.#readSlowly(this.#part.reads);
    else this.#read(MOST_SENT);
  }

  onWritable(): void {
    this.#send();
  }

  /** @param how by a reset, or as close(2) does */
  leave(how: 'reset' | 'close'): void {
    if (this.gone) return;
    if (how === 'reset') this.endpoint.reset();
    else this.endpoint.close();
    this.#leave(false);
  }

  #readSlowly({ bytes, every }: { readonly bytes: number; readonly every: number }): void {
    if (this.#readTimer !== undefined) return;
    this.#readTimer = this.#after(every, () => {
      this.#readTimer = undefined;
      if (this.gone) return;
      const before = this.received;
      this.#read(bytes, true);
      if (this.received > before && !this.gone) this.#readSlowly({ bytes, every });
    });
  }

  #read(most: number, once = false): void {
    for (;;) {
      const { reads } = this.#part;
      const wanted = reads.kind === 'stops' ? Math.min(most, reads.after - this.received) : most;
      const chunk = wanted > 0 ? this.endpoint.read(wanted) : undefined;
      if (chunk === undefined) break;
      this.#compare(chunk);
      if (once) break;
    }
    if (this.isReading && this.endpoint.ended && this.endpoint.unread === 0) this.sawEnd = true;
    if (this.#part.sends === 'echo' || this.sawEnd) this.#send();
  }

  #compare(chunk: Buffer): void {
    const from = !this.isClient && this.received < HEADER_BYTES ? HEADER_BYTES - this.received : 0;
    const rest = chunk.subarray(from);
    if (!rest.equals(pattern(this.id, !this.isClient, this.received + from, rest.length)))
      this.fault ??= `what the ${this.isClient ? 'client' : 'server'} of connection ${this.id} got from byte ${this.received} on is not what was sent`;
    this.received += chunk.length;
  }

  #send(): void {
    if (this.gone || this.#sendTimer !== undefined || this.endpoint.broken) return;
    const { chunk, pause } = this.#part;
    for (;;) {
      const left = (this.#part.sends === 'echo' ? this.received : this.#part.sends) - this.sent;
      if (left <= 0) break;
      const bytes = this.#next(Math.min(left, chunk, MOST_SENT));
      const taken = this.endpoint.write(bytes);
      this.sent += taken;
      if (taken < bytes.length) return;
      if (pause > 0) {
        this.#sendTimer = this.#after(pause, () => {
          this.#sendTimer = undefined;
          this.#send();
        });
        return;
      }
    }
    if (this.#part.ends && this.hasSent && !this.finished) {
      this.finished = true;
      this.endpoint.shutdown();
    }
    if (this.finished && this.sawEnd) {
      this.endpoint.close();
      this.#leave(false);
    }
  }

  #next(length: number): Buffer {
    if (!this.isClient || this.sent >= HEADER_BYTES) return pattern(this.id, this.isClient, this.sent, length);
    const header = Buffer.alloc(HEADER_BYTES);
    header.writeUInt32BE(this.id, 4);
    return header.subarray(this.sent);
  }

  #leave(wasReset: boolean): void {
    this.gone = true;
    this.wasReset = wasReset;
    const { loop } = this.endpoint.machine.network;
    for (const timer of [this.#sendTimer, this.#readTimer]) if (timer !== undefined) loop.cancel(timer);
    this.endpoint.close();
    this.#onGone();
  }

  #after(milliseconds: number, run: () => void): Due {
    const { machine } = this.endpoint;
    return machine.network.loop.after(milliseconds, machine, run);
  }
}

/** A client's or server's header, read before it is known whose connection it is. */
export function readHeader(bytes: Buffer): number {
  return bytes.readUInt32BE(4);
}
