import type { Socket } from 'node:net';
import { isDeepStrictEqual } from 'node:util';
import type { ConnectorConfig, ConnectorState, Destination, ListenerConfig, ListenerState } from '../contract.ts';
import type { RequestHead, Stream, StreamHandler } from '../http2/contract.ts';
import { ErrorCode } from '../http2/errors.ts';
import { LogRation } from '../../telemetry/log-ration.ts';
import { localMetrics, showLocalSide } from './local-metrics.ts';
import { observe } from '../observers/observe.ts';
import { revokedAmong, sitesPassed } from '../via.ts';
import { CONNECTION_FIELD, ORIGIN_FIELD, ROUTE_FIELD } from '../wire.ts';
import type { RouteDestination } from '../routing/contract.ts';
import { siteOf } from '../routing/names.ts';
import { candidatesInOrder, keysOf, reachableKeys, type Candidate, type ChoiceView } from './choice.ts';
import { ConnectionIds, idGiven, originGiven } from './connection-id.ts';
import { Connectors } from './connectors.ts';
import type { LocalLimits, LocalSide, LocalSideOptions, LocalState } from './contract.ts';
import { DestinationMemory } from './destination-memory.ts';
import { failure, fieldsOf, statusOf, type Failure } from './failure.ts';
import { MetricsByKey, type Role } from './key-metrics.ts';
import { Listeners } from './listeners.ts';
import { LiveConnections } from './live-connections.ts';
import { openFilesLimit, socketsWithin } from './open-files.ts';
import { Opening, type OpeningContext, type Candidates } from './opening.ts';
import { portOwner } from './port-owner.ts';
import { Side } from '../side.ts';
import { resetSocket, SocketEnd } from './socket-end.ts';

export const LOCAL_LIMITS: LocalLimits = {
  connect: 5_000,
  establish: 15_000,
  attempts: 5,
  setAsideFirst: 500,
  setAsideMost: 30_000,
  handshake: 10_000,
  listenFirst: 200,
  listenMost: 5_000,
  connections: 100_000,
  sockets: socketsWithin(openFilesLimit()),
};

/** Joins listeners, choice, connectors and pumps. */
export function createLocalSide(options: LocalSideOptions): LocalSide {
  return new Local(options);
}

class Local implements LocalSide {
  readonly #options: LocalSideOptions;
  readonly #ration: LogRation;
  readonly #limits: LocalLimits;
  readonly #connectors: Connectors;
  readonly #listeners: Listeners;
  readonly #metrics = new MetricsByKey();
  readonly #memory = new DestinationMemory();
  readonly #ids = new ConnectionIds();
  readonly #live = new LiveConnections();
  readonly #view: ChoiceView;
  readonly #context: OpeningContext;
  readonly #subscribers = new Set<() => void>();
  readonly #metricsShown: Disposable;
  #listenerConfigs: readonly ListenerConfig[] = [];
  #keys: LocalSide['keys'] = [];
  #state: LocalState | undefined;
  #revoked: ReadonlySet<string> = new Set();
  #notifying = false;
  #draining = false;

