import { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';

/**
 * A connection without a network: what is fed arrives within the call, what the other end writes is kept. Only what sessions and links
 * use of a socket is there. It never closes by itself: `close` does, as the peer's going away would.
 */
export class Wire extends EventEmitter {
  readonly remoteAddress = '192.0.2.1';
  readonly remotePort = 1;
  bytesRead = 0;
  bytesWritten = 0;
  destroyed = false;
  writableEnded = false;
  readableEnded = false;
  /** Written bytes. */
  readonly sent: Buffer[] = [];
  readonly #reads: boolean;
  #taken: (() => void)[] = [];

  /** @param reads whether the peer ever takes what is written */
  constructor(reads: boolean) {
    super();
    this.#reads = reads;
  }

  /** Sessions need a socket; this is the part that they use. */
  get socket(): Socket {
    return this as unknown as Socket;
  }

  pause(): this {
    return this;
  }

  resume(): this {
    return this;
  }

  feed(chunk: Buffer): void {
    if (this.destroyed || this.readableEnded) return;
    this.bytesRead += chunk.length;
    this.emit('data', chunk);
  }

  /** The peer half-closes. */
  finish(): void {
    if (this.destroyed || this.readableEnded) return;
    this.readableEnded = true;
    this.emit('end');
  }

  /** The peer has read what was written. */
  take(): void {
    if (!this.#reads) return;
    for (const taken of this.#taken.splice(0)) taken();
  }

  write(chunk: Buffer, taken?: () => void): boolean {
    this.bytesWritten += chunk.length;
    // Slabs go round: the bytes are another's after this turn.
    this.sent.push(Buffer.from(chunk));
    if (taken !== undefined) this.#taken.push(taken);
    return true;
  }

  end(last?: Buffer): this {
    if (last !== undefined) this.write(last);
    this.writableEnded = true;
    return this;
  }

  destroy(): this {
    if (this.destroyed) return this;
    this.destroyed = true;
    this.#taken = [];
    this.emit('close');
    return this;
  }
}
