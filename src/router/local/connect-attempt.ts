import { bounded } from '../../telemetry/boundary.ts';
import type { RequestHead, ResponseHead, Stream, StreamReset } from '../../http2/contract.ts';
import { ErrorCode } from '../../http2/errors.ts';
import type { Candidate } from './destination-choice.ts';
import type { Connectors } from './connectors.ts';
import type { LocalLimits, LocalSideOptions } from './contract.ts';
import type { RouteDestination } from '../../routing/contract.ts';
import { errorGiven, failure, type Failure } from './failure.ts';
import { ConnectionHalf, type HalfObserver } from '../connection-half.ts';
import { EarshotError } from '../../errors/earshot-error.ts';
import { resetSocket, SocketEndpoint } from './socket-endpoint.ts';

/** Whether new connections should avoid the path. @param firstLink the link over which the path begins */
export type IsSilent = (to: RouteDestination, firstLink: string | undefined) => boolean;

export interface ConnectAttemptContext {
  readonly limits: LocalLimits;
  readonly connectors: Connectors;
  readonly open: LocalSideOptions['open'];
  /** Whether a candidate is tried after all others, since its path is silent. */
  isAvoidable(candidate: Candidate): boolean;
  /** Records whether a destination refused, for later choices. */
  noteOutcome(candidate: Candidate, refused: boolean): void;
}

export interface ConnectAttemptEvents {
  /** Called when a server accepted. `server` can now be joined with the client half. */
  onOpened(server: ConnectionHalf, candidate: Candidate): void;
  /** @param by candidate that refused, if one did */
  onFailed(why: Failure, by?: Candidate): void;
}

/**
 * Milliseconds before each further search for candidates after the path to the last one broke, or if there was none. Routing is correct
 * again shortly after a link died, or a connector or router moved. Less than a second in total.
 */
const PAUSES: readonly number[] = [0, 50, 100, 200, 400];

/** Candidates for a connection: those found on arrival, and a search for new ones if there are none or the path to each of them breaks. */
export interface Candidates {
  readonly found: readonly Candidate[];
  /** If absent, another search cannot find anything else. */
  lookAgain?(): readonly Candidate[];
}

/** Builds the head of the request to the next router. */
export type HeadFor = (candidate: Candidate) => RequestHead;

/**
 * Finds a server for a connection. It tries the candidates in order until one accepts, within the limits of number and time. Emits
 * exactly one of the events, unless the client leaves before.
 */
export class ConnectAttempt implements HalfObserver {
  readonly #context: ConnectAttemptContext;
  readonly #client: ConnectionHalf;
  readonly #source: Candidates;
  #candidates: readonly Candidate[];
  readonly #headFor: HeadFor;
  readonly #events: ConnectAttemptEvents;
  readonly #deadline: NodeJS.Timeout;
  #next = 0;
  #scans = 0;
  /** Whether the path failed, rather than the server at its end. A client without any candidate has lost it a moment ago. */
  #pathBroke: boolean;
  #over = false;
  /** Last refusal, and the candidate that refused. */
  #last: { readonly why: Failure; readonly by: Candidate } | undefined;
  #giveUp: (() => void) | undefined;
  /** Remote candidate that has not answered yet, and the link over which it was asked. */
  #asked: { readonly candidate: Candidate; readonly firstLink: string | undefined } | undefined;

