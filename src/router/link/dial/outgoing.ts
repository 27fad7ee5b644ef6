import type { Socket } from 'node:net';
import { bounded, reportInternalError } from '../../../telemetry/boundary.ts';
import type { Learned } from '../../contract.ts';
import { LinkError } from '../link-errors.ts';
import type { RequestHead, ResponseHead, Stream, StreamHandler, StreamReset } from '../../../http2/contract.ts';
import { deadlines } from '../../deadlines.ts';
import { Connection } from '../session/connection.ts';
import { readEndpoints } from '../session/announced-endpoints.ts';
import { frameMessage } from '../session/framing.ts';
import { readHello, routerOf, writeHello, type Hello } from '../session/hello.ts';
import type { LinkHost } from '../host.ts';
import type { RouterId } from '../../../routing/contract.ts';
import { Link } from '../link.ts';
import { linkFields } from '../link-log.ts';
import { OneMessage } from '../session/one-message.ts';
import { closingBecause, refusalIn, refusalOf, refuse, waysOn } from '../refusal.ts';
import { RoutingStream, type RoutingStreamEvents } from '../session/routing-stream.ts';
import { certificateOf, ownerOf, type PeerCertificate } from '../peer-certificate.ts';
import { connectError } from '../tls-errors.ts';
import { ATTACH_PATH, AUTHORITY, ENDPOINTS, FORWARD, LEAVING, REVERSE, ROUTING_PATH, SIBLING_LINK, SIBLING_PART } from '../../wire.ts';
import type { Party } from '../../../identity/revocation.ts';
import { printableAscii } from '../../../text/printable.ts';
import { aborted } from '../../../work/pause.ts';

export interface OutgoingOptions {
  readonly host: LinkHost;
  /** For messages, such as `west.example:55671`. */
  readonly peer: string;
  /** Router that must answer. */
  readonly expected?: RouterId | undefined;
  /** Site that must answer. */
  readonly site?: string | undefined;
  /** Called when the site announces its endpoints. */
  readonly onLearned?: ((learned: Learned) => void) | undefined;
  readonly cost: number;
  readonly id: string;
  /** Name of the link, for logs. */
  readonly name?: string | undefined;
  /** Opens a connection for requests in the given direction. */
  readonly dial: (protocol: string, deadline: number, signal: AbortSignal) => Promise<Socket>;
  readonly signal: AbortSignal;
}

/** A link that has come up. */
export interface OpenedLink {
  readonly link: Link;
  /** Identities at its other end, since each connection may have presented another certificate. */
  readonly peers: readonly Party[];
  /** Whether it ended because the peer fell silent. */
  readonly silent: boolean;
  /** Opens a request of the link itself. */
  request(head: RequestHead, handler: StreamHandler): Stream;
}

/** Attempts to reach the router that the link is with, since several routers may share an access port. */
const REVERSE_ATTEMPTS = 64;

/**
 * Opens a link: a connection for our requests, on which both ends exchange hellos, then one for the peer's requests. The second one must
 * reach the same router. @throws LinkError
 */
export async function openLink(options: OutgoingOptions): Promise<OpenedLink> {
  const { host, id, name, peer } = options;
  const opening = new Outgoing(options);
  try {
    await opening.open();
    return opening;
  } catch (error) {
    if (!(error instanceof LinkError)) reportInternalError('link/open', error);
    const reason = connectError(error, peer);
    host.log.debug({ link: id, linkName: name, peer, error: reason }, 'link attempt failed');
    opening.abandon(reason);
    throw reason;
  }
}

/**
 * Invariants: each connection that it opened is in `#connections` until it has ended. `#link` is set once, when the peer has proved its
 * identity. Once `#signal` is aborted it opens nothing more and closes what was open, including the result of a pending dial. Connections
 * that do not join the link are closed as well.
 */
class Outgoing implements OpenedLink {
  readonly #options: OutgoingOptions;
  readonly #connections = new Map<Connection, PeerCertificate | undefined>();
  #forward: Connection | undefined;
  #link: Link | undefined;
  #silent = false;
  /** Certificate that the peer presented on the connection for our requests. */
  #certificate: PeerCertificate | undefined;
  /** Aborted once the link cannot come up any more; this class gives a LinkError as the reason. */
  readonly #end = new AbortController();
  readonly #signal: AbortSignal;

