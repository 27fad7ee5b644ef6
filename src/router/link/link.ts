import { LinkError } from './link-errors.ts';
import type { RequestHead, Stream, StreamHandler } from '../../http2/contract.ts';
import type { ShareOwner } from '../../limits/nested-fair-share.ts';
import type { RouterId } from '../../routing/contract.ts';
import type { Connection } from './session/connection.ts';
import { routerOf, type Hello } from './session/hello.ts';
import type { RoutingStream } from './session/routing-stream.ts';

export interface LinkEvents {
  /** Both directions and the routing stream are open. */
  onUp(link: Link): void;
  /** The link accepts no new streams any more. Called once, even if it never was up. */
  onDown(link: Link): void;
  /** All its connections have ended. Called once, after `onDown`. */
  onClosed(link: Link, reason: string): void;
  /** The cost has changed. */
  onCost(link: Link): void;
  /** The link is up, and has become silent or is no longer silent. */
  onSilence(link: Link): void;
  /** The other end will close the link soon, and accepts no new one. */
  onLeaving(link: Link): void;
}

export interface LinkOptions {
  readonly id: string;
  /** Name of a link that this end dialed. */
  readonly name?: string | undefined;
  /** Hello of the other end, with its proved identity. */
  readonly peer: Hello;
  readonly dialed: boolean;
  /** Address of the peer, for a link that the peer opened. */
  readonly address?: string;
  /** Owner whose fair shares the link's connections count against. */
  readonly owner: string;
  readonly cost: number;
  /** Expiry of the peer's certificate in milliseconds since 1970; `Infinity` without one. */
  readonly expires: number;
  /** Whether the peer came in as an edge site: over this link it carries nothing between others, whatever it declares. */
  readonly confined: boolean;
  readonly routing: RoutingStream;
  readonly events: LinkEvents;
}

/**
 * One incarnation of a link between two routers: its connections and its routing stream. It only goes joining → up → down; the dialing end
 * then creates a new one. Once down it opens no streams; open ones continue as long as their connection.
 *
 * Invariants: `onUp` is called at most once and not after `onDown`, which is called once. A connection is in `connections` from when it
 * joins until it ends, and none joins a link that is down.
 */
export class Link {
  readonly id: string;
  readonly name: string | undefined;
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
  /** Connections on which this end opens requests. */
  readonly #senders: Connection[] = [];
  #state: 'joining' | 'up' | 'down' = 'joining';
  /** Time when it came up, in milliseconds since 1970. */
  #upSince: number | undefined;
  /** Reason for going down, for logs. */
  reason: string | undefined;
  #leaving = false;
  #isSilent = false;

  constructor(options: LinkOptions) {
    this.id = options.id;
    this.name = options.name;
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

  /** Whether the other end will close the link soon. */
  get leaving(): boolean {
    return this.#leaving;
  }

  /** Whether a connection has been without input so long that other paths are preferred. The link stays up, and its streams continue. */
  get isSilent(): boolean {
    return this.#isSilent;
  }

  /** Time of the last bytes in milliseconds since 1970, while the link is silent. */
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

  /** Bytes within TLS. */
  get bytes(): { readonly sent: number; readonly received: number } {
    let [sent, received] = [0, 0];
    for (const { bytesWritten, bytesRead } of this.#connections) {
      sent += bytesWritten;
      received += bytesRead;
    }
    return { sent, received };
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

  /** Marks the link as up: both directions and the routing stream are open. */
  up(): void {
    if (this.#state !== 'joining') return;
    this.#state = 'up';
    this.#upSince = Date.now();
    this.#events.onUp(this);
    this.routing.start();
  }

  /**
   * Opens a stream on the least busy connection that has room.
   * @param whose owner whose fair share it counts against. @throws LinkError `closed` if no connection is open, `busy` if the owner has no
   * room left
   */
  open(head: RequestHead, handler: StreamHandler, whose: ShareOwner): Stream {
    let isOpen = false;
    let best: Connection | undefined;
    for (const sender of this.#senders) {
      if (!sender.open) continue;
      isOpen = true;
      if ((best === undefined || lessBusy(sender, best)) && sender.session.hasRoom(whose)) best = sender;
    }
    if (!isOpen || this.#state !== 'up') throw new LinkError('closed', `The link to ${this.router} accepts no more connections.`);
    if (best === undefined)
      throw new LinkError('busy', `Connection limit for ${whose.key ?? whose.owner} on the link to ${this.router} reached.`);
    return best.session.request(head, handler, { whose });
  }

  /** One of its connections has become silent or is no longer silent. */
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

  /** One of its connections has ended. */
  gone(connection: Connection, reason: string): void {
    const wasOpen = this.#connections.delete(connection);
    const at = this.#senders.indexOf(connection);
    if (at !== -1) this.#senders.splice(at, 1);
    // Each direction needs a connection. The remaining one serves its open streams.
    this.retire(reason);
    if (wasOpen && this.#connections.size === 0) this.#events.onClosed(this, reason);
  }

  /** Closes in order: no new streams, open ones finish, and then the connections close. */
  retire(reason: string): void {
    if (this.#state === 'down') return;
    this.#state = 'down';
    this.reason = reason;
    this.routing.end();
    for (const { session } of this.#connections) if (session.state === 'open') session.drain();
    this.#events.onDown(this);
  }

  /** Closes at once, with all streams. */
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
