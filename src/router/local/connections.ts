import type { Socket } from 'node:net';
import type { Destination, ListenerConfig } from '../contract.ts';
import type { ShareOwner } from '../../limits/nested-fair-share.ts';
import type { RequestHead, Stream, StreamHandler } from '../../http2/contract.ts';
import { ErrorCode } from '../../http2/errors.ts';
import { RateLimitedLog } from '../../telemetry/rate-limited-log.ts';
import { localMetrics } from './local-metrics.ts';
import { observe } from '../observers/observe.ts';
import { sitesPassed } from '../via.ts';
import { CONNECTION_FIELD, ORIGIN_FIELD, ROUTE_FIELD, VIA_FIELD } from '../wire.ts';
import type { RouteDestination, RouterId } from '../../routing/contract.ts';
import { siteOf } from '../../routing/names.ts';
import { candidatesInOrder, keysOf, type Candidate, type ChoiceView } from './destination-choice.ts';
import { howEnded, type ConnectionEnd, type EndReason } from '../connection-end.ts';
import type { LiveConnection } from '../records/connection-records.ts';
import type { ConnectionFacts } from '../records/contract.ts';
import type { Figures } from '../records/figures.ts';
import { ConnectionIds, idGiven, originGiven } from './connection-id.ts';
import type { Connectors } from './connectors.ts';
import type { LocalLimits, LocalSideOptions } from './contract.ts';
import type { DestinationHealth } from './destination-health.ts';
import { failure, fieldsOf, statusOf, type Failure } from './failure.ts';
import type { MetricsByKey, Role } from './key-metrics.ts';
import { LiveConnections } from './live-connections.ts';
import { ConnectAttempt, type Candidates, type IsSilent, type ConnectAttemptContext } from './connect-attempt.ts';
import { ConnectionHalf, type Counts } from '../connection-half.ts';
import { logConnection, type LoggedConnection } from '../connection-log.ts';
import { resetSocket, SocketEndpoint } from './socket-endpoint.ts';

export interface ConnectionsOptions extends Pick<LocalSideOptions, 'log' | 'site' | 'open' | 'budget' | 'records'> {
  readonly self: RouterId;
  readonly limits: LocalLimits;
  readonly connectors: Connectors;
  readonly metrics: MetricsByKey;
  readonly memory: DestinationHealth;
  readonly view: ChoiceView;
  readonly isSilent: IsSilent;
  /** Returns the name of a site, for logs; undefined if unknown. */
  readonly siteName: (siteId: string) => string | undefined;
  /** Returns the number of owners that have shares of the sockets here (`shareOf`), with or without connections. */
  readonly shares: () => number;
}

/**
 * The connections with an end at a socket of this router, during their whole life: admission or refusal, opening, joining, counting,
 * logging. Each admitted connection is in `#live` until it fails or ends. Its metrics belong to the key that it was opened with.
 */
export class Connections {
  readonly #options: ConnectionsOptions;
  readonly #context: ConnectAttemptContext;
  readonly #limitedLog: RateLimitedLog;
  readonly #ids = new ConnectionIds();
  readonly #live: LiveConnections;
  readonly #openings = new Set<ConnectAttempt>();
  #isRevoked: (path: readonly string[]) => boolean = () => false;
  #stopped = false;

