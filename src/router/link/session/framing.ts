import { LinkError } from '../link-errors.ts';

/** Most bytes of a routing message with its type. A peer that announces more is disconnected. */
export const MOST_MESSAGE_BYTES = 65_536;

/** Frames a message for a routing stream: 4 bytes with the length of the rest, then type and payload. */
export function frameMessage(message: Uint8Array): Buffer {
  if (message.length === 0 || message.length > MOST_MESSAGE_BYTES) {
    throw new RangeError(`A routing message has 1 to ${MOST_MESSAGE_BYTES} bytes, not ${message.length}.`);
  }
  const frame = Buffer.allocUnsafe(4 + message.length);
  frame.writeUInt32BE(message.length, 0);
  frame.set(message, 4);
  return frame;
}

/** Joins type and payload. */
export function messageOfType(type: number, payload: Uint8Array): Buffer {
  const message = Buffer.allocUnsafe(1 + payload.length);
  message[0] = type;
  message.set(payload, 1);
  return message;
}

/** Splits a stream of bytes into messages. Holds at most one unfinished message. */
export class MessageReader {
  readonly #most: number;
  readonly #length = Buffer.allocUnsafe(4);
  #lengthBytes = 0;
  #message: Buffer | undefined;
  #filled = 0;
  /** Length of the current message. Its buffer grows as data arrives, so an announced length costs this end no more than the sender. */
  #expected = 0;

  constructor(most = MOST_MESSAGE_BYTES) {
    this.#most = most;
  }

  /** Whether the reader is between two messages. */
  get empty(): boolean {
    return this.#message === undefined && this.#lengthBytes === 0;
  }

  /** @throws LinkError if a length is invalid */
  push(chunk: Buffer): readonly Buffer[] {
    const messages: Buffer[] = [];
    for (let at = 0; at < chunk.length;) {
      const read = this.read(chunk, at);
      if (read.message !== undefined) messages.push(read.message);
      at = read.at;
    }
    return messages;
  }

  /**
   * Reads up to the end of the next message, so that a caller can leave the rest unread.
   * @returns where it stopped: after a message, or at the chunk's end
   * @throws LinkError if a length is invalid
   */
  read(chunk: Buffer, from: number): { readonly at: number; readonly message: Buffer | undefined } {
    let at = from;
    while (at < chunk.length) {
      if (this.#message === undefined) {
        this.#length[this.#lengthBytes++] = chunk[at++] ?? 0;
        if (this.#lengthBytes === 4) this.#begin();
        continue;
      }
      const taken = Math.min(this.#expected - this.#filled, chunk.length - at);
      this.#message = grown(this.#message, this.#filled + taken, this.#expected);
      chunk.copy(this.#message, this.#filled, at, at + taken);
      this.#filled += taken;
      at += taken;
      if (this.#filled === this.#expected) {
        const message = this.#message.subarray(0, this.#filled);
        this.#message = undefined;
        this.#lengthBytes = 0;
        return { at, message };
      }
    }
    return { at, message: undefined };
  }

  #begin(): void {
    const length = this.#length.readUInt32BE(0);
    if (length === 0 || length > this.#most) {
      throw new LinkError('protocol', `The peer announced a routing message of ${length} bytes; 1 to ${this.#most} are allowed.`);
    }
    this.#expected = length;
    this.#filled = 0;
    this.#message = Buffer.allocUnsafeSlow(Math.min(length, 4_096));
  }
}

function grown(buffer: Buffer, needed: number, most: number): Buffer {
  if (needed <= buffer.length) return buffer;
  const larger = Buffer.allocUnsafeSlow(Math.min(most, Math.max(needed, buffer.length * 2)));
  buffer.copy(larger);
  return larger;
}
