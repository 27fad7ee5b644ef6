import { LinkError } from './link-errors.ts';
import type { RequestHead, Stream, StreamHandler } from '../http2/contract.ts';
import type { ShareOwner } from '../../limits/nested-fair-share.ts';
import type { RouterId } from '../routing/contract.ts';
import type { Connection } from './session/connection.ts';
import { routerOf, type Hello } from './session/hello.ts';
import type { RoutingStream } from './session/routing-stream.ts';

export interface LinkEvents {
  /** Both directions and the routing stream are there. */
  onUp(link: Link): void;
  /** It carries no new streams any more. Once, also where it never was up. */
  onDown(link: Link): void;
  /** Its cost is another. */
  onCost(link: Link): void;
  /** It is up, and begins or ceases to be silent. */
  onSilence(link: Link): void;
  /** The other end takes it down soon, and lets no other in. */
  onLeaving(link: Link): void;
}

export interface LinkOptions {
  readonly id: string;
  /** What the other end said and proved. */
  readonly peer: Hello;
  readonly dialed: boolean;
  /** Where the peer is, as its connection says: of one that it opened. */
  readonly address?: string;
  /** Whose connections it has, as in shares of memory. */
  readonly owner: string;
  readonly cost: number;
  /** When the certificate that the peer showed ends, in milliseconds since 1970; `Infinity` where there is none. */
  readonly expires: number;
  /** The other end came in as an edge site: over this link it carries nothing between others, whatever it says of itself. */
  readonly confined: boolean;
  readonly routing: RoutingStream;
  readonly events: LinkEvents;
}

/**
 * One incarnation of a link between two routers: the connections that were opened for it, and its routing stream. It goes
 * one way only, joining → up → down; whoever dialed it makes a new one. Down, it opens no more streams; those that are open
 * go on for as long as their connection lives.
 *
 * Invariants: `onUp` is called once at most, and not after `onDown`, which is called once. A connection is in `connections` from when it
 * joins until it has ended, and none joins once the link is down.
 */
export class Link {
  readonly id: string;
  readonly peer: Hello;
  readonly dialed: boolean;
  readonly address: string | undefined;
  readonly owner: string;
  /** `SITE-ID/ROUTER`. */
  readonly router: RouterId;
  cost: number;
  readonly expires: number;
  readonly confined: boolean;
  readonly routing: RoutingStream;
  readonly #events: LinkEvents;
  readonly #connections = new Set<Connection>();
  /** Those on which this end opens requests. */
  readonly #senders: Connection[] = [];
  #state: 'joining' | 'up' | 'down' = 'joining';
  /** When it came up, milliseconds since 1970. */
  #upSince: number | undefined;
  /** Why it went down, for logs. */
  reason: string | undefined;
  #leaving = false;
  #isSilent = false;

  constructor(options: LinkOptions) {
    this.id = options.id;
    this.peer = options.peer;
    this.dialed = options.dialed;
    this.address = options.address;
    this.owner = options.owner;
    this.router = routerOf(options.peer);
    this.cost = options.cost;
    this.expires = options.expires;
    this.confined = options.confined;
    this.routing = options.routing;
    this.#events = options.events;
  }

  get state(): 'joining' | 'up' | 'down' {
    return this.#state;
  }

  get upSince(): number | undefined {
    return this.#upSince;
  }

  /** The other end is about to take it down. */
  get leaving(): boolean {
    return this.#leaving;
  }

  /** So long without a byte, on one of its connections, that other paths are better: it stays up, and what it carries goes on. */
  get isSilent(): boolean {
    return this.#isSilent;
  }

  /** When the last bytes arrived (milliseconds since 1970), while it is silent. */
  get silentSince(): number | undefined {
    const since = [...this.#connections].flatMap(({ silentSince }) => silentSince ?? []);
    return since.length === 0 ? undefined : Math.min(...since);
  }

  get connections(): ReadonlySet<Connection> {
    return this.#connections;
  }

  get openStreams(): number {
    let sum = 0;
    for (const { session } of this.#connections) sum += session.openStreams;
    return sum;
  }

  get queued(): number {
    let sum = 0;
    for (const { session } of this.#connections) sum += session.queued;
    return sum;
  }

  get roundTrip(): number | undefined {
    for (const { roundTrip } of this.#connections) if (roundTrip !== undefined) return roundTrip;
    return undefined;
  }

  /** @param sends whether this end opens requests on it */
  add(connection: Connection, sends: boolean): void {
    if (this.#state === 'down') {
      connection.destroy(new LinkError('closed', 'The link has ended.'));
      return;
    }
    this.#connections.add(connection);
    if (sends) this.#senders.push(connection);
  }

  /** All is there that it needs. */
  up(): void {
    if (this.#state !== 'joining') return;
    this.#state = 'up';
    this.#upSince = Date.now();
    this.#events.onUp(this);
    this.routing.start();
  }

  /**
   * Opens a stream on the connection that has the least to do, of those that have room for it.
   * @param whose part of the streams it is. @throws LinkError `closed` where none is open, `busy` where as many are open for them as may be
   */
  open(head: RequestHead, handler: StreamHandler, whose: ShareOwner): Stream {
    let isOpen = false;
    let best: Connection | undefined;
    for (const sender of this.#senders) {
      if (!sender.open) continue;
      isOpen = true;
      if ((best === undefined || lessBusy(sender, best)) && sender.session.hasRoom(whose)) best = sender;
    }
    if (!isOpen || this.#state !== 'up') throw new LinkError('closed', `The link to ${this.router} takes no more connections.`);
    if (best === undefined)
      throw new LinkError(
        'busy',
        `The link to ${this.router} carries as many connections of ${whose.key ?? whose.owner} as leave room for others.`,
      );
    return best.session.request(head, handler, { whose });
  }

  /** One of its connections begins or ceases to be silent. */
  silenceChanged(): void {
    const isSilent = this.silentSince !== undefined;
    if (isSilent === this.#isSilent) return;
    this.#isSilent = isSilent;
    if (this.#state === 'up') this.#events.onSilence(this);
  }

  peerLeaves(): void {
    if (this.#leaving) return;
    this.#leaving = true;
    this.#events.onLeaving(this);
  }

  /** A connection of it has ended. */
  gone(connection: Connection, reason: string): void {
    this.#connections.delete(connection);
    const at = this.#senders.indexOf(connection);
    if (at !== -1) this.#senders.splice(at, 1);
    // Each direction needs one. What is left serves the streams that it has.
    this.retire(reason);
  }

  /** In order: nothing new, what is open may finish, and then the connections close. */
  retire(reason: string): void {
    if (this.#state === 'down') return;
    this.#state = 'down';
    this.reason = reason;
    this.routing.end();
    for (const { session } of this.#connections) if (session.state === 'open') session.drain();
    this.#events.onDown(this);
  }

  /** Now, with all that it carries. */
  cut(error: Error): void {
    const connections = [...this.#connections];
    this.retire(error.message);
    for (const connection of connections) connection.destroy(error);
  }
}

function lessBusy(one: Connection, other: Connection): boolean {
  const queued = one.session.queued - other.session.queued;
  return queued === 0 ? one.session.openStreams < other.session.openStreams : queued < 0;
}
