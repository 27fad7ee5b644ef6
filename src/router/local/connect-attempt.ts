import { bounded } from '../../telemetry/boundary.ts';
import type { RequestHead, ResponseHead, Stream, StreamReset } from '../http2/contract.ts';
import { ErrorCode } from '../http2/errors.ts';
import type { Candidate } from './destination-choice.ts';
import type { Connectors } from './connectors.ts';
import type { LocalLimits, LocalSideOptions } from './contract.ts';
import type { RouteDestination } from '../routing/contract.ts';
import { errorGiven, failure, type Failure } from './failure.ts';
import { ConnectionHalf } from '../connection-half.ts';
import { EarshotError } from '../../errors/earshot-error.ts';
import { resetSocket, SocketEndpoint } from './socket-endpoint.ts';

/** Whether new connections should avoid the way there. @param firstLink the link over which it begins */
export type IsSilent = (to: RouteDestination, firstLink: string | undefined) => boolean;

export interface ConnectAttemptContext {
  readonly limits: LocalLimits;
  readonly connectors: Connectors;
  readonly open: LocalSideOptions['open'];
  /** Whether a candidate comes after all others, since nothing is heard from there. */
  isAvoidable(candidate: Candidate): boolean;
  /** A destination that refused, or did not: for the choices after this one. */
  noteOutcome(candidate: Candidate, refused: boolean): void;
}

export interface ConnectAttemptEvents {
  /** `server` is ready to be joined with the client's side. */
  onOpened(server: ConnectionHalf, candidate: Candidate): void;
  onFailed(why: Failure): void;
}

/**
 * Milliseconds before each further look for candidates, where the path to the last one broke: what routers know of each other is right again a
 * moment after a link died or a connector moved. Together less than a second.
 */
const PAUSES: readonly number[] = [0, 50, 100, 200, 400];

/** Where a connection may go: as found when it came, and, where the path to each of them breaks, as found later. */
export interface Candidates {
  readonly found: readonly Candidate[];
  /** Left out: nothing else can come of another look. */
  lookAgain?(): readonly Candidate[];
}

/** The head of the request that a router makes of the next one. */
export type HeadFor = (candidate: Candidate) => RequestHead;

/**
 * Finds a connection one server: tries the candidates in their order until one takes it, no more of them and no longer than
 * the limits say. Ends with one of the events, unless the client goes away before.
 */
export class ConnectAttempt {
  readonly #context: ConnectAttemptContext;
  readonly #client: ConnectionHalf;
  readonly #source: Candidates;
  #candidates: readonly Candidate[];
  readonly #headFor: HeadFor;
  readonly #events: ConnectAttemptEvents;
  readonly #deadline: NodeJS.Timeout;
  #next = 0;
  #scans = 0;
  /** What failed was the path, not the server at its end. */
  #pathBroke = false;
  #over = false;
  #last: Failure | undefined;
  #giveUp: (() => void) | undefined;
  /** A candidate elsewhere that has not answered yet, and the link over which it was asked. */
  #asked: { readonly candidate: Candidate; readonly firstLink: string | undefined } | undefined;

  constructor(context: ConnectAttemptContext, client: ConnectionHalf, source: Candidates, headFor: HeadFor, events: ConnectAttemptEvents) {
    this.#context = context;
    this.#client = client;
    this.#source = source;
    this.#candidates = source.found.slice(0, context.limits.attempts);
    this.#headFor = headFor;
    this.#events = events;
    const { establish } = context.limits;
    const late = (): void => {
      this.#giveUp?.();
      this.#fail(failure('timeout', `No server took the connection within ${establish / 1000} s.`));
    };
    this.#deadline = setTimeout(bounded('connection/establish-deadline', late, this.broken), establish);
    client.awaiting = { onResponse() {}, onGone: (reason) => this.#clientGone(reason) };
  }

  /** Where there is no candidate, it ends within the call. */
  start(): void {
    this.#tryNext();
  }

  /** After an error that nobody expected. */
  readonly broken = (): void => {
    this.#giveUp?.();
    this.#fail(failure('connect-failed', 'The connection was ended by an unexpected error of this router.'));
  };

  /**
   * Nothing was sent but the request, so it goes another way, if there is one, where the first has become silent. Where there is none it waits:
   * the path may recover.
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

  /** Nothing was sent but the request, so another candidate may be tried. */
  #scanAgain(): void {
    const pause = this.#pathBroke && this.#source.lookAgain !== undefined ? PAUSES[this.#scans] : undefined;
    if (pause === undefined) {
      this.#fail(this.#last ?? failure('no-connector', 'No connector of its routing keys can be reached.'));
      return;
    }
    this.#scans += 1;
    // A stream ends before its link is known to be down: also the shortest pause is one.
    const look = (): void => {
      if (this.#client.gone) {
        this.#fail(failure('client-gone', 'The connection was ended before a server took it.'));
        return;
      }
      this.#candidates = this.#source.lookAgain?.().slice(0, 1) ?? [];
      this.#pathBroke = this.#candidates.length === 0;
      this.#next = 0;
      this.#tryNext();
    };
    const timer = setTimeout(bounded('connection/look-again', look, this.broken), pause);
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
      const why = isBusy ? failure('busy', reason) : failure('no-link', `There is no way to ${candidate.to.router}: ${reason}`);
      // Not within the call: a candidate that fails at once is like any other that fails.
      const noWay = (): void => refuse(why, !isBusy, isBusy);
      const soon = setImmediate(bounded('connection/no-way', noWay, this.broken));
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

  /** @param isOurs this router has no room for one more of this client's: the destination, and those who have room, have nothing to do with that */
  #refused(candidate: Candidate, why: Failure, pathBroke: boolean, isOurs = false): void {
    this.#last = why;
    this.#pathBroke ||= pathBroke;
    if (!isOurs) this.#context.noteOutcome(candidate, true);
    this.#tryNext();
  }

  #clientGone({ reason }: StreamReset): void {
    if (this.#over) return;
    this.#giveUp?.();
    this.#fail(failure('client-gone', `The client went away before a server took the connection: ${reason}.`));
  }

  #fail(why: Failure): void {
    if (this.#over) return;
    this.#finish();
    this.#events.onFailed(why);
  }

  #finish(): void {
    this.#over = true;
    this.#asked = undefined;
    clearTimeout(this.#deadline);
    this.#client.awaiting = undefined;
  }
}

/**
 * Whether an answer says that the connection did not get as far as a server: a router in between has no link any more, the
 * connector has moved, or its router is closing.
 */
function isOfThePath({ status, fields }: ResponseHead): boolean {
  const error = errorGiven(fields);
  return status === 404 || error === 'destination_unavailable' || error === 'connection_terminated';
}

/** The other router's status stands for what it found. */
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
