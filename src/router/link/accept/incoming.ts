import type { Socket } from 'node:net';
import { bounded, detached } from '../../../telemetry/boundary.ts';
import { LinkError } from '../link-errors.ts';
import type { RateLimitedLog } from '../../../telemetry/rate-limited-log.ts';
import type { RequestHead, Stream, StreamHandler, StreamReset } from '../../../http2/contract.ts';
import { ErrorCode } from '../../../http2/errors.ts';
import { siteOf } from '../../../routing/names.ts';
import { deadlines } from '../../deadlines.ts';
import { Connection } from '../session/connection.ts';
import { frameMessage } from '../session/framing.ts';
import { readCost, readHello, routerOf, writeHello, type Hello } from '../session/hello.ts';
import type { LinkHost, Peer } from '../host.ts';
import type { PeerCertificate } from '../peer-certificate.ts';
import { Link } from '../link.ts';
import { linkFields } from '../link-log.ts';
import { linkMetrics } from '../link-metrics.ts';
import { OneMessage } from '../session/one-message.ts';
import { closingBecause, refuse, refuseLink, refusalOf, UNREVOKE } from '../refusal.ts';
import { PLACES_OF_LINK, type Placed } from './places.ts';
import { RETRY_AFTER, serveRenewal } from '../session/renewal.ts';
import { RoutingStream, type RoutingStreamEvents } from '../session/routing-stream.ts';
import {
  ATTACH_PATH,
  AUTHORITY,
  COST,
  LINK_MESSAGES_FROM,
  RENEW_PATH,
  REVERSE,
  ROUTING_PATH,
  SIBLING_LINK,
  SIBLING_PART,
} from '../../wire.ts';

export interface IncomingOptions {
  readonly host: LinkHost;
  readonly socket: Socket;
  readonly protocol: string;
  /** Absent between routers of one site. */
  readonly certificate?: PeerCertificate;
  /** Owner whose fair share of memory it counts against. */
  readonly owner: string;
  /**
   * Makes room for its link after the hello was verified, or for a connection that joins a link.
   * @returns why there is no room
   */
  readonly noRoom: (siteId: string, joins?: Link) => string | undefined;
  readonly address: string;
  /** Revision of the port's bundle that was presented to the peer. */
  readonly revision?: number;
  /** Whether only edge sites may link here. */
  readonly edgeOnly: boolean;
  /** Whether only routers of this site may link here; nothing else is served before the proof. */
  readonly siblingsOnly: boolean;
  /** Rate-limited log for events that a peer can cause without limit. */
  readonly limitedLog: RateLimitedLog;
  /** The peer has proved its identity. */
  readonly onProved?: () => void;
  readonly onClose: () => void;
}

/** Codes of errors that are logged only when the connection closes. */
const LOGGED_AT_CLOSE: ReadonlySet<string> = new Set(['silent', 'timeout']);
/** Milliseconds for a refused peer to read the reason. */
const REFUSAL_READ_DEADLINE = 500;
const NO_LINK: Hello['link'] = { id: '0'.repeat(16), cost: 1 };

/**
 * A connection that a peer opened to an access port, after TLS and the check of its certificate.
 *
 * Invariants: it has at most one routing stream and belongs to at most one link. `#hello` and `#link` are set once, together, when the peer
 * has proved its identity, and never after it was refused or has closed. Its end takes the link down, and `onClose` is called once.
 */
export class Incoming implements Placed {
  readonly serial: string;
  /** Owner whose fair share of memory it counts against. */
  readonly owner: string;
  readonly address: string;
  readonly expires: number;
  readonly revision: number;
  readonly #options: IncomingOptions;
  readonly #connection: Connection;
  /** Proved identity of the peer; undefined for a standard client. */
  #hello: Hello | undefined;
  #link: Link | undefined;
  #timer: NodeJS.Timeout | undefined;
  /** Deadline for the proof of a router of this site. */
  #unproved: NodeJS.Timeout | undefined;
  #refused = false;
  #closed = false;
  #isRenewing = false;

