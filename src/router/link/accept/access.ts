import { constants, type X509Certificate } from 'node:crypto';
import { createServer, isIP, type AddressInfo, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer, type SecureContextOptions, type Server as TlsServer, type TLSSocket } from 'node:tls';
import { bounded } from '../../../telemetry/boundary.ts';
import { hostPort } from '../../../text/host-port.ts';
import type { AccessConfig, AccessState, Problem } from '../../contract.ts';
import { deadlines } from '../../deadlines.ts';
import { LinkError } from '../link-errors.ts';
import { backoffDelay, type Backoff } from '../../../work/backoff.ts';
import { hostNames } from '../../../net/host-names.ts';
import type { TlsAcceptor } from '../../../net/tls-acceptor.ts';
import { openBundle, type LinkBundle } from '../bundle.ts';
import { linkAcceptor } from './link-acceptor.ts';
import type { LinkHost } from '../host.ts';
import type { Link } from '../link.ts';
import { Incoming } from './incoming.ts';
import { listenError } from './listen-error.ts';
import { sendGoaway } from '../session/goaway.ts';
import { RateLimitedLog } from '../../../telemetry/rate-limited-log.ts';
import { isAboutDates } from '../../../identity/bundle-check.ts';
import { sameBundle } from '../../../identity/tls-bundle.ts';
import { linkMetrics } from '../link-metrics.ts';
import { refusalOfPeer } from './peer-check.ts';
import { CONNECTIONS_OF_PEER, givingWay, PLACES_OF_LINK } from './places.ts';
import { UNREVOKE } from '../refusal.ts';
import { Revisions } from '../revisions.ts';
import { certificateOf, ownerOf, type PeerCertificate } from '../peer-certificate.ts';
import { codeOf, expiredError } from '../tls-errors.ts';
import { FORWARD, REVERSE } from '../../wire.ts';
import { problemOf } from '../../../errors/problem.ts';
import { readCertificates } from '../../../x509/facts.ts';

/** The listening socket, and the TLS server for the connections that it accepted. */
interface Listening {
  readonly door: Server;
  /** TLS server for the bundle in use; a handshake continues with the one that it began with. */
  tls: TlsServer;
}

interface AccessOptions {
  readonly sharesPort?: boolean;
  readonly siblingsOnly?: boolean;
}

const RETRY: Backoff = { first: 200, max: 5_000 };
/** Milliseconds for connections to finish after their access was removed. */
const CLOSE_DEADLINE = 60_000;

/**
 * One port where other sites open links and standard clients open connections, or where only routers of this site may link. For the latter,
 * the authority also signs other certificates, so only the proof of the site's key admits a peer. Until then the connection keeps its
 * handshake slot and counts for its address.
 *
 * Invariants: there is at most one server, one lookup of its name and one retry timer, and none once stopped. `#port` is the server's while
 * it listens. A connection of an admitted peer is in `#incoming` until it ends, whatever happens to the server.
 */
export class Access {
  readonly #host: LinkHost;
  readonly #siblingsOnly: boolean;
  #sharesPort: boolean;
  #config: AccessConfig;
  #server: Listening | undefined;
  #port: number | undefined;
  #problem: Problem | undefined;
  #failures = 0;
  #retry: NodeJS.Timeout | undefined;
  /** Cancels the lookup of the host's name. */
  #giveUp: () => void = () => {};
  #closed = false;
  /** Authorities of the bundle in use. */
  #trusted: readonly X509Certificate[] = [];
  /** Revisions of the usable bundles. */
  readonly #revisions = new Revisions();
  readonly #acceptor: TlsAcceptor;
  readonly #unauthenticated: RateLimitedLog;
  readonly #incoming = new Set<Incoming>();

