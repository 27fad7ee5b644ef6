import { performance } from 'node:perf_hooks';
import type { Stream, StreamHandler } from '../../http2/contract.ts';
import { ErrorCode } from '../../http2/errors.ts';
import type { ShareOwner } from '../../limits/nested-fair-share.ts';
import { KeyedRateLimiter } from '../../limits/rate-limiter.ts';
import { limitTable } from '../../limits/table.ts';
import { COST } from '../../memory/costs.ts';
import type { MemoryUser } from '../../memory/memory-users.ts';
import type { Memory } from '../../memory/memory.ts';
import { bounded } from '../../telemetry/boundary.ts';
import type { RouterFigures } from '../contract.ts';
import { refuse } from '../link/refusal.ts';
import { formatFigures } from './figures-format.ts';

/** Milliseconds for which figures are answered again: collecting them takes a millisecond with 10,000 routing keys. */
const FRESH = 1_000;

export interface FiguresServerOptions {
  readonly collect: () => RouterFigures;
  readonly memory: Pick<Memory, 'add' | 'delete'>;
}

/** Answers requests of other routers for the figures of this one. A request has no body. */
export class FiguresServer {
  readonly #options: FiguresServerOptions;
  readonly #rates = new KeyedRateLimiter(limitTable.observationsOfPeer.value, limitTable.observingPeers.value);
  #last: { readonly until: number; readonly body: Buffer } | undefined;

  constructor(options: FiguresServerOptions) {
    this.#options = options;
  }

  /** @param whose owner whose memory quota the answer counts against */
  answer(stream: Stream, whose: ShareOwner): StreamHandler {
    const now = performance.now();
    if (!this.#rates.take(whose.owner, now)) return refuse(stream, 503, 'connection_limit_reached', 'busy: too many requests for figures');
    if (this.#last === undefined || now >= this.#last.until)
      this.#last = { until: now + FRESH, body: formatFigures(this.#options.collect()) };
    return new FiguresAnswer(stream, this.#last.body, whose, this.#options.memory);
  }
}

/** Invariant: it is a memory user until the peer has read everything, or until the deadline. */
class FiguresAnswer implements StreamHandler, MemoryUser {
  readonly kind = 'connection';
  readonly owner: string;
  readonly key: string | undefined;
  readonly #stream: Stream;
  readonly #memory: FiguresServerOptions['memory'];
  readonly #timer: NodeJS.Timeout;

  constructor(stream: Stream, body: Buffer, { owner, key }: ShareOwner, memory: FiguresServerOptions['memory']) {
    this.#stream = stream;
    this.owner = owner;
    this.key = key;
    this.#memory = memory;
    memory.add(this);
    const late = (): void => this.#cut(ErrorCode.CANCEL);
    this.#timer = setTimeout(bounded('stream/figures-unread', late, late), limitTable.observationTime.value).unref();
    stream.respond({ status: 200, fields: { 'content-type': 'application/json' } });
    stream.write(body);
    stream.end();
  }

  get held(): number {
    return COST.connection + this.#stream.held;
  }

  evict(): void {
    this.#cut(ErrorCode.ENHANCE_YOUR_CALM);
  }

  onResponse(): void {}

  onData(chunk: Buffer): void {
    this.#stream.consumed(chunk.length);
  }

  /** The peer ends its half after it has read everything. One that ends it earlier has until the deadline. */
  onEnd(): void {
    if (this.#stream.queued === 0) this.#finish();
  }

  onDrain(): void {}

  onReset(): void {
    this.#finish();
  }

  #cut(code: number): void {
    this.#stream.reset(code);
    this.#finish();
  }

  #finish(): void {
    clearTimeout(this.#timer);
    this.#memory.delete(this);
  }
}
