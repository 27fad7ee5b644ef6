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
  /** Whether `onRequest` gets paths. */
  readonly wantsPath?: boolean;
  /**
   * `status` is the final one (not 1xx). `milliseconds` is the time from the request's head to the response's head. `path` has no query; it
   * is empty if the sink does not want it.
   */
  onRequest(method: string, status: number, milliseconds: number, path?: string): void;
}

/** Approximate memory of a request without a response, in bytes; a path takes as much again. */
const REQUEST_HELD = 128;

/** Parses the bytes of one direction. */
interface Reader {
  readonly held: number;
  /** @returns false if the bytes cannot be parsed */
  read(chunk: Buffer): boolean;
}

/** An observer of both directions, as their taps need it. */
interface Observing {
  /** Number of requests without a response that it keeps. */
  readonly waiting: number;
  /** Whether it keeps their paths. */
  readonly hasPaths: boolean;
  stop(): void;
}

/** Passes bytes to a reader until it throws or cannot parse them. */
export class ReaderTap implements Tap {
  readonly #reader: Reader;
  readonly #observer: Observing;
  readonly #isClients: boolean;

  /** @param isClients whether it is the client's direction, which counts the waiting requests */
  constructor(reader: Reader, observer: Observing, isClients: boolean) {
    this.#reader = reader;
    this.#observer = observer;
    this.#isClients = isClients;
  }

  get held(): number {
    return this.#reader.held + (this.#isClients ? this.#observer.waiting * (this.#observer.hasPaths ? 2 : 1) * REQUEST_HELD : 0);
  }

  onBytes(chunk: Buffer): void {
    try {
      if (!this.#reader.read(chunk)) this.#observer.stop();
    } catch {
      this.#observer.stop();
    }
  }
}
