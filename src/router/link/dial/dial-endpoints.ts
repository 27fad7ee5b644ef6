import { randomBytes } from 'node:crypto';
import type { Socket } from 'node:net';
import type { TlsBundle } from '../../../identity/tls-bundle.ts';
import { bounded, detached } from '../../../telemetry/boundary.ts';
import { deadlines } from '../../deadlines.ts';
import { LinkError } from '../link-errors.ts';
import type { LinkHost } from '../host.ts';
import type { RouterId } from '../../../routing/contract.ts';
import type { Learned, LinkEndpoint } from '../../contract.ts';
import { openLink, type OpenedLink } from './outgoing.ts';
import { listSome } from '../../../text/list-some.ts';

/** One address of the peer. */
export interface DialEndpoint {
  /** For messages, such as `west.example:55671`. */
  readonly peer: string;
  /** Site that must answer, if only that site announced the endpoint. */
  readonly site?: string;
  /** @param onTcp called when TCP is connected to the endpoint, also by a proxy */
  readonly dial: (protocol: string, deadline: number, signal: AbortSignal, onTcp?: () => void) => Promise<Socket>;
}

/** The destination of a dialer. */
export interface DialTarget {
  readonly cost: number;
  /** Router that must answer; absent if any peer with an accepted certificate may. */
  readonly router?: RouterId;
  /** Bundle to present; `priorRevisions` is as in `LinkConfig`. */
  readonly tls?: TlsBundle;
  readonly priorRevisions?: number | undefined;
  /** Endpoints that an earlier process received. */
  readonly remembered?: Learned | undefined;
  /**
   * Endpoints in order of preference.
   * @param learned endpoints announced by the site that the link was with
   * @throws LinkError if there is nothing to try
   */
  endpoints(learned?: Learned): readonly DialEndpoint[];
  /** Announced endpoints that apply to this link. */
  ofLearned(learned: Learned): readonly LinkEndpoint[];
  /** Whether the other target has the same configured endpoints; then its announced ones apply as well. */
  beginsAs(other: DialTarget): boolean;
  /** Whether a link opened for `other`, to that peer, is still desired. */
  servedBy(other: DialTarget, peer: string): boolean;
  /** Whether an attempt for the other target also serves this one. */
  equals(other: DialTarget): boolean;
}

/** A router of the same site, whose identity and address are known. What it announces about them is ignored. */
export abstract class KnownTarget implements DialTarget {
  readonly cost = 1;

  abstract endpoints(): readonly DialEndpoint[];
  abstract equals(other: DialTarget): boolean;

  ofLearned(): readonly LinkEndpoint[] {
    return [];
  }

  beginsAs(other: DialTarget): boolean {
    return this.equals(other);
  }

  servedBy(other: DialTarget): boolean {
    return this.equals(other);
  }
}

export interface OpenOptions {
  readonly host: LinkHost;
  /** Name of the link, for logs. */
  readonly name?: string;
  readonly target: DialTarget;
  /** Peer to try after all others: a peer that fell silent may still answer, and would keep the link from a reachable endpoint. */
  readonly last: string | undefined;
  readonly learned?: Learned | undefined;
  readonly onLearned?: (learned: Learned) => void;
  /** An attempt is slow and continues. Called again if TCP is connected later. */
  readonly onSlow?: (peer: string, hasTcp: boolean) => void;
  readonly signal: AbortSignal;
}

export interface Opened {
  readonly opened: OpenedLink;
  readonly peer: string;
}

/**
 * Opens a link to one of the endpoints, in order of preference. The next one is tried when one fails, and also when it is slow, without
 * aborting the slow one. So a slow path gets its time, and a dead one delays no other. An endpoint without an answer is dialed once more
 * beside it: its name may have another address by now, or a load balancer another target. The first link that is up wins; the other
 * attempts are aborted.
 * @throws LinkError of the most preferred endpoint, with one message for each code
 */
export function openFirst(options: OpenOptions): Promise<Opened> {
  return new Race(options).start();
}

class Race {
  readonly #options: OpenOptions;
  readonly #inOrder: readonly DialEndpoint[];
  readonly #waiting: DialEndpoint[];
  readonly #failures = new Map<DialEndpoint, LinkError>();
  readonly #over = new AbortController();
  readonly #result = Promise.withResolvers<Opened>();

