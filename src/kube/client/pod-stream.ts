/**
 * TCP stream to one port of a pod, in messages of a WebSocket (RFC 6455). The first byte of a message is its channel
 * (v4.channel.k8s.io): 0 has data, 1 has errors. The first message of each channel is the port number.
 */
import { randomBytes } from 'node:crypto';
import { Duplex } from 'node:stream';
import { TransportError, type TransportCode } from '../errors.ts';
import { bounded } from '../../telemetry/boundary.ts';
import { printable } from '../../text/printable.ts';

export const POD_STREAM_PROTOCOL = 'v4.channel.k8s.io';

const [DATA, ERRORS] = [0, 1] as const;
const opcode = { continuation: 0, binary: 2, close: 8, ping: 9, pong: 10 } as const;
/** Bytes of the port number that begins each channel. */
const PORT_BYTES = 2;
/** The kubelet copies at most 32 KiB at once. */
const MOST_MESSAGE = 1_048_576;
const FINAL = 0x80;
const MASKED = 0x80;
const NOTHING = Buffer.alloc(0);

export class PodStream extends Duplex {
  readonly #socket: Duplex;
  readonly #name: string;
  #buffered: Buffer = NOTHING;
  /** Frames of a message that is not complete yet. */
  #message: Buffer = NOTHING;
  /** Number of header bytes that each channel has sent. */
  readonly #headers = [0, 0];
  #onDrain: (() => void) | undefined;
  #hasEnded = false;

  /** @param name of the call in messages @param socket after the upgrade */
  constructor(name: string, socket: Duplex) {
    super();
    this.#name = name;
    this.#socket = socket;
    const fail = (error: unknown): void => void this.destroy(error instanceof Error ? error : new Error(String(error)));
    socket.on(
      'data',
      bounded('stream/pod-data', (chunk: Buffer) => this.#receive(chunk), fail),
    );
    socket.on('error', bounded('stream/pod-error', fail, fail));
    socket.on(
      'close',
      bounded('stream/pod-closed', () => this.#end()),
    );
    socket.on(
      'drain',
      bounded('stream/pod-drain', () => this.#drained()),
    );
  }

  #drained(): void {
    const go = this.#onDrain;
    this.#onDrain = undefined;
    go?.();
  }

  override _read(): void {
    this.#socket.resume();
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    if (this.#send(opcode.binary, Buffer.concat([Buffer.of(DATA), chunk]))) done();
    else this.#onDrain = done;
  }

  override _final(done: () => void): void {
    this.#send(opcode.close, NOTHING);
    this.#socket.end();
    done();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#socket.destroy();
    done(error);
  }

  /** @returns false if the caller should wait for `drain` */
  #send(kind: number, payload: Buffer): boolean {
    const mask = randomBytes(4);
    const masked = Buffer.from(payload);
    for (let index = 0; index < masked.length; index += 1) masked[index] = (masked[index] ?? 0) ^ (mask[index % 4] ?? 0);
    return this.#socket.write(Buffer.concat([headOf(kind, payload.length), mask, masked]));
  }

  #receive(chunk: Buffer): void {
    this.#buffered = this.#buffered.length === 0 ? chunk : Buffer.concat([this.#buffered, chunk]);
    for (;;) {
      const frame = frameIn(this.#buffered);
      if (frame === undefined || this.destroyed) break;
      if (frame === 'invalid' || this.#message.length + frame.payload.length > MOST_MESSAGE)
        return this.#fail('kube-malformed', 'a frame of the WebSocket is invalid');
      this.#buffered = this.#buffered.subarray(frame.size);
      this.#frame(frame);
    }
  }

  #frame({ kind, isLast, payload }: Frame): void {
    switch (kind) {
      case opcode.continuation:
      case opcode.binary: {
        const message = this.#message.length === 0 ? payload : Buffer.concat([this.#message, payload]);
        this.#message = isLast ? NOTHING : message;
        if (isLast) this.#deliver(message);
        break;
      }
      case opcode.ping:
        this.#send(opcode.pong, payload);
        break;
      case opcode.close:
        this.#end();
        this.#socket.end();
        break;
    }
  }

  #fail(code: TransportCode, why: string): void {
    this.destroy(new TransportError(code, `${this.#name}: ${why}.`, { sent: true, answered: true }));
  }

  #end(): void {
    if (!this.#hasEnded) this.push(null);
    this.#hasEnded = true;
  }

  #deliver(message: Buffer): void {
    const [channel = -1] = message;
    const seen = this.#headers[channel];
    if (seen === undefined) return;
    const skipped = Math.min(PORT_BYTES - seen, message.length - 1);
    this.#headers[channel] = seen + skipped;
    const data = message.subarray(1 + skipped);
    if (data.length === 0 || this.#hasEnded) return;
    if (channel === ERRORS) return this.#fail('kube-cut', printable(data.toString('utf8'), 300));
    if (!this.push(data)) this.#socket.pause();
  }
}

interface Frame {
  readonly kind: number;
  readonly isLast: boolean;
  readonly payload: Buffer;
  /** Bytes of head and payload. */
  readonly size: number;
}

/** Undefined until the whole frame has arrived. Servers do not mask. */
function frameIn(bytes: Buffer): Frame | 'invalid' | undefined {
  const [first, second] = bytes;
  if (first === undefined || second === undefined) return undefined;
  const short = second & 0x7f;
  const head = short === 126 ? 4 : short === 127 ? 10 : 2;
  if (bytes.length < head) return undefined;
  const length = short === 126 ? bytes.readUInt16BE(2) : short === 127 ? Number(bytes.readBigUInt64BE(2)) : short;
  if ((second & MASKED) !== 0 || length > MOST_MESSAGE) return 'invalid';
  if (bytes.length < head + length) return undefined;
  return { kind: first & 0x0f, isLast: (first & FINAL) !== 0, payload: bytes.subarray(head, head + length), size: head + length };
}

/** Head of a masked frame, without the mask. */
function headOf(kind: number, length: number): Buffer {
  if (length < 126) return Buffer.of(FINAL | kind, MASKED | length);
  const head = Buffer.alloc(length < 65_536 ? 4 : 10);
  head[0] = FINAL | kind;
  head[1] = MASKED | (length < 65_536 ? 126 : 127);
  if (length < 65_536) head.writeUInt16BE(length, 2);
  else head.writeBigUInt64BE(BigInt(length), 2);
  return head;
}