  /**
   * @param options.sharesPort several routers of the site listen on the port (SO_REUSEPORT)
   * @param options.siblingsOnly only routers of this site may link here
   */
  constructor(host: LinkHost, config: AccessConfig, { sharesPort = false, siblingsOnly = false }: AccessOptions) {
    this.#host = host;
    this.#siblingsOnly = siblingsOnly;
    this.#config = config;
    this.#sharesPort = sharesPort;
    this.#unauthenticated = new RateLimitedLog(host.log);
    this.#acceptor = linkAcceptor({
      most: host.memory.handshakes,
      // Routers of this site hold their slots until their hello is verified.
      holds: siblingsOnly ? 'connection' : 'handshake',
      onEvicted: (address) => this.#evicted(address),
      onEndless: ({ message }) => this.#endless(message),
    });
    this.#listen();
  }

  get state(): AccessState {
    return {
      listening: this.#port !== undefined,
      ...(this.#port === undefined ? {} : { port: this.#port }),
      ...(this.#problem === undefined ? {} : { problem: this.#problem }),
    };
  }

  get incoming(): Iterable<Incoming> {
    return this.#incoming;
  }

  /** Whether it has stopped listening and all accepted connections have ended. */
  get idle(): boolean {
    return this.#closed && this.#incoming.size === 0;
  }

  /** Applies a new config to new connections. Existing ones continue, unless their bundle is older than `priorRevisions` allows. */
  apply(config: AccessConfig, sharesPort: boolean): void {
    this.#take(config, sharesPort);
    this.#cutOutdated();
  }

  #take(config: AccessConfig, sharesPort: boolean): void {
    const before = this.#config;
    this.#config = config;
    const moved = before.host !== config.host || before.port !== config.port || sharesPort !== this.#sharesPort;
    this.#sharesPort = sharesPort;
    if (!moved && sameBundle(before.tls, config.tls)) return;
    this.#failures = 0;
    if (!moved && this.#server !== undefined && this.#renew(this.#server)) return;
    this.#stopListening();
    this.#listen();
  }

  #cutOutdated(): void {
    for (const incoming of this.#incoming) {
      const error = this.#revisions.endOf(incoming.revision, this.#config.priorRevisions);
      if (error === undefined) continue;
      const { name } = this.#config;
      this.#host.log.info(
        { access: name, address: incoming.address, siteId: incoming.siteId },
        'peer with an earlier certificate disconnected',
      );
      incoming.cut(error);
    }
  }

  /** Ends connections of revoked peers at once. */
  dropRevoked(): void {
    for (const incoming of this.#incoming) {
      if (!this.#host.isRevoked(incoming.peer)) continue;
      linkMetrics.refused.inc({ reason: 'revoked' });
      this.#host.log.warn({ address: incoming.address, serial: incoming.serial, siteId: incoming.siteId }, 'revoked peer disconnected');
      incoming.cut(new LinkError('revoked', `This site or its certificate has been revoked here. ${UNREVOKE}`));
    }
  }

  /** Ends connections with an expired certificate, unless their site has since presented a new one on a link. */
  cutExpired(now: number): void {
    for (const incoming of this.#incoming) {
      if (incoming.expires > now || this.#host.links.vouchFor(incoming.siteId, false, now)) continue;
      linkMetrics.refused.inc({ reason: 'tls-expired' });
      const error = expiredError(`the peer at ${incoming.address}`, new Date(incoming.expires), now);
      this.#host.log.warn({ address: incoming.address, serial: incoming.serial, siteId: incoming.siteId, error }, 'peer disconnected');
      incoming.cut(error);
    }
  }

  /** Stops accepting; open connections may finish. */
  drain(deadline = CLOSE_DEADLINE): void {
    this.stop();
    for (const incoming of this.#incoming) incoming.drain();
    if (this.#incoming.size > 0)
      setTimeout(
        bounded('listener/access-drain-deadline', () => this.destroy()),
        deadline,
      ).unref();
  }

  /** Stops accepting. */
  stop(): void {
    this.#closed = true;
    this.#stopListening();
  }

  destroy(): void {
    this.stop();
    for (const incoming of this.#incoming) incoming.cut(new LinkError('closed', 'This access has been closed.'));
  }

  #listen(): void {
    if (this.#closed) return;
    const { host, port } = this.#config;
    if (host === undefined || isIP(host) !== 0) {
      this.#listenAt(host);
      return;
    }
    // Uses the lookups of this process: a hanging one does not block the others.
    this.#giveUp = hostNames.resolve(host, ([first], code = 'ENOTFOUND') => {
      if (first === undefined) this.#failed(listenError(Object.assign(new Error(`${host}: ${code}`), { code }), host, port));
      else this.#listenAt(first.address);
    });
  }

  /** @param address all addresses if undefined */
  #listenAt(address: string | undefined): void {
    const { host, port, name } = this.#config;
    let server: Listening;
    try {
      server = this.#createServer();
    } catch (error) {
      this.#failed(error instanceof LinkError ? error : new LinkError('tls-mangled', `The TLS bundle of ${name} cannot be used.`, error));
      return;
    }
    this.#server = server;
    // If the host is a name, or the bundle was unusable at first, this happens after the config was applied.
    this.#cutOutdated();
    const failed = (error: unknown): void => {
      if (this.#server !== server) return;
      // A listening server continues, since only an accept has failed, for example for want of open files.
      if (this.#port !== undefined) {
        linkMetrics.refused.inc({ reason: 'busy' });
        this.#unauthenticated.warn({ access: this.#config.name, code: codeOf(error) }, `a peer could not be accepted (${codeOf(error)})`);
        return;
      }
      this.#stopListening();
      this.#failed(listenError(error, host, port));
    };
    const { door } = server;
    door.on(
      'error',
      bounded('listener/access-error', (error: Error) => failed(error), failed),
    );
    door.once(
      'listening',
      bounded('listener/access-listening', () => this.#opened(server), failed),
    );
    door.listen({ port, ...(address === undefined ? {} : { host: address }), reusePort: this.#sharesPort, backlog: 511 });
  }

  #opened(server: Listening): void {
    if (this.#server !== server) return;
    const { host, name } = this.#config;
    // A listening TCP server has an address and a port.
    this.#port = (server.door.address() as AddressInfo).port;
    this.#failures = 0;
    this.#problem = undefined;
    this.#host.log.info({ access: name, host, port: this.#port }, 'access open');
    this.#host.changed();
  }

  /** @throws LinkError, or OpenSSL's error about the bundle */
  #createServer(): Listening {
    const door = createServer({ pauseOnConnect: true, noDelay: true });
    const server: Listening = { door, tls: this.#tlsServer() };
    door.on(
      'connection',
      bounded(
        'connection/access-begin',
        (socket: Socket) => this.#acceptor.accept(socket, server.tls),
        (_, socket) => void socket.destroy(),
      ),
    );
    return server;
  }

  /** @throws LinkError, or OpenSSL's error about the bundle; nothing has changed then */
  #tlsServer(): TlsServer {
    const bundle = openBundle(this.#config.tls, 'server');
    const trusted = readCertificates(bundle.ca, 'ca.crt').map(({ x509 }) => x509);
    const server = createTlsServer({
      ...contextOf(bundle),
      requestCert: true,
      // `#accept` decides whether to admit the peer, since it can still send the reason.
      rejectUnauthorized: false,
      ALPNProtocols: [FORWARD, REVERSE],
      handshakeTimeout: deadlines.step,
    });
    this.#acceptor.protect(server);
    this.#trusted = trusted;
    this.#revisions.apply(this.#config.tls);
    const revision = this.#revisions.now;
    const close = (_: unknown, socket: Socket): void => void socket.destroy();
    server.on(
      'tlsClientError',
      bounded(
        'connection/access-handshake-failed',
        (error: Error, socket: TLSSocket) => this.#handshakeFailed(error, socket),
        (error, _, socket) => close(error, socket),
      ),
    );
    server.on(
      'secureConnection',
      bounded('connection/access-accept', (socket: TLSSocket) => this.#accept(socket, revision), close),
    );
    return server;
  }

  /** @returns whether it continues to listen, possibly with the previous bundle */
  #renew(server: Listening): boolean {
    clearTimeout(this.#retry);
    try {
      server.tls = this.#tlsServer();
    } catch (error) {
      if (this.#port === undefined) return false;
      // The previous certificate is used for as long as possible.
      const reason = error instanceof LinkError ? error : new LinkError('tls-mangled', `The TLS bundle cannot be used.`, error);
      this.#problem = problemOf(reason);
      this.#host.changed();
      if (isAboutDates(reason.code)) this.#renewLater(server);
      return true;
    }
    this.#problem = undefined;
    // The bundle may be usable only long after the config was applied.
    this.#cutOutdated();
    this.#host.changed();
    return true;
  }

  /** Retries, since no event reports that a certificate becomes valid or a clock is corrected. */
  #renewLater(server: Listening): void {
    const reported = this.#problem;
    const renew = (): void => {
      this.#renew(server);
      // The same problem with a later time is no change: it would update a status every few seconds.
      if (this.#problem?.code === reported?.code) this.#problem = reported;
    };
    this.#retry = setTimeout(
      bounded('listener/access-renew', renew, () => this.#renewLater(server)),
      this.#nextWait(),
    );
  }

  #failed(error: LinkError): void {
    if (this.#problem?.code !== error.code) this.#host.log.error({ access: this.#config.name, error }, 'access not open');
    this.#problem = problemOf(error);
    this.#host.changed();
    this.#retry = setTimeout(
      bounded(
        'listener/access-retry',
        () => this.#listen(),
        (cause) => this.#failed(listenError(cause, this.#config.host, this.#config.port)),
      ),
      this.#nextWait(),
    );
  }

  #nextWait(): number {
    this.#failures += 1;
    return backoffDelay(RETRY, this.#failures, Math.random());
  }

  #stopListening(): void {
    clearTimeout(this.#retry);
    this.#giveUp();
    this.#port = undefined;
    const server = this.#server;
    this.#server = undefined;
    // Only listening ends; accepted connections continue.
    server?.door.close();
    this.#host.changed();
  }

  /** @param siteId as proved by a hello; undefined for connections without one */
  #openWith(peer: string, siteId: string | undefined): readonly Incoming[] {
    return [...this.#incoming].filter((incoming) => incoming.owner === peer && incoming.siteId === siteId);
  }

  /**
   * Makes room for a link of a site with a verified hello, or for its second connection. No connection ends for one that is refused.
   * @param joins link of a second connection. @returns why there is no room
   */
  #noRoom(peer: string, siteId: string, joins: Link | undefined): string | undefined {
    const open = this.#siblingsOnly ? [] : this.#openWith(peer, siteId);
    // The slot was reserved by the hello of its link.
    if (open.some(({ link, places }) => link === joins && places > 1)) return undefined;
    const needed = joins === undefined ? PLACES_OF_LINK : 1;
    const { memory } = this.#host;
    // The connection itself is counted already.
    const ending = givingWay(open, needed, memory.missingPeers(peer, 1));
    if (ending === undefined) return memory.tooManyPeers(peer, 1) ?? 'Connection limit of this site reached.';
    const full = memory.refusal('peer', { owner: peer }, 1);
    if (full !== undefined) return full;
    for (const incoming of ending) {
      const { address } = incoming;
      this.#unauthenticated.warn(
        { access: this.#config.name, address, siteId },
        'connection of an earlier link closed: its site opens a new link',
      );
      incoming.giveWay();
    }
    return undefined;
  }

  #ownerOf(socket: TLSSocket, certificate: PeerCertificate | undefined): string {
    return this.#siblingsOnly || certificate === undefined ? `router at ${socket.remoteAddress ?? 'unknown'}` : ownerOf(certificate);
  }

  #enough(peer: string, protocol: string): string | undefined {
    const unsaid = this.#openWith(peer, undefined).length;
    if (!this.#siblingsOnly && unsaid >= CONNECTIONS_OF_PEER)
      return `${CONNECTIONS_OF_PEER} connections are open with this certificate or others of the same name.`;
    const needed = protocol === REVERSE ? 1 : PLACES_OF_LINK;
    // Only a hello shows that a connection is part of a link, for which others end: see `#noRoom`. Until then both connections of one link
    // may count on them.
    const left = unsaid + needed > PLACES_OF_LINK ? 0 : this.#leftOf(peer);
    return this.#host.memory.tooManyPeers(peer, needed - left);
  }

  #leftOf(peer: string): number {
    return [...this.#incoming].filter(({ owner, isLeft }) => isLeft && owner === peer).length;
  }

  #evicted(address: string): void {
    linkMetrics.refused.inc({ reason: 'busy' });
    this.#unauthenticated.warn(
      { access: this.#config.name, address, code: 'busy' },
      'connection closed: too many TLS handshakes are in progress',
    );
  }

  #endless(reason: string): void {
    linkMetrics.refused.inc({ reason: 'protocol' });
    this.#unauthenticated.warn({ access: this.#config.name, code: 'protocol', reason }, 'connection closed');
  }

  #handshakeFailed(error: Error, socket: TLSSocket): void {
    this.#acceptor.release(socket);
    linkMetrics.refused.inc({ reason: 'tls-failed' });
    // Any client can cause these. At debug level, a port scan does not fill the log.
    this.#host.log.debug({ access: this.#config.name, address: socket.remoteAddress, error: codeOf(error) }, 'TLS handshake failed');
    socket.destroy();
  }

  /** @param revision of the bundle that was presented to the peer */
  #accept(socket: TLSSocket, revision: number): void {
    const siblingsOnly = this.#siblingsOnly;
    if (siblingsOnly) this.#acceptor.endHandshake(socket);
    // The handshake began before the access was closed; nothing else would end the connection.
    if (this.#closed) {
      socket.destroy();
      return;
    }
    const address = hostPort({ host: socket.remoteAddress ?? 'unknown', port: socket.remotePort ?? 0 });
    const certificate = certificateOf(socket, this.#trusted);
    const owner = this.#ownerOf(socket, certificate);
    const protocol = socket.alpnProtocol === REVERSE ? REVERSE : FORWARD;
    const demands = siblingsOnly ? undefined : this.#config;
    const refusal =
      this.#revisions.endOf(revision, this.#config.priorRevisions) ??
      refusalOfPeer(socket, address, this.#host, demands, certificate, () => this.#enough(owner, protocol));
    if (refusal !== undefined || certificate === undefined) {
      const error = refusal ?? new LinkError('tls-no-cert', 'The client presented no certificate.');
      linkMetrics.refused.inc({ reason: error.code });
      const { code, message } = error;
      this.#unauthenticated.warn(
        { access: this.#config.name, address, serial: certificate?.serial, code, reason: message },
        'peer refused',
      );
      sendGoaway(socket, error);
      return;
    }
    const incoming: Incoming = new Incoming({
      host: this.#host,
      socket,
      protocol,
      certificate,
      owner,
      noRoom: (siteId, joins) => this.#noRoom(owner, siteId, joins),
      address,
      revision,
      edgeOnly: this.#config.role === 'edge',
      siblingsOnly,
      limitedLog: this.#unauthenticated,
      onProved: () => this.#acceptor.release(socket),
      onClose: () => this.#incoming.delete(incoming),
    });
    this.#incoming.add(incoming);
  }
}

const contextOf = ({ cert, key, ca }: LinkBundle): SecureContextOptions => ({
  cert,
  key,
  ca,
  minVersion: 'TLSv1.3',
  // A resumed session would skip the verification of the certificate. Each context has its own options.
  secureOptions: constants.SSL_OP_NO_TICKET,
});
