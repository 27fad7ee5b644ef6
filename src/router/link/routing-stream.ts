import { LinkError } from '../errors.ts';
import type { ResponseHead, Stream, StreamHandler, StreamReset } from '../http2/contract.ts';
import { frameMessage, MessageReader } from './framing.ts';

export interface RoutingStreamEvents {
  /** The first message. @throws LinkError to cut the peer off */
  onHello(message: Buffer): void;
  /** Each that follows. @throws Error to cut the peer off */
  onMessage(message: Buffer): void;
  /** The other end has ended it in order, or answered otherwise than with 200. */
  onEnd(refusal: ResponseHead | undefined): void;
  /** The stream is gone, or what it brought is no routing. Nothing follows. */
  onFault(error: unknown): void;
}

export interface RoutingStreamLimits {
  /** Bytes that may wait for a peer that does not read. */
  readonly queued: number;
  /** Bytes that may arrive at once, and for each second. */
  readonly burst: number;
  readonly rate: number;
}

const LIMITS: RoutingStreamLimits = { queued: 33_554_432, burst: 67_108_864, rate: 8_388_608 };
/** What a message costs of burst and rate besides its bytes: most of its price is not its length. */
const MESSAGE_PRICE = 1_024;

/**
 * The routing stream of a link, framed. After the hello, messages wait until `start`: each end may be ready before the
 * other. A peer that sends without end is slowed down by flow control, at no cost to other streams.
 */
export class RoutingStream implements StreamHandler {
  readonly #events: RoutingStreamEvents;
  readonly #limits: RoutingStreamLimits;
  readonly #reader = new MessageReader();
  #stream: Stream | undefined;
  #state: 'hello' | 'waiting' | 'started' | 'done' = 'hello';
  #waiting: Buffer[] = [];
  #unconsumed = 0;
  #budget: number;
  #budgetAt: number;
  #timer: NodeJS.Timeout | undefined;

  constructor(events: RoutingStreamEvents, limits: Partial<RoutingStreamLimits> = {}) {
    this.#events = events;
    this.#limits = { ...LIMITS, ...limits };
    this.#budget = this.#limits.burst;
    this.#budgetAt = Date.now();
  }

  /** The stream that this handles: known only after the handler was given away. */
  use(stream: Stream): void {
    this.#stream = stream;
  }

  /** Messages flow from now on. */
  start(): void {
    if (this.#state !== 'waiting') return;
    this.#state = 'started';
    this.#deliverWaiting();
  }

  send(message: Uint8Array): void {
    if (this.#stream === undefined || this.#state === 'done') return;
    this.#stream.write(frameMessage(message));
    if (this.#stream.queued > this.#limits.queued) {
      this.#fail(new LinkError('too-slow', `The peer does not read its routing messages: ${this.#stream.queued} bytes wait for it.`));
    }
  }

  /** In order: no more from this side. */
  end(): void {
    if (this.#state === 'done') return;
    this.#close();
    this.#stream?.end();
  }

  onResponse(head: ResponseHead): void {
    if (head.status === 200 || this.#state === 'done') return;
    this.#close();
    this.#events.onEnd(head);
  }

  onData(chunk: Buffer): void {
    if (this.#state === 'done') {
      this.#stream?.consumed(chunk.length);
      return;
    }
    this.#unconsumed += chunk.length;
    try {
      this.#waiting.push(...this.#reader.push(chunk));
      this.#deliverHello();
      this.#deliverWaiting();
    } catch (error) {
      this.#fail(error);
    }
  }

  onEnd(): void {
    if (this.#state === 'done') return;
    this.#close();
    this.#events.onEnd(undefined);
  }

  onDrain(): void {}

  onReset(reason: StreamReset): void {
    this.#fail(new LinkError('lost', `The routing stream broke: ${reason.reason}.`));
  }

  #deliverHello(): void {
    if (this.#state !== 'hello') return;
    const hello = this.#waiting.shift();
    if (hello === undefined) return;
    this.#state = 'waiting';
    this.#events.onHello(hello);
  }

  #deliverWaiting(): void {
    if (this.#state !== 'started' || this.#timer !== undefined) return;
    this.#refill();
    try {
      while (this.#waiting.length > 0 && this.#budget > 0) {
        const message = this.#waiting.shift();
        if (message === undefined) break;
        this.#budget -= message.length + MESSAGE_PRICE;
        this.#events.onMessage(message);
        // The message may have been its last: see `end`.
        if (!this.#isStarted()) return;
      }
    } catch (error) {
      this.#fail(error);
      return;
    }
    if (this.#waiting.length === 0) {
      this.#stream?.consumed(this.#unconsumed);
      this.#unconsumed = 0;
    } else {
      const wait = Math.ceil(((1 - this.#budget) / this.#limits.rate) * 1_000);
      this.#timer = setTimeout(
        () => {
          this.#timer = undefined;
          this.#deliverWaiting();
        },
        Math.max(wait, 20),
      );
    }
  }

  #isStarted(): boolean {
    return this.#state === 'started';
  }

  #refill(): void {
    const now = Date.now();
    const passed = Math.max(0, now - this.#budgetAt);
    this.#budgetAt = now;
    this.#budget = Math.min(this.#limits.burst, this.#budget + (passed * this.#limits.rate) / 1_000);
  }

  #fail(error: unknown): void {
    if (this.#state === 'done') return;
    this.#close();
    this.#events.onFault(error);
  }

  #close(): void {
    this.#state = 'done';
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#waiting = [];
  }
}
