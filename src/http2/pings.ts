import { Buffer } from 'node:buffer';

import { bounded } from '../telemetry/boundary.ts';
import { ConnectionError, ErrorCode } from './errors.ts';
import { pingFrame } from './frames.ts';
import { EarshotError } from '../errors/earshot-error.ts';

/** Pings of one session (RFC 9113 section 6.7). A number in the opaque data matches answers to pings. */
export class Pings {
  readonly #send: (frame: Buffer) => void;
  readonly #now: () => number;
  readonly #waiting = new Map<number, { readonly answered: () => void; readonly failed?: (error: EarshotError) => void }>();
  #next = 1;

  constructor(send: (frame: Buffer) => void, now: () => number) {
    this.#send = send;
    this.#now = now;
  }

  /** @returns the round-trip time in milliseconds; rejects with `http2-ping` if no answer arrives in time */
  send(deadline: number): Promise<number> {
    const since = this.#now();
    const { promise, resolve, reject } = Promise.withResolvers<number>();
    const late = (): void => {
      this.#waiting.delete(number);
      reject(new EarshotError('http2-ping', `no answer to a ping within ${deadline} ms`));
    };
    const timer = setTimeout(bounded('session/ping-deadline', late, reject), deadline).unref();
    const number = this.#begin({
      answered: () => {
        clearTimeout(timer);
        resolve(this.#now() - since);
      },
      failed: (error) => {
        clearTimeout(timer);
        reject(error);
      },
    });
    return promise;
  }

  /** Calls back when the answer arrives; never, if none arrives. */
  notify(answered: () => void): void {
    this.#begin({ answered });
  }

  /** Handles an answer; answers to unknown or abandoned pings are ignored. */
  answered(payload: Buffer): void {
    if (payload.length !== 8) throw new ConnectionError(ErrorCode.FRAME_SIZE_ERROR, `a PING has ${payload.length} octets`);
    const number = payload.readUIntBE(2, 6);
    const ping = this.#waiting.get(number);
    this.#waiting.delete(number);
    ping?.answered();
  }

  close(reason: string): void {
    const waiting = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const { failed } of waiting) failed?.(new EarshotError('http2-ping', `the session ended before the answer to a ping: ${reason}`));
  }

  #begin(ping: { readonly answered: () => void; readonly failed?: (error: EarshotError) => void }): number {
    const number = this.#next++;
    const opaque = Buffer.alloc(8);
    opaque.writeUIntBE(number, 2, 6);
    this.#waiting.set(number, ping);
    this.#send(pingFrame(opaque, false));
    return number;
  }
}
