import { isInside, surroundings } from '../current.ts';
import type { Endpoint, EndpointUser, Host } from '../endpoint.ts';
import { Code, TCP_PROTOTYPE, tellRead, tellWritten, type ShutdownRequest, type WriteRequest } from './internals.ts';

/** Bytes that libuv reads at once. */
const READ_BYTES = 65_536;

/** Streams that libuv is shutting down: a socket and TLS above it have one stream. */
const shutting = new WeakSet<Endpoint>();

interface Pending {
  bytes: Uint8Array;
  readonly request: WriteRequest | undefined;
}

/**
 * What stands below a `net.Socket` in place of libuv. Like libuv, it polls its socket only while it is read or while a write waits: on a
 * paused socket, a reset by the peer is not noticed.
 */
export class StreamHandle implements EndpointUser {
  reading = false;
  bytesRead = 0;
  bytesWritten = 0;
  onread: (bytes?: ArrayBufferLike) => void = () => {};
  machine: Host | undefined;
  protected endpoint: Endpoint | undefined;
  #cancel: (() => void) | undefined;
  #ended = false;
  #looks = false;
  #shared: Uint8Array | undefined;
  readonly #pending: Pending[] = [];

  constructor() {
    // The router does without where Node.js has no such thing.
    if (isInside() && !surroundings().sharesReads) Object.assign(this, { useUserBuffer: undefined });
  }

  /** Observers of asynchronous resources do not see these. */
  getAsyncId(): number {
    return 1;
  }

  get connection(): Endpoint | undefined {
    return this.endpoint;
  }

  attach(endpoint: Endpoint): void {
    this.endpoint = endpoint;
    this.machine = endpoint.machine;
    endpoint.user = this;
  }

  /** Sets the function that cancels an attempt to connect. */
  connecting(cancel: () => void): void {
    this.#cancel = cancel;
  }

  readStart(): number {
    this.reading = true;
    this.#lookSoon();
    return 0;
  }

  readStop(): number {
    this.reading = false;
    return 0;
  }

  useUserBuffer(buffer: Uint8Array): void {
    this.#shared = buffer;
  }

  writeBuffer(_: null, bytes: Uint8Array): number | WriteRequest {
    return this.write([bytes]);
  }

  writev(_: null, chunks: readonly (Uint8Array | string)[], allBuffers: boolean): number | WriteRequest {
    const all = allBuffers ? chunks : chunks.filter((_chunk, index) => index % 2 === 0);
    return this.write(all.map((chunk) => (typeof chunk === 'string' ? Buffer.from(chunk) : chunk)));
  }

  writeUtf8String(_: null, text: string): number | WriteRequest {
    return this.write([Buffer.from(text)]);
  }

  writeLatin1String(_: null, text: string): number | WriteRequest {
    return this.write([Buffer.from(text, 'latin1')]);
  }

  shutdown(request: ShutdownRequest): number {
    const { endpoint } = this;
    if (endpoint === undefined || endpoint.broken) return Code.ENOTCONN;
    endpoint.shutdown();
    shutting.add(endpoint);
    surroundings().loop.soon(this.machine, () => {
      shutting.delete(endpoint);
      request.oncomplete(0);
    });
    return 0;
  }

  close(done?: () => void): void {
    this.#cancel?.();
    this.endpoint?.close();
    this.#closed(done);
  }

  /** Node.js takes it for closed in any case: during a shutdown it stays open for good, without an error. */
  reset(done?: () => void): number {
    if (this.endpoint !== undefined && shutting.has(this.endpoint)) return Code.EINVAL;
    this.#cancel?.();
    this.endpoint?.reset();
    this.#closed(done);
    return 0;
  }

  getpeername(out: Record<string, unknown>): number {
    const peer = this.endpoint?.peer;
    if (peer !== undefined) Object.assign(out, { address: peer.machine.host, family: 'IPv4', port: peer.port });
    return peer === undefined ? Code.ENOTCONN : 0;
  }