  constructor(options: ConnectionsOptions) {
    this.#options = options;
    this.#limitedLog = new RateLimitedLog(options.log);
    const { limits, connectors, memory, open, view } = options;
    this.#live = new LiveConnections(options.budget, limits.sockets);
    this.#context = {
      limits,
      connectors,
      open,
      isAvoidable: ({ to }) => view.isSilent(to),
      noteOutcome: ({ routingKey, to }, refused) => {
        if (refused && to.path.length > 0) memory.refused(routingKey, to.router);
      },
    };
  }

  get size(): number {
    return this.#live.size;
  }

  /** Connections that wait for an answer over a path that has become silent try another one, if there is any. */
  routingChanged(): void {
    // Cached, since thousands may wait for an answer over one path.
    const known = new Map<RouteDestination, Map<string | undefined, boolean>>();
    const { isSilent } = this.#options;
    const ask: IsSilent = (to, firstLink) =>
      known.getOrInsertComputed(to, () => new Map()).getOrInsertComputed(firstLink, () => isSilent(to, firstLink));
    for (const opening of this.#openings) opening.avoidSilence(ask);
  }

  /** Refuses all new connections. */
  stop(): void {
    this.#stopped = true;
  }

  emptied(deadline: number): Promise<void> {
    return this.#live.emptied(deadline);
  }

  severAll(reason: EndReason): void {
    this.#live.severAll(reason);
  }

  block(isRevoked: (path: readonly string[]) => boolean): void {
    this.#isRevoked = isRevoked;
    this.#live.sever(({ sitesOnRoute }) => isRevoked(sitesOnRoute), REVOKED);
  }

  /** Accepts a stream whose route ends here. @param whose owner whose share of memory it is charged to */
  accept(stream: Stream, head: RequestHead, whose: ShareOwner): StreamHandler {
    const to: RouteDestination = { router: this.#options.self, cost: 0, connectors: 1, path: [], links: [] };
    const found = this.#options.connectors.has(head.authority) ? [{ routingKey: head.authority, to }] : [];
    return this.#fromStream(stream, head, whose, { found }, 'connector');
  }

  /** Accepts a stream without a route. */
  enter(stream: Stream, head: RequestHead, whose: ShareOwner): StreamHandler {
    const candidates = this.#candidates({ kind: 'key', routingKey: head.authority });
    // No listener of this router has lost an unknown key, so its client is answered at once.
    return this.#fromStream(stream, head, whose, candidates.found.length === 0 ? { found: [] } : candidates, 'listener');
  }

  /** Accepts a client of a listener. `raw` is the TCP socket below a TLS socket, or the socket itself. */
  fromSocket(config: ListenerConfig, socket: Socket, raw: Socket): void {
    const { destination } = config;
    const candidates = this.#candidates(destination);
    const sockets = 1 + serverSockets(candidates);
    const [firstKey = ''] = destination.kind === 'key' ? [destination.routingKey] : keysOf(destination);
    const owner = shareOf(config);
    const refused = this.#refusal(owner, sockets) ?? this.#memoryRefusal(owner);
    if (refused !== undefined) {
      socket.on('error', () => {});
      resetSocket(socket, raw);
      localMetrics.clientsRefused.inc({ reason: refused.code });
      const facts = { id: this.#ids.next(), key: firstKey, origin: this.#options.site, listener: config.name };
      const address = raw.remoteAddress ?? '';
      this.#options.records?.failed(firstKey, performance.now(), refused, () => ({
        ...NO_FACTS,
        ...facts,
        halves: ['first'],
        client: address,
      }));
      return;
    }
    const id = this.#ids.next();
    const client = new ConnectionHalf();
    const end = new SocketEndpoint(socket, raw, client);
    client.end = end;
    client.owner = owner;
    this.#open({
      client,
      candidates,
      sockets: { of: owner, count: sockets },
      role: 'listener',
      routingKey: firstKey,
      id,
      origin: this.#options.site,
      via: undefined,
      about: () => ({ listener: config.name, client: raw.remoteAddress }),
      opened: (server, candidate) => {
        if (config.observer === 'none') return;
        const { routingKey, to } = candidate;
        const { metrics, site, records } = this.#options;
        const taps = observe(config.observer, (protocol) => {
          const counted = metrics.requests(routingKey, site, siteOf(to.router), protocol);
          const hasPaths = config.requestPaths === true;
          return records?.requests.sinkFor({ id, key: routingKey, protocol, hasPaths }, counted) ?? counted;
        });
        client.tap = taps?.fromClient;
        server.tap = taps?.fromServer;
      },
      failed: () => {
        client.gone = true;
        end.reset();
      },
      isDeferred: false,
    });
  }

  #fromStream(stream: Stream, head: RequestHead, { owner, key }: ShareOwner, candidates: Candidates, role: Role): StreamHandler {
    const client = new ConnectionHalf();
    client.end = stream;
    client.owner = owner;
    client.key = key;
    client.sitesOnRoute = sitesPassed(head.fields);
    const routingKey = head.authority;
    const failed = (why: Failure): void => {
      if (client.gone) return;
      client.drop();
      stream.respond({ status: statusOf(why), fields: fieldsOf(why) }, { end: true });
    };
    const sockets = { of: shareOfKey(routingKey), count: serverSockets(candidates) };
    const origin = originGiven(head.fields) ?? head.fields[VIA_FIELD]?.split(' ', 1)[0] ?? '';
    const refused = this.#refusal(sockets.of, sockets.count);
    if (refused !== undefined) {
      this.#countFailure({ routingKey, role, origin, candidates }, refused);
      failed(refused);
      return client;
    }
    this.#open({
      client,
      candidates,
      sockets,
      role,
      routingKey,
      id: idGiven(head.fields) ?? this.#ids.next(),
      origin,
      via: head.fields[VIA_FIELD],
      about: () => (role === 'connector' ? {} : { entered: true }),
      opened: () => stream.respond({ status: 200, fields: {} }),
      failed,
      isDeferred: true,
    });
    return client;
  }

  #candidates(destination: Destination): Candidates {
    const lookAgain = (): readonly Candidate[] => candidatesInOrder(destination, this.#options.view);
    return { found: lookAgain(), lookAgain };
  }

  #refusal(share: string, sockets: number): Failure | undefined {
    if (this.#stopped) return failure('draining', 'This router accepts no new connections: it is stopping.');
    const full = this.#fullness(share, sockets);
    if (full === undefined) return undefined;
    this.#limitedLog.warn({ connections: this.#live.size, sockets: this.#live.sockets }, `connection refused: ${full}`);
    return failure('busy', full);
  }

  #memoryRefusal(owner: string): Failure | undefined {
    const full = this.#options.budget.refusal('connection', { owner });
    return full === undefined ? undefined : failure('busy', full);
  }

  #fullness(share: string, sockets: number): string | undefined {
    const most = this.#options.limits.sockets;
    if (this.#live.sockets + sockets <= most) {
      if (this.#live.hasRoom(share, sockets, this.#options.shares())) return undefined;
      return `Connections of ${share} have ${this.#live.socketsOf(share)} of the ${most} permitted sockets, which is their quota; raise the limit of open files (ulimit -n, LimitNOFILE=).`;
    }
    const has = `Connections have ${this.#live.sockets} of the ${most} sockets`;
    return `${has} that this process's limit of open files leaves them; raise it (ulimit -n, LimitNOFILE=).`;
  }

  #open(request: OpenRequest): void {
    const { client, role, id, origin, via } = request;
    const { log } = this.#options;
    const begun = performance.now();
    this.#live.add(client, request.sockets.of, request.sockets.count);
    const headFor = ({ routingKey, to }: Candidate): RequestHead => ({
      method: 'CONNECT',
      authority: routingKey,
      fields: {
        [ROUTE_FIELD]: to.path.join(' '),
        [CONNECTION_FIELD]: id,
        ...(origin === '' ? {} : { [ORIGIN_FIELD]: origin }),
        ...(via === undefined ? {} : { [VIA_FIELD]: via }),
      },
    });
    const opening = new ConnectAttempt(this.#context, client, request.candidates, headFor, {
      onOpened: (server, candidate) => {
        this.#openings.delete(opening);
        const { routingKey, to } = candidate;
        if (to.path.length > 0) client.sitesOnRoute = client.sitesOnRoute.length === 0 ? to.path : [...client.sitesOnRoute, ...to.path];
        const counted = this.#options.metrics.of(routingKey, role);
        const ofSite = this.#options.metrics.ofSite(counted, role === 'listener' ? siteOf(to.router) : origin);
        counted.opened += 1;
        counted.open += 1;
        ofSite.opened += 1;
        this.#options.memory.opened(routingKey, to.router);
        const milliseconds = performance.now() - begun;
        counted.connectTime.observe(milliseconds / 1000);
        const logged = log.isLevelEnabled('debug') ? this.#logOpened(request, candidate, milliseconds, ofSite) : undefined;
        request.opened(server, candidate);
        const recorded = this.#record(new LocalConnection(request, candidate, server), begun);
        ConnectionHalf.join(
          client,
          server,
          logged?.counts ?? ofSite,
          (reason, from) => {
            counted.open -= 1;
            const end = howEnded(reason, from === client ? 'client' : 'server');
            counted.countEnd(end);
            this.#options.memory.closed(routingKey, to.router);
            this.#live.delete(client);
            recorded?.ended(end);
            logged?.ended(reason);
          },
          recorded?.figures,
        );
        this.#live.joined(client);
        // The site may have been revoked while the connection was being opened.
        if (this.#isRevoked(client.sitesOnRoute)) client.sever(REVOKED);
      },
      onFailed: (why, by) => {
        this.#openings.delete(opening);
        this.#countFailure(request, why);
        this.#live.delete(client);
        this.#options.records?.failed(request.routingKey, begun, why, () => ({ ...factsOf(request), to: by?.to.router ?? '' }));
        const entry = { connection: id, routingKey: request.routingKey, reason: why.code, ...request.about() };
        const text = `connection refused: ${why.message}`;
        // Rate-limited: peers and clients can cause these lines as often as they like.
        if (why.code === 'client-gone') log.debug(entry, text);
        else this.#limitedLog.info(entry, text);
        request.failed(why);
      },
    });
    this.#openings.add(opening);
    opening.begin(request.isDeferred);
  }

  /** A client's connection counts with the nearest site that has a server, that of a peer with the client's site. */
  #countFailure(
    { routingKey, role, origin, candidates }: Pick<OpenRequest, 'routingKey' | 'role' | 'origin' | 'candidates'>,
    { code }: Failure,
  ): void {
    const { metrics } = this.#options;
    const counted = metrics.of(routingKey, role);
    const [nearest] = candidates.found;
    const here = nearest === undefined ? '' : siteOf(nearest.to.router);
    counted.countFailure(code);
    metrics.ofSite(counted, role === 'connector' ? origin : here).failed += 1;
  }

  #record(connection: LocalConnection, begun: number): Recorded | undefined {
    const { records } = this.#options;
    if (records === undefined) return undefined;
    if (records.readsAddresses()) connection.readAddresses();
    const { slot, figures } = records.opened(connection, begun);
    return { figures, ended: (end) => records.ended(slot, connection, connection.key, end) };
  }

  #logOpened({ id, role, origin, about }: OpenRequest, { routingKey, to }: Candidate, took: number, all: Counts): LoggedConnection {
    const { log, siteName } = this.#options;
    const remoteSite = siteName(role === 'listener' ? siteOf(to.router) : origin);
    const opened = { from: origin, to: to.router, remoteSite, milliseconds: Math.round(took), ...about() };
    return logConnection(log, all, { connection: id, routingKey, role }, opened);
  }
}

