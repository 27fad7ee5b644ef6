import { LinkError } from './link-errors.ts';
import type { RequestHead, ResponseHead, Stream, StreamHandler, StreamReset } from '../http2/contract.ts';
import { PooledChunks } from '../memory/buffer-pool.ts';
import { refuse } from './refusal.ts';
import { ErrorCode } from '../http2/errors.ts';

/** Counts of what passes through, for metrics. */
export interface RelayCounts {
  open: number;
  total: number;
  failed: number;
  bytes: number;
}

/**
 * Passes a CONNECT on to the next router: two streams, joined. A window is given back only once
 * the other side has taken what came through it, so that a slow reader is felt by its sender and by nobody else.
 * Half-closes, resets and the answer's head stay what they are.
 */
export function relay(
  from: Stream,
  head: RequestHead,
  open: (head: RequestHead, handler: StreamHandler) => Stream,
  counts: RelayCounts,
  live: Set<LiveRelay> = new Set(),
): StreamHandler {
  const joined = new Relay(from, head, counts, live);
  try {
    joined.to = open(head, joined);
  } catch (error) {
    if (!(error instanceof LinkError)) throw error;
    counts.failed += 1;
    return refuse(from, 502, 'destination_unavailable', error.message);
  }
  counts.total += 1;
  counts.open += 1;
  live.add(joined);
  return joined.incoming;
}

/** A connection that passes through now. */
export interface LiveRelay {
  /** As it was passed on. */
  readonly head: RequestHead;
  /** Ends it, both ends by a reset. */
  cut(): void;
}

/** The handler of the stream that leads on; `incoming` is that of the stream that came. */
class Relay implements StreamHandler, LiveRelay {
  readonly head: RequestHead;
  readonly #from: Stream;
  readonly #counts: RelayCounts;
  readonly #live: Set<LiveRelay>;
  to: Stream | undefined;
  #answered = false;
  #over = false;
  /** Halves that have ended in order. */
  #ended = 0;
  /** Bytes that came and wait until the other side has room. */
  #owedFrom = 0;
  #owedTo = 0;
  readonly #lentTo = new PooledChunks(() => this.to?.queued);
  readonly #lentFrom = new PooledChunks(() => this.#from.queued);

  constructor(from: Stream, head: RequestHead, counts: RelayCounts, live: Set<LiveRelay>) {
    this.#from = from;
    this.head = head;
    this.#counts = counts;
    this.#live = live;
  }

  readonly incoming: StreamHandler = {
    onResponse: () => {},
    onData: (chunk) => {
      if (this.#over || this.to === undefined) {
        this.#from.consumed(chunk.length);
        return;
      }
      this.#counts.bytes += chunk.length;
      if (this.to.write(this.#lentTo.copy(chunk))) this.#from.consumed(chunk.length);
      else this.#owedFrom += chunk.length;
    },
    onEnd: () => {
      if (this.#over) return;
      this.to?.end();
      this.#half();
    },
    onDrain: () => {
      const owed = this.#owedTo;
      this.#owedTo = 0;
      if (owed > 0) this.to?.consumed(owed);
    },
    onReset: (reason) => {
      if (this.#over) return;
      this.#finish();
      this.to?.reset(codeFor(reason));
    },
  };

  onResponse(head: ResponseHead): void {
    if (this.#over || this.#answered) return;
    this.#answered = true;
    if (head.status >= 200 && head.status < 300) {
      this.#from.respond(head);
      return;
    }
    this.#counts.failed += 1;
    this.#finish();
    this.#from.respond(head, { end: true });
    this.to?.reset(ErrorCode.CANCEL);
  }

  onData(chunk: Buffer): void {
    if (this.#over) {
      this.to?.consumed(chunk.length);
      return;
    }
    this.#counts.bytes += chunk.length;
    if (this.#from.write(this.#lentFrom.copy(chunk))) this.to?.consumed(chunk.length);
    else this.#owedTo += chunk.length;
  }

  onEnd(): void {
    if (this.#over) return;
    this.#from.end();
    this.#half();
  }

  onDrain(): void {
    const owed = this.#owedFrom;
    this.#owedFrom = 0;
    if (owed > 0) this.#from.consumed(owed);
  }

  onReset(reason: StreamReset): void {
    if (this.#over) return;
    this.#finish();
    if (this.#answered) {
      this.#from.reset(codeFor(reason));
      return;
    }
    this.#counts.failed += 1;
    refuse(this.#from, 502, 'connection_terminated');
  }

  cut(): void {
    if (this.#over) return;
    this.#finish();
    this.#from.reset(ErrorCode.CANCEL);
    this.to?.reset(ErrorCode.CANCEL);
  }

  #half(): void {
    this.#ended += 1;
    if (this.#ended === 2) this.#finish();
  }

  #finish(): void {
    if (this.#over) return;
    this.#over = true;
    this.#live.delete(this);
    this.#counts.open -= 1;
    this.#lentTo.forget();
    this.#lentFrom.forget();
  }
}

/** A reset stays a reset, also where its code says that nothing was wrong. */
const codeFor = (reason: StreamReset): number => (reason.code === ErrorCode.NO_ERROR ? ErrorCode.CANCEL : reason.code);
