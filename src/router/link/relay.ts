import type { RequestHead, ResponseHead, Stream, StreamHandler } from '../../http2/contract.ts';
import { ErrorCode } from '../../http2/errors.ts';
import type { Memory } from '../../memory/memory.ts';
import type { ShareOwner } from '../../limits/nested-fair-share.ts';
import { ConnectionHalf, type ByteCount } from '../connection-half.ts';
import { logConnection } from '../connection-log.ts';
import { idGiven, originGiven } from '../local/connection-id.ts';
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
class Relay implements LiveRelay {
  readonly head: RequestHead;
  readonly #from: Stream;
  readonly #counts: RelayCounts;
  readonly #memory: Pick<Memory, 'add' | 'delete'>;
  readonly #log: Logger;
  readonly #live: Set<LiveRelay>;
  readonly #client = new ConnectionHalf();
  readonly #server = new ConnectionHalf();

  constructor(from: Stream, head: RequestHead, counts: RelayCounts, share: Share, live: Set<LiveRelay>) {
    this.#from = from;
    this.head = head;
    this.#counts = counts;
    this.#memory = share.memory;
    this.#log = share.log;
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
      server.end = open(this.head, server);
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
    return client;
  }

  cut(): void {
    this.#client.sever({ code: ErrorCode.CANCEL, reason: 'cut here' });
    this.#server.abandon(ErrorCode.CANCEL);
    this.#finish();
  }

  #answer(answer: ResponseHead): void {
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
    ConnectionHalf.join(this.#client, this.#server, logged?.counts ?? all, (reset) => {
      logged?.ended(reset);
      this.#finish();
    });
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
    this.#finish();
    this.#client.drop();
  }

  #finish(): void {
    if (!this.#live.delete(this)) return;
    this.#counts.open -= 1;
    this.#memory.delete(this.#client);
  }
}