  constructor(options: LocalSideOptions) {
    this.#options = options;
    this.#ration = new LogRation(options.log);
    this.#limits = { ...LOCAL_LIMITS, ...options.limits };
    const random = options.random ?? Math.random;
    const changed = (): void => this.#changed();
    this.#connectors = new Connectors(this.#limits, random, changed);
    this.#view = {
      destinations: (key) => options.routing.destinations(key),
      load: (key, router) => this.#memory.load(key, router),
      avoided: (key, router) => (router === options.routing.self ? this.#connectors.isAside(key) : this.#memory.avoided(key, router)),
      random,
    };
    this.#listeners = new Listeners({
      handshake: this.#limits.handshake,
      first: this.#limits.listenFirst,
      most: this.#limits.listenMost,
      random,
      portOwner: options.portOwner ?? portOwner,
      reachable: ({ destination }) => !this.#draining && reachableKeys(destination, this.#view).length > 0,
      onSocket: (config, socket, raw) => this.#fromSocket(config, socket, raw),
      onRefused: ({ name }, reason, error) => {
        localMetrics.clientsRefused.inc({ reason });
        options.log.debug({ listener: name, error }, 'a client failed the TLS handshake');
      },
      onChange: changed,
    });
    this.#context = {
      limits: this.#limits,
      connectors: this.#connectors,
      open: (to, head, handler) => options.open(to, head, handler),
      noteOutcome: ({ routingKey, to }, refused) => {
        if (refused && to.path.length > 0) this.#memory.refused(routingKey, to.router);
      },
    };
    this.#metricsShown = showLocalSide({
      keys: () => this.#metrics.all(),
      requests: () => this.#metrics.allRequests(),
      targetsSetAside: () => this.#connectors.setAside,
      listening: () => [...this.#listeners.names()].filter((name) => this.#listeners.get(name)?.listening === true).length,
    });
  }

  apply(listeners: readonly ListenerConfig[], connectors: readonly ConnectorConfig[], sharePorts = false): void {
    this.#listenerConfigs = listeners;
    this.#connectors.apply(connectors);
    this.#metrics.configure(
      'listener',
      listeners.flatMap(({ destination }) => keysOf(destination)),
    );
    this.#metrics.configure(
      'connector',
      connectors.map(({ routingKey }) => routingKey),
    );
    const keys = keyFacts(listeners, this.#connectors.counts);
    if (!isDeepStrictEqual(keys, this.#keys)) this.#keys = keys;
    this.#listeners.apply(listeners, sharePorts);
    this.#changed();
  }

  routingChanged(): void {
    this.#listeners.refresh();
    this.#changed();
  }

  accept(stream: Stream, head: RequestHead): StreamHandler {
    const to: RouteDestination = { router: this.#options.routing.self, cost: 0, connectors: 1, path: [], links: [] };
    const found = this.#connectors.has(head.authority) ? [{ routingKey: head.authority, to }] : [];
    return this.#fromStream(stream, head, { found }, 'connector');
  }

  enter(stream: Stream, head: RequestHead): StreamHandler {
    const destination: Destination = { kind: 'key', routingKey: head.authority };
    return this.#fromStream(stream, head, this.#candidates(destination), 'listener');
  }

  block(sites: ReadonlySet<string>): void {
    this.#revoked = sites;
    this.#live.sever(({ sitesOnRoute }) => revokedAmong(sitesOnRoute, sites) !== undefined, REVOKED);
  }

  get keys(): LocalSide['keys'] {
    return this.#keys;
  }

  get state(): LocalState {
    this.#state ??= this.#readState();
    return this.#state;
  }

  get openConnections(): number {
    return this.#live.size;
  }

  onChange(listener: () => void): () => void {
    this.#subscribers.add(listener);
    return () => this.#subscribers.delete(listener);
  }

  async drain(deadline: number): Promise<void> {
    this.#draining = true;
    this.#listeners.close();
    this.#changed();
    await this.#live.emptied(deadline);
    await this[Symbol.asyncDispose]();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#draining = true;
    this.#listeners.close();
    this.#connectors.close();
    this.#live.severAll({ code: ErrorCode.CANCEL, reason: 'the router is stopping' });
    this.#metricsShown[Symbol.dispose]();
  }

  #fromSocket(config: ListenerConfig, socket: Socket, raw: Socket): void {
    const { destination } = config;
    const candidates = this.#candidates(destination);
    const sockets = 1 + serverSockets(candidates);
    const refused = this.#refusal(sockets);
    if (refused !== undefined) {
      socket.on('error', () => {});
      resetSocket(socket, raw);
      localMetrics.clientsRefused.inc({ reason: refused.code });
      return;
    }
    const client = new Side();
    const end = new SocketEnd(socket, raw, client);
    client.end = end;
    const [firstKey = ''] = destination.kind === 'key' ? [destination.routingKey] : keysOf(destination);
    this.#open({
      client,
      candidates,
      sockets,
      role: 'listener',
      routingKey: firstKey,
      id: this.#ids.next(),
      origin: this.#options.site,
      about: () => ({ listener: config.name, client: raw.remoteAddress }),
      opened: (server, candidate) => {
        if (config.observer === 'none') return;
        const { routingKey, to } = candidate;
        const taps = observe(config.observer, (protocol) =>
          this.#metrics.requests(routingKey, this.#options.site, siteOf(to.router), protocol),
        );
        client.tap = taps?.fromClient;
        server.tap = taps?.fromServer;
      },
      failed: () => {
        client.gone = true;
        end.reset();
      },
      begin: (start) => start(),
    });
  }

  #fromStream(stream: Stream, head: RequestHead, candidates: Candidates, role: Role): StreamHandler {
    const client = new Side();
    client.end = stream;
    client.sitesOnRoute = sitesPassed(head.fields);
    const routingKey = head.authority;
    const failed = (why: Failure): void => {
      if (client.gone) return;
      client.drop();
      stream.respond({ status: statusOf(why), fields: fieldsOf(why) }, { end: true });
    };
    const sockets = serverSockets(candidates);
    const refused = this.#refusal(sockets);
    if (refused !== undefined) {
      this.#metrics.of(routingKey, role).countFailure(refused.code);
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
      origin: originGiven(head.fields) ?? '',
      about: () => (role === 'connector' ? {} : { entered: true }),
      opened: () => stream.respond({ status: 200, fields: {} }),
      failed,
      begin: setImmediate,
    });
    return client;
  }

  #candidates(destination: Destination): Candidates {
    const lookAgain = (): readonly Candidate[] => candidatesInOrder(destination, this.#view);
    return { found: lookAgain(), lookAgain };
  }

  #refusal(sockets: number): Failure | undefined {
    if (this.#draining) return failure('draining', 'This router takes no new connections: it is stopping.');
    const full = this.#fullness(sockets);
    if (full === undefined) return undefined;
    this.#ration.warn({ connections: this.#live.size, sockets: this.#live.sockets }, `connection refused: ${full}`);
    return failure('busy', full);
  }

  #fullness(sockets: number): string | undefined {
    if (this.#live.size >= this.#limits.connections) return `This router has ${this.#live.size} connections, which is its limit.`;
    const most = this.#limits.sockets;
    if (this.#live.sockets + sockets <= most) return undefined;
    const has = `Connections have ${this.#live.sockets} of the ${most} sockets`;
    return `${has} that this process's limit of open files leaves them; raise it (ulimit -n, LimitNOFILE=).`;
  }

  #open(request: OpenRequest): void {
    const { client, role, id, origin } = request;
    const { log } = this.#options;
    const begun = performance.now();
    this.#live.add(client, request.sockets);
    const headFor = ({ routingKey, to }: Candidate): RequestHead => ({
      method: 'CONNECT',
      authority: routingKey,
      fields: { [ROUTE_FIELD]: to.path.join(' '), [CONNECTION_FIELD]: id, ...(origin === '' ? {} : { [ORIGIN_FIELD]: origin }) },
    });
    const opening = new Opening(this.#context, client, request.candidates, headFor, {
      onOpened: (server, candidate) => {
        const { routingKey, to } = candidate;
        if (to.path.length > 0) client.sitesOnRoute = client.sitesOnRoute.length === 0 ? to.path : [...client.sitesOnRoute, ...to.path];
        const counted = this.#metrics.of(routingKey, role);
        const logged = log.isLevelEnabled('debug');
        counted.opened += 1;
        counted.open += 1;
        this.#memory.opened(routingKey, to.router);
        counted.connectTime.observe((performance.now() - begun) / 1000);
        if (logged) log.debug({ connection: id, routingKey, to: to.router, ...request.about() }, 'connection opened');
        request.opened(server, candidate);
        Side.join(client, server, counted, (reason) => {
          counted.open -= 1;
          this.#memory.closed(routingKey, to.router);
          this.#live.delete(client);
          if (!logged) return;
          const milliseconds = Math.round(performance.now() - begun);
          log.debug(
            { connection: id, routingKey, milliseconds, ...(reason === undefined ? {} : { reset: reason.reason }) },
            'connection ended',
          );
        });
        // The site may have been revoked while the connection was being made.
        if (revokedAmong(client.sitesOnRoute, this.#revoked) !== undefined) client.sever(REVOKED);
      },
      onFailed: (why) => {
        this.#metrics.of(request.routingKey, role).countFailure(why.code);
        this.#live.delete(client);
        const entry = { connection: id, routingKey: request.routingKey, reason: why.code, ...request.about() };
        const text = `connection refused: ${why.message}`;
        // Peers and clients can cause these as often as they like.
        if (why.code === 'client-gone' || log.isLevelEnabled('debug')) log.debug(entry, text);
        else this.#ration.info(entry, text);
        request.failed(why);
      },
    });
    request.begin(() => opening.start());
  }

  #readState(): LocalState {
    const { routing } = this.#options;
    const listeners = this.#listenerConfigs.map(({ name, destination }): [string, ListenerState] => {
      const found = this.#listeners.get(name);
      const problem = found?.problem;
      const reachable = reachableKeys(destination, this.#view);
      return [name, { listening: found?.listening ?? false, reachableKeys: reachable, ...(problem === undefined ? {} : { problem }) }];
    });
    const connectors = [...this.#connectors.names].map((name): [string, ConnectorState] => {
      const problem = this.#connectors.problemOf(name);
      const matched = routing.hasListener(this.#connectors.routingKeyOf(name) ?? '');
      return [name, { matched, ...(problem === undefined ? {} : { problem }) }];
    });
    return { listeners: Object.fromEntries(listeners), connectors: Object.fromEntries(connectors) };
  }

  #changed(): void {
    this.#state = undefined;
    if (this.#notifying) return;
    this.#notifying = true;
    setImmediate(() => {
      this.#notifying = false;
      for (const subscriber of this.#subscribers) subscriber();
    });
  }
}

