import { performance } from 'node:perf_hooks';
import { bounded } from '../../../telemetry/boundary.ts';
import { RateLimiter } from '../../../limits/rate-limiter.ts';
import type { CpuBudgetUser } from '../../../limits/cpu-budget.ts';
import { LinkError } from '../link-errors.ts';
import { piecesOf } from '../../../routing/codec.ts';
import type { ResponseHead, Stream, StreamHandler, StreamReset } from '../../../http2/contract.ts';
import { Backlog } from './backlog.ts';
import { frameMessage, MessageReader } from './framing.ts';
import { sentence } from '../../../text/sentence.ts';
import { limitTable } from '../../../limits/table.ts';

export interface RoutingStreamEvents {
  /** The first message. @throws LinkError to disconnect the peer */
  onHello(message: Buffer): void;
  /** Each later message. @throws Error to disconnect the peer */
  onMessage(message: Buffer): void;
  /** The other end has ended the stream in order, or responded with a status other than 200. */
  onEnd(refusal: ResponseHead | undefined): void;
  /** The stream is gone, or its content was invalid. No other event follows. */
  onFault(error: unknown): void;
}

export interface RoutingStreamLimits {
  /** Most bytes queued for a peer that does not read. */
  readonly queued: number;
  /** Burst of incoming bytes, and bytes per second. */
  readonly burst: number;
  readonly rate: number;
}

const LIMITS: RoutingStreamLimits = {
  queued: limitTable.routingQueued.value,
  burst: limitTable.routingArrivals.value.burst,
  rate: limitTable.routingArrivals.value.perSecond,
};
/** Tokens that a message costs besides its bytes, since most of its cost does not depend on its length. */
const MESSAGE_PRICE = 1_024;

/**
 * The framed routing stream of a link. After the hello, messages wait until `start`, since either end may be ready first. A peer that sends
 * without end is slowed down by flow control, without effect on other streams.
 */
export class RoutingStream implements StreamHandler {
  readonly #events: RoutingStreamEvents;
  readonly #limits: RoutingStreamLimits;
  readonly #reader = new MessageReader();
  #stream: Stream | undefined;
  #state: 'hello' | 'waiting' | 'started' | 'done' = 'hello';
  /** Unread input: between the hello and the start, and while a peer is slowed down. */
  readonly #backlog = new Backlog();
  /** Remaining pieces of a message that is processed piece by piece. */
  #pieces: readonly Buffer[] = [];
  #unconsumed = 0;
  readonly #time: CpuBudgetUser;
  /** Rate limiter of input; a token is a byte. */
  readonly #arrivals: RateLimiter;
  #timer: NodeJS.Timeout | undefined;

  /** @param time CPU-time budget for messages, over all links of the peer */
  constructor(events: RoutingStreamEvents, time: CpuBudgetUser, limits: Partial<RoutingStreamLimits> = {}) {
    this.#events = events;
    this.#time = time;
    this.#limits = { ...LIMITS, ...limits };
    this.#arrivals = new RateLimiter({ burst: this.#limits.burst, perSecond: this.#limits.rate });
  }

  /** Sets the stream, which is known only after the handler was passed on. */
  use(stream: Stream): void {
    this.#stream = stream;
  }

  /** Memory of queued input and output, in bytes. */
  get held(): number {
    const pieces = this.#pieces.reduce((sum, { length }) => sum + length, 0);
    return this.#backlog.length + pieces + (this.#stream?.held ?? 0);
  }

  /** Bytes queued until the peer reads. */
  get queued(): number {
    return this.#stream?.queued ?? 0;
  }

  /** Starts the flow of messages. */
  start(): void {
    if (this.#state !== 'waiting') return;
    this.#state = 'started';
    this.#deliver(EMPTY);
  }

  send(message: Uint8Array): void {
    if (this.#stream === undefined || this.#state === 'done') return;
    this.#stream.write(frameMessage(message));
    if (this.#stream.queued > this.#limits.queued) {
      this.#fail(new LinkError('too-slow', `The peer does not read its routing messages: ${this.#stream.queued} bytes are queued.`));
    }
  }

  /** Ends this direction in order. */
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
    this.#deliver(chunk);
  }

  onEnd(): void {
    if (this.#state === 'done') return;
    const isAnswered = this.#state !== 'hello';
    this.#close();
    // A half-closed stream would keep the connection open for good, though nothing else uses it.
    if (isAnswered) this.#stream?.end();
    this.#events.onEnd(undefined);
  }

  onDrain(): void {}

  onReset(reason: StreamReset): void {
    this.#fail(new LinkError('lost', sentence(`The routing stream broke: ${reason.reason}`)));
  }

  /** Reads the backlog and then the chunk, as far as the state and the limits allow; the rest is kept. */
  #deliver(chunk: Buffer): void {
    const isFirst = this.#backlog.length === 0;
    if (!isFirst) this.#backlog.add(chunk);
    try {
      const read = this.#read(isFirst ? chunk : this.#backlog.bytes);
      if (this.#isDone()) return;
      if (isFirst) this.#backlog.add(chunk.subarray(read));
      else this.#backlog.drop(read);
    } catch (error) {
      this.#fail(error);
      return;
    }
    if (this.#state !== 'started') return;
    if (this.#backlog.length === 0 && this.#pieces.length === 0) {
      this.#stream?.consumed(this.#unconsumed);
      this.#unconsumed = 0;
    } else {
      this.#wait();
    }
  }

  /** @returns number of bytes read */
  #read(bytes: Buffer): number {
    let at = 0;
    this.#arrivals.refill(Date.now());
    while (this.#pieces.length > 0 ? this.#hasTime() : at < bytes.length && this.#mayRead()) {
      if (this.#pieces.length === 0) {
        const read = this.#reader.read(bytes, at);
        at = read.at;
        if (read.message === undefined) continue;
        if (this.#state === 'hello') {
          this.#state = 'waiting';
          this.#events.onHello(read.message);
          continue;
        }
        this.#arrivals.charge(read.message.length + MESSAGE_PRICE);
        this.#pieces = piecesOf(read.message);
      }
      const [first, ...rest] = this.#pieces;
      this.#pieces = rest;
      if (first !== undefined) this.#process(first);
    }
    return at;
  }

  #process(message: Buffer): void {
    const began = performance.now();
    try {
      this.#events.onMessage(message);
    } finally {
      this.#time.spend(performance.now() - began, began);
    }
  }

  #mayRead(): boolean {
    return this.#state === 'hello' || (this.#arrivals.tokens > 0 && this.#hasTime());
  }

  #hasTime(): boolean {
    return this.#state === 'started' && this.#time.wait(performance.now()) === 0;
  }

  #wait(): void {
    const wait = Math.ceil(Math.max(this.#arrivals.timeUntil(1), this.#time.wait(performance.now())));
    this.#timer ??= setTimeout(
      bounded(
        'link/routing-wait',
        () => {
          this.#timer = undefined;
          this.#deliver(EMPTY);
        },
        (error) => this.#fail(error),
      ),
      Math.max(wait, 20),
    );
  }

  #isDone(): boolean {
    return this.#state === 'done';
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
    this.#time.leave();
    this.#backlog.clear();
    this.#pieces = [];
    // Frees the connection's window for other streams.
    this.#stream?.consumed(this.#unconsumed);
    this.#unconsumed = 0;
  }
}

const EMPTY = Buffer.alloc(0);
