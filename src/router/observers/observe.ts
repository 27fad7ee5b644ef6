import type { Observer } from '../contract.ts';
import { FRAME_HEADER_BYTES, FrameType } from '../../http2/frames.ts';
import type { RequestSink, Tap, Taps } from './contract.ts';
import { Http1Observer } from './http1.ts';
import { Http2Observer } from './http2.ts';
import type { Protocol } from './request-metrics.ts';

/** Returns the sink for requests of a protocol. */
export type SinkFor = (protocol: Protocol) => RequestSink;

/** Observes the requests of a connection with that setting; `auto` decides by the client's first bytes. */
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

/**
 * Detects the protocol by the client's first bytes. A server that sends first does not speak HTTP, with one exception. An HTTP/2 server
 * may send its SETTINGS before the client's preface has arrived (RFC 9113 section 3.4).
 */
class AutoObserver implements Taps {
  readonly fromClient: Tap = new AutoTap(this, 'fromClient');
  readonly fromServer: Tap = new AutoTap(this, 'fromServer');
  /** Observer of the detected protocol. */
  chosen: Taps | undefined;
  readonly #sinkFor: SinkFor;
  #first: 'none' | 'server' | 'decided' = 'none';

  constructor(sinkFor: SinkFor) {
    this.#sinkFor = sinkFor;
  }

  /** Looks at the next chunk of a direction. */
  detect(from: keyof Taps, chunk: Buffer): void {
    if (this.#first === 'decided') return;
    if (from === 'fromClient') this.#clientBegins(chunk);
    else if (this.#first === 'none') this.#serverBegins(chunk);
  }

  #clientBegins(chunk: Buffer): void {
    const isServers = this.#first === 'server';
    this.#first = 'decided';
    const protocol = detect(chunk);
    if (!isServers) this.chosen = protocol === undefined ? undefined : observe(protocol, this.#sinkFor);
    else if (protocol !== 'http2') this.chosen = undefined;
  }

  #serverBegins(chunk: Buffer): void {
    this.#first = 'server';
    if (isSettings(chunk)) this.chosen = observe('http2', this.#sinkFor);
  }
}

/** One direction, before and after the protocol is known. */
class AutoTap implements Tap {
  readonly #observer: AutoObserver;
  readonly #from: keyof Taps;

  constructor(observer: AutoObserver, from: keyof Taps) {
    this.#observer = observer;
    this.#from = from;
  }

  get held(): number {
    return this.#observer.chosen?.[this.#from].held ?? 0;
  }

  onBytes(chunk: Buffer): void {
    this.#observer.detect(this.#from, chunk);
    this.#observer.chosen?.[this.#from].onBytes(chunk);
  }
}

/** Whether it is the header of a SETTINGS frame that is not an acknowledgement (RFC 9113 section 6.5). */
const isSettings = (first: Buffer): boolean =>
  first.length >= FRAME_HEADER_BYTES && first.readUIntBE(0, 3) % 6 === 0 && first[3] === FrameType.SETTINGS && first.readUIntBE(4, 5) === 0;

/** HTTP/2 begins with a preface that looks like a request (RFC 9113 section 3.4), HTTP/1 with a method in capitals and a space. */
export function detect(first: Buffer): Protocol | undefined {
  const start = first.toString('latin1', 0, 24);
  if (start.startsWith('PRI * HT')) return 'http2';
  return /^[A-Z][A-Z-]{2,20} \S/.test(start) ? 'http1' : undefined;
}