  constructor(options: IncomingOptions) {
    this.#options = options;
    this.serial = options.certificate?.serial ?? '';
    this.owner = options.owner;
    this.address = options.address;
    this.expires = options.certificate?.expires ?? Infinity;
    this.revision = options.revision ?? 0;
    const reverse = options.protocol === REVERSE;
    this.#connection = new Connection({
      socket: options.socket,
      dialed: false,
      owner: this.owner,
      role: reverse ? 'client' : 'server',
      host: options.host,
      events: {
        onRequest: (stream, head) => this.#request(stream, head),
        onGoaway: (reason) => this.#link?.retire(closingBecause(reason.reason)),
        onSilence: () => this.#link?.silenceChanged(),
        onClose: (reason, error) => this.#onClose(reason, error),
      },
    });
    const nobody = (): void => this.#connection.destroy();
    if (options.siblingsOnly) this.#unproved = setTimeout(bounded('connection/proof-deadline', nobody, nobody), deadlines.step).unref();
    if (reverse)
      detached(
        'connection/attach',
        () => this.#attach(),
        () => this.#connection.destroy(),
      );
  }

  get siteId(): string | undefined {
    return this.#hello?.site.id;
  }

  /** Identity of the peer, with or without a hello. */
  get peer(): Peer {
    const { certificate, edgeOnly } = this.#options;
    return { site: this.siteId, certificate, confined: edgeOnly };
  }

  /** Link whose routing stream uses this connection. */
  get link(): Link | undefined {
    return this.#options.protocol === REVERSE ? undefined : this.#link;
  }

  get openStreams(): number {
    return this.#connection.session.openStreams;
  }

  /**
   * Includes a slot reserved for the second connection of a joining link. If that was refused, the site would already have lost the link
   * that this one replaces.
   */
  get places(): number {
    return this.link?.state === 'joining' ? PLACES_OF_LINK : 1;
  }

  get isLeft(): boolean {
    return this.#link?.state === 'down';
  }

  /** Accepts nothing new. */
  drain(): void {
    this.#link?.retire('this router is closing');
    if (this.#connection.session.state === 'open') this.#connection.session.drain();
  }

  /** Cuts the connection and its link with everything on it. */
  cut(error: LinkError): void {
    this.#link?.cut(error);
    this.#connection.destroy(error);
  }

  /**
   * Ends only this connection of a link that is down. Without an error code, its peer does not take that for a refusal, and the link's
   * other connection continues.
   */
  giveWay(): void {
    this.#connection.destroy(new Error('a new link of the site replaces it'));
  }

  #request(stream: Stream, head: RequestHead): StreamHandler {
    if (this.#options.siblingsOnly && this.#hello === undefined && head.path !== ROUTING_PATH) {
      return refuse(stream, 403, 'http_request_denied', 'this access accepts only routers of this site');
    }
    if (head.method === 'CONNECT') return this.#options.host.connect(stream, head, this.peer, this.owner);
    if (head.method !== 'POST') return refuse(stream, 405, 'http_request_error');
    if (head.path === ROUTING_PATH) return this.#routing(stream);
    if (head.path === RENEW_PATH) return this.#renewal(stream);
    return refuse(stream, 404, 'http_request_error');
  }

  #routing(stream: Stream): StreamHandler {
    if (this.#hello !== undefined || this.#timer !== undefined) return refuse(stream, 409, 'http_request_denied');
    const events: RoutingStreamEvents = {
      onHello: (message) => this.#welcome(stream, routing, message),
      onMessage: (message) => this.#message(message),
      onEnd: () => this.#link?.retire('the peer closed it, as when its router stops or its Link is deleted'),
      onFault: (error) => this.#fault(stream, error),
    };
    const routing = new RoutingStream(events, this.#options.host.messageTime.of(this.owner));
    routing.use(stream);
    this.#connection.routing = routing;
    const late = bounded(
      'connection/join-deadline',
      () => this.#checkJoined(),
      () => this.#connection.destroy(),
    );
    this.#timer = setTimeout(late, deadlines.join).unref();
    return routing;
  }

  #checkJoined(): void {
    const link = this.#link;
    const error = new LinkError('timeout', `The peer at ${this.address} did not complete its link within ${deadlines.join / 1_000} s.`);
    if (this.#refused) return;
    if (link === undefined) this.cut(error);
    else if (link.state === 'joining') link.cut(error);
  }

  /** @throws LinkError if the peer is refused */
  #welcome(stream: Stream, routing: RoutingStream, message: Buffer): void {
    const { host } = this.#options;
    const hello = readHello(message, this.#connection.theirs);
    this.#check(hello);
    const link = new Link({
      id: hello.link.id,
      peer: hello,
      dialed: false,
      address: this.address,
      owner: this.owner,
      cost: hello.link.cost,
      expires: this.expires,
      confined: this.#options.edgeOnly,
      routing,
      events: host.events,
    });
    this.#proved(hello);
    this.#link = link;
    link.add(this.#connection, false);
    host.links.add(link);
    if (host.log.isLevelEnabled('debug')) host.log.debug({ ...linkFields(link), address: this.address }, 'link connected');
    stream.respond({ status: 200, fields: {} });
    routing.send(writeHello(host.hello(hello.link), host.siteKey, this.#connection.ours));
  }

  #proved(hello: Hello): void {
    this.#hello = hello;
    clearTimeout(this.#unproved);
    this.#options.onProved?.();
  }

  #check(hello: Hello): void {
    const { host, edgeOnly, siblingsOnly } = this.#options;
    const { id } = hello.site;
    if (host.draining) throw new LinkError('draining', 'This router is closing.');
    if (routerOf(hello) === host.self || (id === siteOf(host.self) && !siblingsOnly))
      throw new LinkError('self', 'This is a router of the site itself. Link to another site.');
    this.#checkCertified(id);
    if (edgeOnly && !hello.edge) throw new LinkError('edge-only', 'This access is for edge sites. Link to the inter-router endpoint.');
    if (host.links.get(hello.link.id) !== undefined) throw new LinkError('protocol', 'The ID of the link is in use.');
    this.#checkRoom(id);
  }

  /** Must be the last check, since other connections end for this one. */
  #checkRoom(site: string, joins?: Link): void {
    const why = this.#options.noRoom(site, joins);
    if (why !== undefined) throw new LinkError('busy', why);
  }

  /** Checked on each connection of a link, since each may present another certificate. */
  #checkCertified(site: string): void {
    const { host, certificate, siblingsOnly } = this.#options;
    if (siblingsOnly && site !== siteOf(host.self)) throw new LinkError('wrong-site', 'Only routers of this site may link here.');
    const certified = certificate?.sites ?? [];
    if (certified.length > 0 && !certified.includes(site)) {
      throw new LinkError('wrong-site', `The certificate was issued to site ${certified.join(', ')}, not to ${site}. Redeem a new token.`);
    }
    if (host.isRevoked({ site, certificate })) throw new LinkError('revoked', `This site has been revoked here. ${UNREVOKE}`);
  }

  #message(message: Buffer): void {
    const { host } = this.#options;
    const link = this.#link;
    if (link === undefined) return;
    const type = message[0] ?? 0;
    if (type < LINK_MESSAGES_FROM) {
      host.routingMessage(link, message);
    } else if (type === COST) {
      link.cost = readCost(message);
      host.events.onCost(link);
    } else if (type === SIBLING_LINK || type === SIBLING_PART) {
      host.siblingMessage(link, message);
    }
    // Unknown types come from newer versions and are ignored.
  }

  #renewal(stream: Stream): StreamHandler {
    const { host, certificate, siblingsOnly } = this.#options;
    const siteId = this.siteId;
    if (siblingsOnly || siteId === undefined || certificate === undefined || host.hooks.renew === undefined) {
      return refuse(stream, 403, 'http_request_denied', 'this access does not renew certificates');
    }
    if (host.isRevoked(this.peer))
      return refuse(stream, 403, 'http_request_denied', 'revoked: this site or its certificate has been revoked here');
    // One at a time, since its memory is not accounted for.
    if (this.#isRenewing) return refuse(stream, 429, 'http_request_denied', 'another renewal is in progress', { [RETRY_AFTER]: '60' });
    this.#isRenewing = true;
    return serveRenewal({
      stream,
      onOver: () => {
        this.#isRenewing = false;
      },
      peer: { certificate: certificate.der, siteId },
      renew: host.hooks.renew,
      host,
      limitedLog: this.#options.limitedLog,
    });
  }

  async #attach(): Promise<void> {
    const { host } = this.#options;
    const session = this.#connection.session;
    const answer = new OneMessage(deadlines.step, (head) =>
      refusalOf(head.status, head.fields, this.address, host.hello(NO_LINK).site.name),
    );
    try {
      const stream = session.request({ method: 'POST', authority: AUTHORITY, path: ATTACH_PATH, fields: {} }, answer);
      answer.use(stream);
      stream.write(frameMessage(writeHello(host.hello(NO_LINK), host.siteKey, this.#connection.ours)));
      const hello = readHello(await answer.message, this.#connection.theirs);
      const link = host.links.get(hello.link.id);
      if (link === undefined || link.dialed || link.router !== routerOf(hello) || link.state === 'down') {
        throw new LinkError('protocol', `The peer attached to a link that does not exist.`);
      }
      if (!this.#closed) this.#join(link, hello, stream);
    } catch (error) {
      // Usually, another router of this site has the link.
      host.log.debug({ address: this.address, error }, 'connection not attached');
      this.#connection.destroy();
    }
  }

  #join(link: Link, hello: Hello, stream: Stream): void {
    try {
      this.#checkCertified(hello.site.id);
      this.#checkRoom(hello.site.id, link);
    } catch (error) {
      this.#refuseToJoin(error);
      return;
    }
    this.#proved(hello);
    this.#link = link;
    link.add(this.#connection, true);
    const { log } = this.#options.host;
    if (log.isLevelEnabled('debug')) log.debug({ ...linkFields(link), address: this.address }, 'link attached');
    // Shows the peer that the connection has joined the link.
    stream.end();
    link.up();
  }

  #refuseToJoin(error: unknown): void {
    if (!(error instanceof LinkError)) throw error;
    linkMetrics.refused.inc({ reason: error.code });
    this.#options.limitedLog.warn({ address: this.address, serial: this.serial, error }, 'connection of a peer refused');
    this.#connection.destroy(error);
  }

  /** Disconnects the peer, with the reason if it can still receive one. */
  #fault(stream: Stream, error: unknown): void {
    const reason = error instanceof LinkError ? error : new LinkError('routing', 'The peer violates the routing protocol.', error);
    if (this.#closed || this.#refused || this.#link?.state === 'down') return;
    if (this.#link === undefined) {
      this.#refuse(stream, reason);
      return;
    }
    if (reason.code !== 'lost') {
      linkMetrics.refused.inc({ reason: reason.code });
      this.#options.limitedLog.warn({ ...linkFields(this.#link), address: this.address, error: reason }, 'peer disconnected');
    }
    // If this end closed the connection, its streams break too: the link ended for the first reason.
    const { error: cause } = this.#connection;
    this.#link.cut(reason.code === 'lost' && cause instanceof LinkError ? cause : reason);
  }

  #refuse(stream: Stream, reason: LinkError): void {
    this.#refused = true;
    linkMetrics.refused.inc({ reason: reason.code });
    this.#options.limitedLog.warn({ address: this.address, serial: this.serial, error: reason }, 'peer refused');
    if (reason.code === 'lost') return;
    const destroy = (): void => this.#connection.destroy();
    setTimeout(bounded('connection/refusal-deadline', destroy, destroy), REFUSAL_READ_DEADLINE).unref();
    refuseLink(stream, reason);
  }

  #onClose(reason: StreamReset, error: Error | undefined): void {
    this.#closed = true;
    clearTimeout(this.#timer);
    clearTimeout(this.#unproved);
    const code = this.#offence(reason, error);
    if (code !== undefined) {
      linkMetrics.refused.inc({ reason: code });
      const { address, serial, siteId } = this;
      this.#options.limitedLog.warn(
        { address, serial, siteId, code, reason: error?.message ?? reason.reason },
        'connection of a peer closed',
      );
    }
    this.#link?.gone(this.#connection, error?.message ?? reason.reason);
    this.#options.onClose();
  }

  /** Error code if this end closed the connection for a fault of the peer that has not been logged yet. */
  #offence(reason: StreamReset, error: Error | undefined): string | undefined {
    if (error instanceof LinkError) return LOGGED_AT_CLOSE.has(error.code) ? error.code : undefined;
    return reason.code === ErrorCode.NO_ERROR || reason.code === ErrorCode.INTERNAL_ERROR ? undefined : 'protocol';
  }
}
