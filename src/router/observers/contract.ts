/**
 * An observer parses requests in the bytes that pass. It never changes, delays or fails them. If it cannot parse them, it switches itself
 * off for that connection.
 */

/** Observer of one direction of a connection. It does not throw, and keeps no reference to the bytes. */
export interface Tap {
  /** Approximate memory of its state in bytes. */
  readonly held: number;
  onBytes(chunk: Buffer): void;
}

export interface Taps {
  readonly fromClient: Tap;
  readonly fromServer: Tap;
}

/** Receives each request whose response has begun. Must not throw. */
export interface RequestSink {
  /** `status` is the final one (not 1xx). `milliseconds` is the time from the request's head to the response's head. */
  onRequest(method: string, status: number, milliseconds: number): void;
}

/** Approximate memory of a request without a response, in bytes. */
const REQUEST_HELD = 128;

/**
 * Passes bytes to a reader until it throws or cannot parse them.
 * @param waiting returns the number of requests without a response that the reader keeps
 */
export function tapOf(reader: { readonly held: number; read(chunk: Buffer): boolean }, stop: () => void, waiting = (): number => 0): Tap {
  return {
    get held() {
      return reader.held + waiting() * REQUEST_HELD;
    },
    onBytes: (chunk) => {
      try {
        if (!reader.read(chunk)) stop();
      } catch {
        stop();
      }
    },
  };
}
