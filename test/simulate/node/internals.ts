/**
 * What of Node.js's inside a handle of ours needs, so that its own `net.Socket` runs above it, as it is: its pausing, its errors and its
 * endings are part of what is tried.
 */
interface Bindings {
  binding(name: 'stream_wrap'): {
    readonly streamBaseState: Int32Array;
    readonly kReadBytesOrError: number;
    readonly kArrayBufferOffset: number;
    readonly kBytesWritten: number;
    readonly kLastWriteErr: number;
  };
  binding(name: 'tcp_wrap'): { readonly TCP: { readonly prototype: object } };
  _tickCallback(): void;
}

// Deprecated for programs, and not in the types; that it is there is what the tests of these stand-ins hold.
const { binding, _tickCallback } = process as unknown as Bindings;
const stream = binding('stream_wrap');

/** `resetAndDestroy` looks whether a handle is one of TCP. */
export const TCP_PROTOTYPE = binding('tcp_wrap').TCP.prototype;

/** As `uv.h` numbers what went wrong. */
export const Code = { EOF: -4095, ECONNRESET: -104, EPIPE: -32, ENOTCONN: -107, EINVAL: -22 } as const;

/** Node.js's view of a write under way. */
export interface WriteRequest {
  writeStatus: number | null;
  error?: string;
  oncomplete?: (status: number) => void;
}

export interface ShutdownRequest {
  oncomplete(status: number): void;
}

/** Notifies a socket of bytes, of an end or of an error, as its own streams do. */
export function tellRead(handle: { onread(bytes?: ArrayBufferLike): void }, result: number, chunk?: Buffer): void {
  stream.streamBaseState[stream.kReadBytesOrError] = result;
  stream.streamBaseState[stream.kArrayBufferOffset] = chunk?.byteOffset ?? 0;
  handle.onread(chunk?.buffer);
}

export function tellWritten(bytes: number): void {
  stream.streamBaseState[stream.kBytesWritten] = bytes;
  stream.streamBaseState[stream.kLastWriteErr] = 0;
}

/** Runs the ticks and promises that are due, and those that come of them, as Node.js does after each of its own events. What one throws it throws, and leaves the others. */
export const runTicks = (): void => _tickCallback();
