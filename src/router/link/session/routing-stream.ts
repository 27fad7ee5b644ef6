import { performance } from 'node:perf_hooks';
import { bounded } from '../../../telemetry/boundary.ts';
import { RateLimiter } from '../../../limits/rate-limiter.ts';
import type { CpuBudgetUser } from '../../../limits/cpu-budget.ts';
import { LinkError } from '../link-errors.ts';
import { piecesOf } from '../../routing/codec.ts';
import type { ResponseHead, Stream, StreamHandler, StreamReset } from '../../http2/contract.ts';
import { Backlog } from './backlog.ts';
import { frameMessage, MessageReader } from './framing.ts';
import { limitTable } from '../../../limits/table.ts';

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

const LIMITS: RoutingStreamLimits = {
  queued: limitTable.routingQueued.value,
  burst: limitTable.routingArrivals.value.burst,
  rate: limitTable.routingArrivals.value.perSecond,
};
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
  /** What has arrived and is not yet read: after the hello until the start, and while a peer is slowed down. */
  readonly #backlog = new Backlog();
  /** Of a message that is heeded piece by piece, those that are left. */
  #pieces: readonly Buffer[] = [];
  #unconsumed = 0;
  readonly #time: CpuBudgetUser;
  /** A token is a byte. */
  readonly #arrivals: RateLimiter;
  #timer: NodeJS.Timeout | undefined;

  /** @param time in which messages are heeded, of all links of the peer */
  constructor(events: RoutingStreamEvents, time: CpuBudgetUser, limits: Partial<RoutingStreamLimits> = {}) {
    this.#events = events;
    this.#time = time;
    this.#limits = { ...LIMITS, ...limits };
    this.#arrivals = new RateLimiter({ burst: this.#limits.burst, perSecond: this.#limits.rate });
  }

  /** The stream that this handles: known only after the handler was given away. */
  use(stream: Stream): void {
    this.#stream = stream;
  }

  /** Memory for what waits, both ways, in bytes. */
  get held(): number {
    const pieces = this.#pieces.reduce((sum, { length }) => sum + length, 0);
    return this.#backlog.length + pieces + (this.#stream?.held ?? 0);
  }

  /** Bytes that wait for the peer to read. */
  get queued(): number {
    return this.#stream?.queued ?? 0;
  }

  /** Messages flow from now on. */
  start(): void {
    if (this.#state !== 'waiting') return;
    this.#state = 'started';
    this.#deliver(EMPTY);
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
    this.#deliver(chunk);
  }

  onEnd(): void {
    if (this.#state === 'done') return;
    const isAnswered = this.#state !== 'hello';
    this.#close();
    // A half that stays open would keep the connection for good, though nothing else goes over it.
    if (isAnswered) this.#stream?.end();
    this.#events.onEnd(undefined);
  }

  onDrain(): void {}

  onReset(reason: StreamReset): void {
    this.#fail(new LinkError('lost', `The routing stream broke: ${reason.reason}.`));
  }

  /** Reads what has waited, and then the chunk, as far as the state and the budget let it; the rest waits. */
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

  /** @returns how many of the bytes were read */
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
    // Others may go on over its connection.
    this.#stream?.consumed(this.#unconsumed);
    this.#unconsumed = 0;
  }
}

const EMPTY = Buffer.alloc(0);
