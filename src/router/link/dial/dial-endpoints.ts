import { randomBytes } from 'node:crypto';
import type { Socket } from 'node:net';
import type { TlsBundle } from '../../../identity/tls-bundle.ts';
import { bounded, detached } from '../../../telemetry/boundary.ts';
import { deadlines } from '../../deadlines.ts';
import { LinkError } from '../link-errors.ts';
import type { LinkHost } from '../host.ts';
import type { RouterId } from '../../routing/contract.ts';
import type { Learned, LinkEndpoint } from '../../contract.ts';
import { openLink, type OpenedLink } from './outgoing.ts';

/** One address at which the peer may be reached. */
export interface DialEndpoint {
  /** For people: `west.example:55671`. */
  readonly peer: string;
  /** Whose it has to be: only that site says that it is reached there. */
  readonly site?: string;
  readonly dial: (protocol: string, deadline: number, signal: AbortSignal) => Promise<Socket>;
}

/** What a dialer is to reach. */
export interface DialTarget {
  readonly cost: number;
  /** Who has to answer; left out where it may be anybody that the link's certificates let in. */
  readonly router?: RouterId;
  /** What is shown there, and as `LinkConfig.priorRevisions`. */
  readonly tls?: TlsBundle;
  readonly priorRevisions?: number | undefined;
  /** What is known from before of where it is reached. */
  readonly remembered?: Learned | undefined;
  /**
   * In order of preference.
   * @param learned what the site that the link was with says of itself
   * @throws LinkError where nothing can be tried
   */
  endpoints(learned?: Learned): readonly DialEndpoint[];
  /** Those of the learned that are for this link. */
  ofLearned(learned: Learned): readonly LinkEndpoint[];
  /** Whether the other begins at the same endpoints: then what was learned by that one holds. */
  beginsAs(other: DialTarget): boolean;
  /** Whether a link that was opened for `other`, to that peer, is still what is wanted. */
  servedBy(other: DialTarget, peer: string): boolean;
  /** Whether an attempt to open the other is one to open this. */
  equals(other: DialTarget): boolean;
}

/** Who a router of the same site is, and where, is known here: nothing that it says of that matters. */
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
  readonly target: DialTarget;
  /** The peer that is tried after all others: where one fell silent, its answer would keep the link from an endpoint that can be reached. */
  readonly last: string | undefined;
  readonly learned?: Learned | undefined;
  readonly onLearned?: (learned: Learned) => void;
  /** An attempt takes long, and goes on. */
  readonly onSlow?: (peer: string) => void;
  readonly signal: AbortSignal;
}

export interface Opened {
  readonly opened: OpenedLink;
  readonly peer: string;
}

/**
 * Opens a link to an endpoint, in order of preference. The next one is tried when one fails, and beside it when it takes long: a slow path
 * is given its time, and a dead one keeps the link from no other. The first link that is up wins; the other attempts are aborted.
 * @throws LinkError of the first by preference, with the messages of all in that order
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
    if (this.#waiting.length === 0) throw new LinkError('no-endpoint', 'The link has no endpoint that this site can use. Give it one.');
    this.#next();
    return this.#result.promise;
  }

  #next(): void {
    const endpoint = this.#waiting.shift();
    if (endpoint === undefined || this.#over.signal.aborted) return;
    const failed = (error: unknown): void => this.#end(() => this.#result.reject(error));
    detached('link/endpoint', () => this.#try(endpoint), failed);
  }

  async #try(endpoint: DialEndpoint): Promise<void> {
    const { host, target, onLearned, onSlow, signal } = this.#options;
    const { peer, site, dial } = endpoint;
    let hasNext = false;
    const goOn = (): void => {
      if (hasNext) return;
      hasNext = true;
      this.#next();
    };
    const slow = (): void => {
      onSlow?.(peer);
      goOn();
    };
    const timer = setTimeout(bounded('link/slow-endpoint', slow, goOn), deadlines.slowAttempt);
    try {
      const id = randomBytes(10).toString('hex');
      const attempt = AbortSignal.any([signal, this.#over.signal]);
      const opened = await openLink({ host, peer, expected: target.router, site, dial, id, cost: target.cost, onLearned, signal: attempt });
      if (this.#over.signal.aborted) opened.link.cut(new LinkError('closed', 'Another endpoint was faster.'));
      this.#end(() => this.#result.resolve({ opened, peer }));
    } catch (error) {
      if (this.#over.signal.aborted) return;
      if (signal.aborted || !(error instanceof LinkError)) {
        this.#end(() => this.#result.reject(error));
        return;
      }
      this.#failures.set(endpoint, error);
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
    const [first = last, ...others] = this.#inOrder.flatMap((endpoint) => this.#failures.get(endpoint) ?? []);
    return others.length === 0 ? first : new LinkError(first.code, [first, ...others].map(({ message }) => message).join(' '), first);
  }
}