const REVOKED = { code: ErrorCode.CANCEL, reason: 'a site on its path was revoked here', how: 'revoked' } as const;
const ENDED_BY_USER = { code: ErrorCode.CANCEL, reason: 'a user of the router API ended it', how: 'command' } as const;

interface Recorded {
  readonly figures: Figures;
  readonly ended: (end: ConnectionEnd) => void;
}

/** An open connection, as its record needs it. */
class LocalConnection implements LiveConnection {
  readonly #request: OpenRequest;
  readonly #candidate: Candidate;
  readonly #server: ConnectionHalf;

  constructor(request: OpenRequest, candidate: Candidate, server: ConnectionHalf) {
    this.#request = request;
    this.#candidate = candidate;
    this.#server = server;
  }

  get id(): string {
    return this.#request.id;
  }

  get key(): string {
    return this.#candidate.routingKey;
  }

  /** Node.js keeps the addresses of a socket that were read once, also after the socket has closed. */
  readAddresses(): void {
    this.#request.about();
    void this.#serverAddress;
  }

  facts(): ConnectionFacts {
    const { routingKey, to } = this.#candidate;
    const isHere = to.path.length === 0;
    const facts = factsOf(this.#request);
    return {
      ...facts,
      key: routingKey,
      halves: this.#request.role === 'listener' && isHere ? ['first', 'last'] : facts.halves,
      via: to.path.slice(0, -1),
      to: to.router,
      server: this.#serverAddress,
    };
  }

  end(): void {
    this.#request.client.sever(ENDED_BY_USER);
  }

  get #serverAddress(): string {
    const { end } = this.#server;
    return end instanceof SocketEndpoint ? end.remoteAddress : '';
  }
}