  getsockname(out: Record<string, unknown>): number {
    const { endpoint } = this;
    if (endpoint !== undefined) Object.assign(out, { address: endpoint.machine.host, family: 'IPv4', port: endpoint.port });
    return endpoint === undefined ? Code.ENOTCONN : 0;
  }

  setNoDelay(): number {
    return 0;
  }

  setKeepAlive(): number {
    return 0;
  }

  ref(): void {}

  unref(): void {}

  onReadable(): void {
    if (this.endpoint?.broken === true) this.#failWrites();
    this.#look();
  }

  onWritable(): void {
    this.#send();
  }

  /** Bytes have come: TLS has a look at them first. */
  protected received(chunk: Buffer): void {
    this.give(chunk);
  }

  /** Whether it looks at its socket at all. */
  protected get wants(): boolean {
    return this.reading;
  }

  protected give(chunk: Buffer): void {
    if (this.#shared === undefined) {
      tellRead(this, chunk.length, chunk);
      return;
    }
    for (let rest = chunk; rest.length > 0;) {
      // The reader of a part may set another buffer.
      const part = rest.subarray(0, this.#shared.length);
      rest = rest.subarray(part.length);
      this.#shared.set(part);
      tellRead(this, part.length);
    }
  }

  protected write(chunks: readonly Uint8Array[]): number | WriteRequest {
    const { endpoint } = this;
    if (endpoint === undefined) return Code.ENOTCONN;
    if (endpoint.broken) return endpoint.ended ? Code.EPIPE : Code.ECONNRESET;
    const bytes = chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks);
    this.bytesWritten += bytes.length;
    tellWritten(bytes.length);
    const taken = this.#pending.length === 0 ? endpoint.write(bytes) : 0;
    if (taken === bytes.length && this.#pending.length === 0) return 0;
    const request: WriteRequest = { writeStatus: null };
    this.#pending.push({ bytes: bytes.subarray(taken), request });
    return request;
  }

  protected lookAgain(): void {
    this.#lookSoon();
  }

  #closed(done: (() => void) | undefined): void {
    this.reading = false;
    this.#failWrites();
    // One that is made to see how sockets are made is in no world.
    if (isInside()) surroundings().loop.soon(this.machine, () => done?.());
  }

  #lookSoon(): void {
    if (this.#looks || this.endpoint === undefined) return;
    this.#looks = true;
    surroundings().loop.soon(this.machine, () => {
      this.#looks = false;
      this.#look();
    });
  }

  #look(): void {
    while (this.wants && !this.#ended && this.endpoint?.closed === false) {
      if (this.endpoint.broken) {
        this.#ended = true;
        tellRead(this, Code.ECONNRESET);
        return;
      }
      const chunk = this.endpoint.read(this.#shared?.length ?? READ_BYTES);
      if (chunk !== undefined) {
        this.bytesRead += chunk.length;
        this.received(chunk);
      } else if (this.endpoint.ended) {
        this.#ended = true;
        tellRead(this, Code.EOF);
        return;
      } else {
        return;
      }
    }
  }

  #send(): void {
    while (this.endpoint?.broken === false) {
      const first = this.#pending[0];
      if (first === undefined) return;
      const taken = this.endpoint.write(first.bytes);
      if (taken < first.bytes.length) {
        first.bytes = first.bytes.subarray(taken);
        return;
      }
      this.#pending.shift();
      first.request?.oncomplete?.(0);
    }
  }

  #failWrites(): void {
    const code = this.endpoint?.ended === true ? Code.EPIPE : Code.ECONNRESET;
    for (const { request } of this.#pending.splice(0)) surroundings().loop.soon(this.machine, () => request?.oncomplete?.(code));
  }
}

/** Without this prototype a reset of the socket would fail as not being TCP. */
export class TcpHandle extends StreamHandle {}
Object.setPrototypeOf(StreamHandle.prototype, TCP_PROTOTYPE);
