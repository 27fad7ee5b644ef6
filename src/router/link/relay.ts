import { performance } from 'node:perf_hooks';
import type { Fields, RequestHead, ResponseHead, Stream, StreamHandler } from '../../http2/contract.ts';
import { ErrorCode } from '../../http2/errors.ts';
import type { Memory } from '../../memory/memory.ts';
import type { ShareOwner } from '../../limits/nested-fair-share.ts';
import { limitTable } from '../../limits/table.ts';
import { ConnectionHalf, type ByteCount } from '../connection-half.ts';
import { howEnded, type ConnectionEnd } from '../connection-end.ts';
import { logConnection } from '../connection-log.ts';
import type { ConnectionRecords, LiveConnection } from '../records/connection-records.ts';
import type { ConnectionFacts } from '../records/contract.ts';
import { keyIn } from './authority.ts';
import { idGiven, originGiven } from '../local/connection-id.ts';
import type { FailureCode } from '../local/failure.ts';
import { bounded } from '../../telemetry/boundary.ts';
import type { Logger } from '../../telemetry/log.ts';
import { LinkError } from './link-errors.ts';
import { refuse } from './refusal.ts';
import { ROUTE_FIELD } from '../wire.ts';

/** Counts of relayed connections, for metrics. */
export interface RelayCounts extends ByteCount {
  open: number;
  total: number;
  failed: number;
}

/** A connection that is being relayed. */
export interface LiveRelay {
  /** Head of the forwarded request. */
  readonly head: RequestHead;
  /** Resets both ends. */
  cut(): void;
}

/** Memory accounting, the owner it counts against, and the log. */
interface Share extends ShareOwner {
  /** ID of this router. */
  readonly self?: string;
  readonly records?: ConnectionRecords | undefined;
  /**
   * Milliseconds for a question of a router, which does not count as a connection: without an end, sites could hide connections in it.
   * Undefined for a connection.
   */
  readonly questionTime?: number | undefined;
  /** Adds what this router reports to the answer of a probe; undefined for a connection. */
  readonly report?: ((fields: Fields) => Fields) | undefined;
  readonly log: Logger;
  readonly memory: Pick<Memory, 'add' | 'delete'>;
}

/** Forwards a CONNECT to the next router, and joins the two streams once its response has been passed back. */
export function relay(
  from: Stream,
  head: RequestHead,
  open: (head: RequestHead, handler: StreamHandler) => Stream,
  counts: RelayCounts,
  share: Share,
  live: Set<LiveRelay> = new Set(),
): StreamHandler {
  return new Relay(from, head, counts, share, live).start(open);
}

/** Invariant: the relay is in `#live`, and counted as open, from its start until both ends are over. */
class Relay implements LiveRelay, LiveConnection {
  readonly head: RequestHead;
  readonly #from: Stream;
  readonly #counts: RelayCounts;
  readonly #memory: Pick<Memory, 'add' | 'delete'>;
  readonly #log: Logger;
  readonly #records: ConnectionRecords | undefined;
  readonly #report: Share['report'];
  readonly #questionTime: number | undefined;
  #deadline: NodeJS.Timeout | undefined;
  readonly #self: string;
  readonly #begun = performance.now();
  readonly #live: Set<LiveRelay>;
  readonly #client = new ConnectionHalf();
  readonly #server = new ConnectionHalf();

  constructor(from: Stream, head: RequestHead, counts: RelayCounts, share: Share, live: Set<LiveRelay>) {
    this.#from = from;
    this.head = head;
    this.#counts = counts;
    this.#memory = share.memory;
    this.#log = share.log;
    this.#records = share.records;
    this.#report = share.report;
    this.#questionTime = share.questionTime;
    this.#self = share.self ?? '';
    this.#client.owner = share.owner;
    this.#client.key = share.key;
    this.#live = live;
  }