const REVOKED = { code: ErrorCode.CANCEL, reason: 'a site that it passes through has been revoked here' } as const;

interface OpenRequest {
  readonly client: Side;
  /** Streams begin in the next turn: what a peer opens and resets in one go is to cost no server a connection (CVE-2023-44487). */
  begin(start: () => void): void;
  readonly candidates: Candidates;
  /** That it has, and may yet get. */
  readonly sockets: number;
  readonly role: Role;
  /** The key by which a failure is counted. */
  readonly routingKey: string;
  readonly id: string;
  /** The site where it began, or nothing where that is not known. */
  readonly origin: string;
  /** For log lines, and asked for only then: the client's address is a system call. */
  about(): Readonly<Record<string, unknown>>;
  opened(server: Side, candidate: Candidate): void;
  failed(why: Failure): void;
}

/** A server here is a socket; one elsewhere is a stream. */
const serverSockets = ({ found }: Candidates): number => (found.some(({ to }) => to.path.length === 0) ? 1 : 0);

function keyFacts(listeners: readonly ListenerConfig[], connectors: ReadonlyMap<string, number>): LocalSide['keys'] {
  const listening = new Map<string, number>();
  for (const { destination } of listeners) for (const key of keysOf(destination)) listening.set(key, (listening.get(key) ?? 0) + 1);
  const keys = [...new Set([...listening.keys(), ...connectors.keys()])].sort();
  return keys
    .map((routingKey) => ({ routingKey, connectors: connectors.get(routingKey) ?? 0, listeners: listening.get(routingKey) ?? 0 }))
    .filter((key) => key.connectors > 0 || key.listeners > 0);
}
