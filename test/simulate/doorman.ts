import type { Endpoint, EndpointUser } from './endpoint.ts';
import { HEADER_BYTES, readHeader } from './traffic.ts';

/** A server's end of a connection until it is known which one it is. */
export class Doorman implements EndpointUser {
  readonly #endpoint: Endpoint;
  readonly #known: (id: number) => void;
  #header: Buffer = Buffer.alloc(0);

  constructor(endpoint: Endpoint, known: (id: number) => void) {
    this.#endpoint = endpoint;
    this.#known = known;
  }

  onReadable(): void {
    const endpoint = this.#endpoint;
    const chunk = endpoint.broken ? undefined : endpoint.read(HEADER_BYTES - this.#header.length);
    if (chunk !== undefined) this.#header = Buffer.concat([this.#header, chunk]);
    if (this.#header.length === HEADER_BYTES) this.#known(readHeader(this.#header));
    else if (endpoint.broken || endpoint.ended) endpoint.close();
  }

  onWritable(): void {}
}