  constructor(context: ConnectAttemptContext, client: ConnectionHalf, source: Candidates, headFor: HeadFor, events: ConnectAttemptEvents) {
    this.#context = context;
    this.#client = client;
    this.#source = source;
    this.#candidates = source.found.slice(0, context.limits.attempts);
    this.#pathBroke = this.#candidates.length === 0;
    this.#headFor = headFor;
    this.#events = events;
    this.#deadline = setTimeout(
      bounded(
        'connection/establish-deadline',
        () => this.#late(),
        () => this.broken(),
      ),
      context.limits.establish,
    );
    client.awaiting = this;
  }

  /** Begins now or in the next event-loop iteration. An unexpected error ends the attempt. */
  begin(isDeferred: boolean): void {
    if (isDeferred) setImmediate(startAttempt, this);
    else startAttempt(this);
  }

  /** Starts the attempt. Without candidates and a search for others it ends within the call. */
  start(): void {
    this.#tryNext();
  }

  /** The time for all candidates is over. */
  #late(): void {
    this.#giveUp?.();
    this.#fail(failure('timeout', `No server accepted the connection within ${this.#context.limits.establish / 1000} s.`));
  }

  /** Ends the attempt after an unexpected error. */
  broken(): void {
    this.#giveUp?.();
    this.#fail(failure('connect-failed', 'The connection was ended by an unexpected error of this router.'));
  }

  /** A client has no response. */
  onResponse(): void {}

  /**
   * Switches to another path if the current one has become silent: only the request was sent so far. Without another path it waits, since
   * the silent one may recover.
   */
  avoidSilence(isSilent: IsSilent): void {
    const asked = this.#asked;
    if (this.#over || asked === undefined || !isSilent(asked.candidate.to, asked.firstLink)) return;
    const others = this.#source.lookAgain?.().filter((candidate) => !this.#context.isAvoidable(candidate)) ?? [];
    if (others.length === 0) return;
    this.#giveUp?.();
    this.#candidates = others.slice(0, this.#context.limits.attempts);
    this.#next = 0;
    this.#tryNext();
  }

  #tryNext(): void {
    if (this.#over) return;
    this.#giveUp = undefined;
    this.#asked = undefined;
    const candidate = this.#candidates[this.#next];
    this.#next += 1;
    if (candidate === undefined) {
      this.#scanAgain();
    } else if (candidate.to.path.length === 0) {
      this.#tryHere(candidate);
    } else {
      this.#tryThere(candidate);
    }
  }

  /** Searches for other candidates. That is safe, since only the request was sent so far. */
  #scanAgain(): void {
    const pause = this.#pathBroke && this.#source.lookAgain !== undefined ? PAUSES[this.#scans] : undefined;
    if (pause === undefined) {
      const { why, by } = this.#last ?? {};
      this.#fail(why ?? failure('no-connector', 'No connector of its routing keys is reachable.'), by);
      return;
    }
    this.#scans += 1;
    // A stream ends before its link is known to be down, so even the shortest pause is a timer.
    const look = (): void => {
      if (this.#client.gone) {
        this.#fail(failure('client-gone', 'The connection ended before a server accepted it.'));
        return;
      }
      this.#candidates = this.#source.lookAgain?.().slice(0, 1) ?? [];
      this.#pathBroke = this.#candidates.length === 0;
      this.#next = 0;
      this.#tryNext();
    };
    const timer = setTimeout(
      bounded('connection/look-again', look, () => this.broken()),
      pause,
    );
    this.#giveUp = () => clearTimeout(timer);
  }

  #tryHere(candidate: Candidate): void {
    const { connectors, limits } = this.#context;
    const onResult = (result: Parameters<Parameters<Connectors['connect']>[2]>[0]): void => {
      if (result.kind === 'failed') {
        this.#refused(candidate, result.failure, false);
        return;
      }
      const server = new ConnectionHalf();
      server.end = new SocketEndpoint(result.socket, result.raw, server);
      this.#opened(server, candidate);
    };
    const broken = (_: unknown, result: Parameters<typeof onResult>[0]): void => {
      if (result.kind === 'connected') resetSocket(result.socket, result.raw);
      this.broken();
    };
    this.#giveUp = connectors.connect(candidate.routingKey, limits.attempts, bounded('connection/server', onResult, broken));
  }

  #tryThere(candidate: Candidate): void {
    const server = new ConnectionHalf();
    let answered = false;
    const refuse = (why: Failure, pathBroke = true, isOurs = false): void => {
      if (answered) return;
      answered = true;
      server.awaiting = undefined;
      server.drop();
      this.#refused(candidate, why, pathBroke, isOurs);
    };
    server.awaiting = {
      onResponse: (head) => {
        if (answered || head.status < 200) return;
        if (head.status >= 300) {
          server.abandon(ErrorCode.CANCEL);
          refuse(answerOf(head, candidate), isOfThePath(head));
          return;
        }
        answered = true;
        this.#opened(server, candidate);
      },
      onGone: ({ reason }) => refuse(failure('stream-reset', `${candidate.to.router} reset the stream: ${reason}.`)),
    };
    const { owner, key } = this.#client;
    const [firstLink] = candidate.to.links;
    let stream: Stream;
    try {
      stream = this.#context.open(candidate.to, this.#headFor(candidate), server, { owner, key });
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      const isBusy = error instanceof EarshotError && error.code === 'busy';
      const why = isBusy ? failure('busy', reason) : failure('no-link', `There is no route to ${candidate.to.router}: ${reason}`);
      // Deferred, so that a candidate that fails at once behaves like any other.
      const noWay = (): void => refuse(why, !isBusy, isBusy);
      const soon = setImmediate(bounded('connection/no-way', noWay, () => this.broken()));
      this.#giveUp = () => clearImmediate(soon);
      return;
    }
    server.end = stream;
    this.#asked = { candidate, firstLink };
    this.#giveUp = () => {
      answered = true;
      server.abandon(ErrorCode.CANCEL);
    };
  }

  #opened(server: ConnectionHalf, candidate: Candidate): void {
    this.#finish();
    this.#context.noteOutcome(candidate, false);
    this.#events.onOpened(server, candidate);
  }

  /** @param isOurs whether this router has no capacity for another connection of this client; the destination is not at fault then */
  #refused(candidate: Candidate, why: Failure, pathBroke: boolean, isOurs = false): void {
    this.#last = { why, by: candidate };
    this.#pathBroke ||= pathBroke;
    if (!isOurs) this.#context.noteOutcome(candidate, true);
    this.#tryNext();
  }

  /** The client has gone. */
  onGone({ reason }: StreamReset): void {
    if (this.#over) return;
    this.#giveUp?.();
    this.#fail(failure('client-gone', `The client disconnected before a server accepted the connection: ${reason}.`));
  }

  #fail(why: Failure, by?: Candidate): void {
    if (this.#over) return;
    this.#finish();
    this.#events.onFailed(why, by);
  }

  #finish(): void {
    this.#over = true;
    this.#asked = undefined;
    clearTimeout(this.#deadline);
    this.#client.awaiting = undefined;
  }
}

const startAttempt = bounded(
  'connection/start',
  (attempt: ConnectAttempt) => attempt.start(),
  (_, attempt) => attempt.broken(),
);

/**
 * Whether a response means that the connection did not reach a server. A router on the path lost its link, the connector has moved, or
 * its router is closing.
 */
function isOfThePath({ status, fields }: ResponseHead): boolean {
  const error = errorGiven(fields);
  return status === 404 || error === 'destination_unavailable' || error === 'connection_terminated';
}

/** Converts the other router's status to a failure. */
function answerOf(head: ResponseHead, { routingKey, to }: Candidate): Failure {
  const error = errorGiven(head.fields);
  const why = error === undefined ? '' : ` (${error})`;
  const what = `${to.router} answered ${head.status}${why} for the routing key ${JSON.stringify(routingKey)}.`;
  switch (head.status) {
    case 404:
      return failure('no-connector', what);
    case 503:
      return failure('busy', what);
    case 504:
      return failure('timeout', what);
    default:
      return failure('peer-refused', what);
  }
}