  start(open: (head: RequestHead, handler: StreamHandler) => Stream): StreamHandler {
    const [client, server] = [this.#client, this.#server];
    client.end = this.#from;
    client.awaiting = {
      onResponse() {},
      onGone: ({ code }) => {
        server.abandon(code);
        this.#finish();
      },
    };
    server.awaiting = { onResponse: (answer) => this.#answer(answer), onGone: () => this.#fail() };
    try {
      server.end = open(this.head, this.#limited(server));
    } catch (error) {
      if (!(error instanceof LinkError)) throw error;
      this.#counts.failed += 1;
      if (error.code === 'busy') return refuse(this.#from, 503, 'connection_limit_reached', `busy: ${error.message}`);
      return refuse(this.#from, 502, 'destination_unavailable', error.message);
    }
    // The session may refuse the request during the call.
    if (server.gone) return client;
    this.#counts.total += 1;
    this.#counts.open += 1;
    this.#live.add(this);
    this.#memory.add(client);
    if (this.#questionTime !== undefined) {
      const late = (): void => this.#sever('other-router');
      this.#deadline = setTimeout(bounded('stream/question-deadline', late, late), this.#questionTime).unref();
    }
    return this.#limited(client);
  }

  /** @returns the half; for a question, a handler that passes no more bytes on than it may have, and ends both streams beyond */
  #limited(half: ConnectionHalf): StreamHandler {
    if (this.#questionTime === undefined) return half;
    let left = limitTable.forwardedQuestionBytes.value;
    return {
      onResponse: (head) => half.onResponse(head),
      onData: (chunk) => {
        left -= chunk.length;
        if (left < 0) this.#sever('other-router');
        else half.onData(chunk);
      },
      onEnd: () => half.onEnd(),
      onDrain: () => half.onDrain(),
      onReset: (reason) => half.onReset(reason),
    };
  }

  cut(): void {
    this.#sever('revoked');
  }

  get id(): string {
    return idGiven(this.head.fields) ?? '';
  }

  facts(): ConnectionFacts {
    const { authority, fields } = this.head;
    const via = this.#self === '' ? [] : [this.#self];
    const to = fields[ROUTE_FIELD]?.split(' ').at(-1) ?? '';
    const unknown = { client: '', listener: '', server: '' };
    return { id: this.id, key: keyIn(authority) ?? authority, halves: ['transit'], origin: originGiven(fields) ?? '', via, to, ...unknown };
  }

  end(): void {
    this.#sever('command');
  }

  #sever(how: ConnectionEnd): void {
    this.#client.sever({ code: ErrorCode.CANCEL, reason: 'cut here', how });
    this.#server.abandon(ErrorCode.CANCEL);
    this.#finish();
  }

  #answer(received: ResponseHead): void {
    const answer = this.#report === undefined ? received : { ...received, fields: this.#report(received.fields) };
    if (answer.status >= 200 && answer.status < 300) {
      this.#from.respond(answer);
      this.#join();
      return;
    }
    this.#server.abandon(ErrorCode.CANCEL);
    this.#refused(answer.status);
    this.#from.respond(answer, { end: true });
  }

  #join(): void {
    const all = { toServer: this.#counts, toClient: this.#counts };
    const logged = this.#log.isLevelEnabled('debug') ? logConnection(this.#log, all, this.#about, this.#path) : undefined;
    // A standard client names no ID.
    const records = this.id === '' ? undefined : this.#records;
    const recorded = records?.opened(this, this.#begun);
    ConnectionHalf.join(
      this.#client,
      this.#server,
      logged?.counts ?? all,
      (reset, from) => {
        logged?.ended(reset);
        const end = howEnded(reset, from === this.#client ? 'client' : 'server');
        if (recorded !== undefined) records?.ended(recorded.slot, this, this.head.authority, end);
        this.#finish();
      },
      recorded?.figures,
    );
  }

  /** Fields of log lines. */
  get #about() {
    return { connection: idGiven(this.head.fields), routingKey: this.head.authority, role: 'relay' } as const;
  }

  get #path(): Readonly<Record<string, unknown>> {
    const { fields } = this.head;
    return { from: originGiven(fields), to: fields[ROUTE_FIELD]?.split(' ').at(-1) };
  }

  #fail(): void {
    this.#refused(502);
    refuse(this.#from, 502, 'connection_terminated');
  }

  #refused(status: number): void {
    if (this.#log.isLevelEnabled('debug')) this.#log.debug({ ...this.#about, ...this.#path, status }, 'connection refused');
    this.#counts.failed += 1;
    const why = { code: statusCodes.get(status) ?? 'peer-refused', message: `The next router answered ${status}.` } as const;
    if (this.id !== '') this.#records?.failed(this.head.authority, this.#begun, why, () => this.facts());
    this.#finish();
    this.#client.drop();
  }

  #finish(): void {
    if (!this.#live.delete(this)) return;
    clearTimeout(this.#deadline);
    this.#counts.open -= 1;
    this.#memory.delete(this.#client);
  }
}

/** Failures behind an answer of the next router. */
const statusCodes = new Map<number, FailureCode>([
  [404, 'no-connector'],
  [503, 'busy'],
  [504, 'timeout'],
]);
