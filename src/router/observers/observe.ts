import type { Observer } from '../contract.ts';
import type { RequestSink, Tap, Taps } from './contract.ts';
import { Http1Observer } from './http1.ts';
import { Http2Observer } from './http2.ts';
import type { Protocol } from './request-metrics.ts';

/** Where each protocol's requests are counted. */
export type SinkFor = (protocol: Protocol) => RequestSink;

/** Reads requests off a connection as the setting says; `auto` goes by the client's first bytes. */
export function observe(setting: Exclude<Observer, 'none'>, sinkFor: SinkFor): Taps {
  switch (setting) {
    case 'http1':
      return new Http1Observer(sinkFor('http1'));
    case 'http2':
      return new Http2Observer(sinkFor('http2'));
    case 'auto':
      return new AutoObserver(sinkFor);
  }
}

/** Waits for the first bytes: of a client that speaks HTTP they say which; a server that speaks first does not speak it. */
class AutoObserver implements Taps {
  readonly fromClient: Tap;
  readonly fromServer: Tap;
  readonly #sinkFor: SinkFor;
  #chosen: Taps | undefined;
  #decided = false;

  constructor(sinkFor: SinkFor) {
    this.#sinkFor = sinkFor;
    const chosen = (): Taps | undefined => this.#chosen;
    this.fromClient = {
      get held() {
        return chosen()?.fromClient.held ?? 0;
      },
      onBytes: (chunk) => {
        if (!this.#decided) this.#decide(chunk);
        this.#chosen?.fromClient.onBytes(chunk);
      },
    };
    this.fromServer = {
      get held() {
        return chosen()?.fromServer.held ?? 0;
      },
      onBytes: (chunk) => {
        this.#decided = true;
        this.#chosen?.fromServer.onBytes(chunk);
      },
    };
  }

  #decide(chunk: Buffer): void {
    this.#decided = true;
    const protocol = detect(chunk);
    if (protocol !== undefined) this.#chosen = observe(protocol, this.#sinkFor);
  }
}

/** HTTP/2 begins with a preface that begins like a request (RFC 9113 section 3.4), HTTP/1 with a method in capitals and a space. */
export function detect(first: Buffer): Protocol | undefined {
  const start = first.toString('latin1', 0, 24);
  if (start.startsWith('PRI * HT')) return 'http2';
  return /^[A-Z][A-Z-]{2,20} \S/.test(start) ? 'http1' : undefined;
}