  constructor(options: OutgoingOptions) {
    this.#options = options;
    this.#signal = AbortSignal.any([options.signal, this.#end.signal]);
  }

  get link(): Link {
    if (this.#link === undefined) throw new Error('The link is not open yet.');
    return this.#link;
  }

  get peers(): readonly Party[] {
    const site = this.#link?.peer.site.id;
    return [...this.#connections.values()].map((certificate) => ({ site, certificate }));
  }

  get silent(): boolean {
    return this.#silent;
  }

  request(head: RequestHead, handler: StreamHandler): Stream {
    if (this.#forward?.open !== true) throw new LinkError('closed', `The link to ${this.#options.peer} is closing.`);
    return this.#forward.session.request(head, handler);
  }

  /** Named by the configured peer, since the router that answers chooses its own name. */
  get #owner(): string {
    return `link ${this.#options.peer}`;
  }

  async open(): Promise<void> {
    const { host, id, name, peer } = this.#options;
    host.log.debug({ link: id, linkName: name, peer }, 'link dialing');
    const socket = await this.#dial(FORWARD);
    this.#certificate = certificateOf(socket);
    const forward = this.#connect(socket, 'client', (stream) => refuse(stream, 404, 'http_request_error'));
    this.#forward = forward;
    await this.#unlessEnded(this.#exchangeHellos(forward));
    const link = this.link;
    link.add(forward, true);
    if (host.log.isLevelEnabled('debug')) host.log.debug({ ...linkFields(link), peer }, 'link connected');
    await this.#unlessEnded(this.#openReverse(link));
    if (host.log.isLevelEnabled('debug')) host.log.debug(linkFields(link), 'link attached');
    if (link.state !== 'joining')
      throw new LinkError('closed', `The link to ${this.#options.peer} ended before it was up: ${link.reason}.`);
    // A party revoked in the meantime was not yet among the links that a revocation ends.
    for (const party of this.peers) this.#refuseRevoked(party);
    link.up();
    // Connections that reached other routers are being drained, but their peer may ignore that.
    for (const connection of this.#connections.keys()) if (!link.connections.has(connection)) connection.destroy();
  }

  abandon(error: LinkError): void {
    this.#end.abort(error);
    this.#link?.cut(error);
    for (const connection of this.#connections.keys()) connection.destroy(error);
  }

  /** @throws LinkError */
  async #dial(protocol: string): Promise<Socket> {
    if (this.#signal.aborted) throw this.#reason();
    const socket = await this.#options.dial(protocol, deadlines.step, this.#signal);
    if (!this.#signal.aborted) return socket;
    socket.destroy();
    throw this.#reason();
  }

  /** Stops waiting once the link cannot come up. The reason for that is more useful than the error that follows from it. */
  async #unlessEnded(work: Promise<void>): Promise<void> {
    try {
      await Promise.race([work, aborted(this.#signal)]);
    } catch (error) {
      if (!this.#signal.aborted) throw error;
    }
    if (this.#signal.aborted) throw this.#reason();
  }

  #reason(): LinkError {
    const { reason } = this.#signal;
    return reason instanceof LinkError ? reason : new LinkError('closed', `The attempt to link to ${this.#options.peer} was aborted.`);
  }

  async #exchangeHellos(forward: Connection): Promise<void> {
    const { host, id, name, cost, peer } = this.#options;
    const answered = Promise.withResolvers<Hello>();
    const events: RoutingStreamEvents = {
      onHello: (message) => answered.resolve(readHello(message, forward.theirs)),
      onMessage: (message) => this.#message(message),
      onEnd: (refusal: ResponseHead | undefined) => {
        const reason =
          refusal === undefined
            ? new LinkError('closed', `${peer} ended the link.`)
            : refusalOf(refusal.status, refusal.fields, peer, this.#ownName);
        answered.reject(reason);
        this.#end.abort(reason);
        this.#link?.retire('the peer closed it, as when its router stops or its Link is deleted');
      },
      onFault: (error) => {
        answered.reject(error);
        this.#cutOff(error);
      },
    };
    const routing = new RoutingStream(
      events,
      host.messageTime.of(this.#certificate === undefined ? this.#owner : ownerOf(this.#certificate)),
    );
    const late = (): void => answered.reject(new LinkError('timeout', `${peer} sent no hello within ${deadlines.step / 1_000} s.`));
    const timer = setTimeout(bounded('link/hello-deadline', late, late), deadlines.step);
    try {
      const stream = forward.session.request({ method: 'POST', authority: AUTHORITY, path: ROUTING_PATH, fields: {} }, routing);
      routing.use(stream);
      forward.routing = routing;
      routing.send(writeHello(host.hello({ id, cost }), host.siteKey, forward.ours));
      const hello = await answered.promise;
      this.#check(hello);
      this.#link = new Link({
        id,
        name,
        peer: hello,
        dialed: true,
        owner: this.#owner,
        cost,
        expires: this.#certificate?.expires ?? Infinity,
        confined: false,
        routing,
        events: host.events,
      });
      host.links.add(this.#link);
    } finally {
      clearTimeout(timer);
    }
  }

  #message(message: Buffer): void {
    const { host, onLearned } = this.#options;
    const { link } = this;
    if (message[0] === LEAVING) link.peerLeaves();
    else if (message[0] === ENDPOINTS) onLearned?.({ site: link.peer.site.id, endpoints: readEndpoints(message) });
    else if (message[0] === SIBLING_LINK || message[0] === SIBLING_PART) host.siblingMessage(link, message);
    else host.routingMessage(link, message);
  }

  #check(hello: Hello): void {
    const { host, peer, expected, site } = this.#options;
    if (routerOf(hello) === host.self) {
      throw new LinkError('self', `${peer} is this router itself. Link to another site.`);
    }
    if (expected !== undefined && routerOf(hello) !== expected) {
      throw new LinkError('wrong-router', `The peer at ${peer} is router ${routerOf(hello)}, not ${expected}.`);
    }
    if (site !== undefined && hello.site.id !== site) {
      throw new LinkError('wrong-site', `The peer at ${peer} is site ${hello.site.id}, not ${site}, which announced this address.`);
    }
    const certified = this.#certificate?.sites ?? [];
    if (certified.length > 0 && !certified.includes(hello.site.id)) {
      throw new LinkError('wrong-site', `The certificate of ${peer} was issued to site ${certified.join(', ')}, not to ${hello.site.id}.`);
    }
    this.#refuseRevoked({ site: hello.site.id, certificate: this.#certificate });
  }

  /** @throws LinkError */
  #refuseRevoked(party: Party): void {
    const { host, peer } = this.#options;
    if (!host.isRevoked(party)) return;
    throw new LinkError('revoked', `This site has revoked the site at ${peer}, or its certificate. ${waysOn(party.site)}`);
  }

  get #ownName(): string {
    const { host, id, cost } = this.#options;
    return host.hello({ id, cost }).site.name;
  }

  async #openReverse(link: Link): Promise<void> {
    const { peer } = this.#options;
    for (let attempt = 0; attempt < REVERSE_ATTEMPTS; attempt += 1) if (await this.#attach(link, await this.#dial(REVERSE))) return;
    throw new LinkError(
      'wrong-router',
      `Several routers share ${peer}, and ${REVERSE_ATTEMPTS} attempts did not reach ${link.router} again.`,
    );
  }

  /** @returns whether the connection reached the link's router, which has then joined it to the link */
  async #attach(link: Link, socket: Socket): Promise<boolean> {
    const { host, peer, id, cost } = this.#options;
    const first = Promise.withResolvers<{ readonly stream: Stream; readonly body: OneMessage }>();
    const failed = Promise.withResolvers<never>();
    // Avoids an unhandled rejection after the last waiter is gone.
    failed.promise.catch(() => {});
    let request: OneMessage | undefined;
    const reverse = this.#connect(
      socket,
      'server',
      (stream, head) => {
        if (head.method === 'CONNECT')
          // The CONNECT may arrive in one chunk with the attach request that this end still waits for.
          return link.connections.has(reverse) && link.state !== 'down'
            ? host.connect(stream, head, { site: link.peer.site.id, certificate: this.#connections.get(reverse) }, this.#owner)
            : refuse(stream, 503, 'destination_unavailable');
        if (head.method !== 'POST' || head.path !== ATTACH_PATH || request !== undefined) return refuse(stream, 404, 'http_request_error');
        request = new OneMessage(deadlines.step, () => new LinkError('protocol', `${peer} answered a request that it sent itself.`));
        request.use(stream);
        request.message.catch(failed.reject);
        first.resolve({ stream, body: request });
        return request;
      },
      failed.reject,
    );
    const late = (): void => failed.reject(new LinkError('timeout', `${peer} did not attach within ${deadlines.step / 1_000} s.`));
    const timer = setTimeout(bounded('link/attach-deadline', late, late), deadlines.step);
    try {
      const { stream, body } = await Promise.race([first.promise, failed.promise]);
      const hello = readHello(await Promise.race([body.message, failed.promise]), reverse.theirs);
      if (this.#signal.aborted) throw this.#reason();
      if (routerOf(hello) !== link.router) {
        refuse(stream, 421, 'http_request_denied', 'wrong-router: the link is with another router of the site');
        reverse.session.drain();
        return false;
      }
      stream.respond({ status: 200, fields: {} });
      stream.write(frameMessage(writeHello(host.hello({ id, cost }), host.siteKey, reverse.ours)));
      stream.end();
      link.add(reverse, false);
      // The link being replaced stays until the peer has confirmed this one.
      await Promise.race([body.ended, failed.promise]);
      return true;
    } catch (error) {
      reverse.destroy(error instanceof Error ? error : undefined);
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }

  #connect(
    socket: Socket,
    role: 'client' | 'server',
    onRequest: (stream: Stream, head: RequestHead) => StreamHandler,
    onOver?: (why: LinkError) => void,
  ): Connection {
    const { peer } = this.#options;
    const certificate = certificateOf(socket);
    try {
      this.#refuseRevoked({ certificate });
    } catch (error) {
      socket.destroy();
      throw error;
    }
    const connection = new Connection({
      socket,
      dialed: true,
      owner: this.#owner,
      role,
      host: this.#options.host,
      events: {
        onRequest,
        onGoaway: (reason) => {
          const said = refusalIn(reason.reason, peer, this.#ownName);
          if (said !== undefined) onOver?.(said);
          this.#goaway(connection, reason, said);
        },
        onSilence: () => this.#link?.silenceChanged(),
        onClose: (reason, error) => {
          this.#connections.delete(connection);
          this.#silent ||= connection.fellSilent;
          onOver?.(new LinkError('lost', `${peer} closed the second connection of the link: ${printableAscii(reason.reason)}.`));
          this.#closed(connection, reason, error);
        },
      },
    });
    this.#connections.set(connection, certificate);
    return connection;
  }

  /** @param said set if the GOAWAY is a refusal */
  #goaway(connection: Connection, reason: StreamReset, said: LinkError | undefined): void {
    // A connection that reached another router is not part of the link.
    if (connection !== this.#forward && this.#link?.connections.has(connection) !== true) return;
    const { peer } = this.#options;
    if (said !== undefined) {
      this.#end.abort(said);
      this.#link?.cut(said);
      return;
    }
    this.#end.abort(new LinkError('closed', `${peer} is closing its connections: ${printableAscii(reason.reason)}.`));
    this.#link?.retire(closingBecause(reason.reason));
  }

  #closed(connection: Connection, reason: StreamReset, error: Error | undefined): void {
    const { peer } = this.#options;
    const cause =
      error === undefined
        ? new LinkError('lost', `${peer} closed the connection: ${printableAscii(reason.reason)}.`)
        : connectError(error, peer);
    if (connection === this.#forward) this.#end.abort(cause);
    if (this.#link?.connections.has(connection) === true) this.#link.gone(connection, cause.message);
  }

  #cutOff(error: unknown): void {
    const { host, peer } = this.#options;
    if (this.#link === undefined) return;
    const found = error instanceof LinkError ? error : new LinkError('routing', `${peer} violates the routing protocol.`, error);
    // If this end closed the connection, its streams break too: the link ended for the first reason.
    const cause = this.#forward?.error;
    const reason = found.code === 'lost' && cause instanceof LinkError ? cause : found;
    if (this.#link.state !== 'down') host.log.warn({ ...linkFields(this.#link), error: reason }, 'peer disconnected');
    this.#link.cut(reason);
  }
}