const NO_FACTS = { client: '', listener: '', via: [], to: '', server: '' } as const;

/** Facts of a connection that has no server. */
function factsOf({ id, routingKey, role, origin, about }: OpenRequest): ConnectionFacts {
  const { listener = '', client = '' } = about();
  return { ...NO_FACTS, id, key: routingKey, halves: [role === 'listener' ? 'first' : 'last'], origin, client, listener };
}

interface OpenRequest {
  readonly client: ConnectionHalf;
  /**
   * Streams begin in the next iteration: a stream that a peer opens and resets at once must not cost a server connection
   * (CVE-2023-44487).
   */
  readonly isDeferred: boolean;
  readonly candidates: Candidates;
  /** Owner and number of the sockets that the connection has or may still get. */
  readonly sockets: { readonly of: string; readonly count: number };
  readonly role: Role;
  /** Routing key under which a failure is counted. */
  readonly routingKey: string;
  readonly id: string;
  /** Site where the connection began; empty if unknown. */
  readonly origin: string;
  /** Sites that the connection passed so far, to send to the next router. */
  readonly via: string | undefined;
  /** Fields for log lines. Called lazily, since the client's address takes a system call. */
  about(): { readonly listener?: string; readonly client?: string | undefined; readonly entered?: true };
  opened(server: ConnectionHalf, candidate: Candidate): void;
  failed(why: Failure): void;
}

export const shareOfKey = (routingKey: string): string => `key ${routingKey}`;

/**
 * Owner of the sockets of a listener's clients. A listener with several keys is an owner of its own, and takes nothing from those keys.
 */
export const shareOf = ({ name, destination }: ListenerConfig): string =>
  destination.kind === 'key' ? shareOfKey(destination.routingKey) : `listener ${name}`;

/** Only a local server takes a socket; a remote one is a stream. */
const serverSockets = ({ found }: Candidates): number => (found.some(({ to }) => to.path.length === 0) ? 1 : 0);
