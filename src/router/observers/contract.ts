/**
 * An observer reads requests off the bytes that pass. It never changes, delays or fails them: what it does not understand
 * switches it off for that connection.
 */

/** One direction of one connection. Does not throw, keeps no reference to the bytes. */
export interface Tap {
  /** Memory for what it keeps in mind, in bytes, about. */
  readonly held: number;
  onBytes(chunk: Buffer): void;
}

export interface Taps {
  readonly fromClient: Tap;
  readonly fromServer: Tap;
}

/** Hears of each request whose answer has begun. Must not throw. */
export interface RequestSink {
  /** `status` is the final one (not 1xx); `milliseconds` go from the request's head to the answer's. */
  onRequest(method: string, status: number, milliseconds: number): void;
}

/** What a request without an answer takes, in bytes, about. */
const REQUEST_HELD = 128;

/**
 * Gives a reader the bytes until it throws, or says that it does not understand them.
 * @param waiting how many requests without an answer are kept with it
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