  constructor(options: OpenOptions) {
    const { target, learned, last } = options;
    this.#options = options;
    this.#inOrder = target.endpoints(learned);
    this.#waiting = [...this.#inOrder.filter((each) => each.peer !== last), ...this.#inOrder.filter((each) => each.peer === last)];
  }

  start(): Promise<Opened> {
    if (this.#waiting.length === 0) throw new LinkError('no-endpoint', 'The link has no endpoint that this site can use. Add one.');
    this.#next();
    return this.#result.promise;
  }

  #next(): void {
    const endpoint = this.#waiting.shift();
    if (endpoint === undefined || this.#over.signal.aborted) return;
    this.#begin(endpoint);
  }

  #begin(endpoint: DialEndpoint, isAgain = false): void {
    const failed = (error: unknown): void => this.#end(() => this.#result.reject(error));
    detached('link/endpoint', () => this.#try(endpoint, isAgain), failed);
  }

  /** The first failure of an endpoint counts. */
  async #try(endpoint: DialEndpoint, isAgain: boolean): Promise<void> {
    const { host, name, target, onLearned, onSlow, signal } = this.#options;
    const { peer, site, dial } = endpoint;
    let [hasNext, isSlow, hasTcp] = [isAgain, false, false];
    const goOn = (): void => {
      if (hasNext) return;
      hasNext = true;
      this.#next();
    };
    const slow = (): void => {
      isSlow = true;
      onSlow?.(peer, hasTcp);
      if (!hasTcp) this.#begin(endpoint, true);
      goOn();
    };
    const onTcp = (): void => {
      if (isSlow && !hasTcp) onSlow?.(peer, true);
      hasTcp = true;
    };
    const timer = isAgain ? undefined : setTimeout(bounded('link/slow-endpoint', slow, goOn), deadlines.slowAttempt);
    try {
      const id = randomBytes(10).toString('hex');
      const attempt = AbortSignal.any([signal, this.#over.signal]);
      const opened = await openLink({
        host,
        name,
        peer,
        expected: target.router,
        site,
        dial: (protocol, deadline, ended) => dial(protocol, deadline, ended, onTcp),
        id,
        cost: target.cost,
        onLearned,
        signal: attempt,
      });
      if (this.#over.signal.aborted) opened.link.cut(new LinkError('closed', 'Another endpoint was faster.'));
      this.#end(() => this.#result.resolve({ opened, peer }));
    } catch (error) {
      if (this.#over.signal.aborted) return;
      if (signal.aborted || !(error instanceof LinkError)) {
        this.#end(() => this.#result.reject(error));
        return;
      }
      if (!this.#failures.has(endpoint)) this.#failures.set(endpoint, error);
      if (this.#failures.size === this.#inOrder.length) this.#end(() => this.#result.reject(this.#failure(error)));
      else goOn();
    } finally {
      clearTimeout(timer);
    }
  }

  #end(settle: () => void): void {
    if (this.#over.signal.aborted) return;
    this.#over.abort();
    settle();
  }

  #failure(last: LinkError): LinkError {
    const failures = this.#inOrder.flatMap((endpoint) => {
      const error = this.#failures.get(endpoint);
      return error === undefined ? [] : [{ peer: endpoint.peer, error }];
    });
    const [{ error: first } = { error: last }, ...others] = failures;
    return others.length === 0 ? first : new LinkError(first.code, messageOfAll(failures), first);
  }
}

/** Several endpoints of a site that does not run fail alike, so each code has one message. */
function messageOfAll(failures: readonly { readonly peer: string; readonly error: LinkError }[]): string {
  const messages = [...Map.groupBy(failures, ({ error }) => error.code).values()].map((group) => {
    const [first, ...others] = group;
    const peers = others.map(({ peer }) => peer);
    return `${first?.error.message ?? ''}${peers.length === 0 ? '' : ` The same at ${listSome(peers, MOST_NAMED)}.`}`;
  });
  return messages.join(' ');
}

/** Maximum number of endpoints that a message names. */
const MOST_NAMED = 8;
