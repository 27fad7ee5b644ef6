import { isDeepStrictEqual } from 'node:util';
import { guard } from '../../telemetry/boundary.ts';
import type {
  ConnectorConfig,
  ConnectorState,
  Destination,
  KeyFiguresView,
  ListenerConfig,
  ListenerState,
  ProbeTarget,
} from '../contract.ts';
import type { RequestHead, Stream, StreamHandler } from '../../http2/contract.ts';
import { ErrorCode } from '../../http2/errors.ts';
import type { Failure } from './failure.ts';
import { resetSocket } from './socket-endpoint.ts';
import { keysOf, reachableKeys, type ChoiceView } from './destination-choice.ts';
import { Connections, shareOf, shareOfKey } from './connections.ts';
import { Connectors } from './connectors.ts';
import type { LocalLimits, LocalSideOptions, LocalState } from './contract.ts';
import { DestinationHealth } from './destination-health.ts';
import type { OwnFacts } from '../../routing/contract.ts';
import { siteOf } from '../../routing/names.ts';
import { viewFigures } from './key-figures.ts';
import { MetricsByKey, type KeyMetrics } from './key-metrics.ts';
import { hostPort } from '../../text/host-port.ts';
import { RateLimitedLog } from '../../telemetry/rate-limited-log.ts';
import { Listeners } from './listeners.ts';
import { LostConnectors } from './lost-connectors.ts';
import { localMetrics, showLocalSide } from './local-metrics.ts';
import { openFilesLimit, reserveWithin, socketsWithin } from '../../telemetry/open-files.ts';
import type { ShareOwner } from '../../limits/nested-fair-share.ts';
import { MOST_COST } from '../../routing/contract.ts';
import { portOwner } from './port-owner.ts';
import { AdmissionSlots } from '../../limits/admission-slots.ts';
import { DelayedCall } from '../../limits/loop/delayed-call.ts';
import { hasSentData } from '../../net/tls-feed.ts';
import { limitTable } from '../../limits/table.ts';

export const LOCAL_LIMITS: LocalLimits = {
  connect: 10_000,
  establish: 30_000,
  attempts: 5,
  setAsideFirst: 500,
  setAsideMost: 30_000,
  handshake: 30_000,
  handshakes: Math.min(limitTable.listenerHandshakes.value, reserveWithin(openFilesLimit()).unauthenticated),
  listenFirst: 200,
  listenMost: 5_000,
  linger: 1_000,
  sockets: socketsWithin(openFilesLimit()),
};

/** Minimum time in milliseconds between two notifications about refusing destinations. */
const TURN_PACE = 1_000;

/** Result of a probe of a server. */
export interface ServerProbe {
  /** Why no server accepted. */
  readonly failed?: Failure;
  /** Number of servers, and of those that are set aside. */
  readonly key: number;
  readonly aside: number;
  /** Milliseconds for TLS. */
  readonly tls?: number;
}

/** Maximum number of servers that one probe tries. */
const PROBED_SERVERS = 5;

/** Maximum number of lost sites in a listener's state. */
const MOST_LOST = 8;

/** Combines listeners, destination choice, connectors and connections. */
export class LocalSide implements AsyncDisposable {
  readonly #options: LocalSideOptions;
  readonly #connectors: Connectors;
  readonly #listeners: Listeners;
  readonly #metrics = new MetricsByKey();
  readonly #memory = new DestinationHealth(
    undefined,
    () => this.#turns.request(),
    (key, router) => this.#options.routing.destinations(key).find((to) => to.router === router),
  );
  readonly #connections: Connections;
  readonly #view: ChoiceView;
  readonly #lost: LostConnectors;
  readonly #subscribers = new Set<() => void>();
  readonly #hideMetrics: () => void;
  #listenerConfigs: readonly ListenerConfig[] = [];
  #keys: OwnFacts['keys'] = [];
  /** Number of owners that have shares of the sockets. */
  #shares = 0;
  #state: LocalState | undefined;
  readonly #changes = new DelayedCall({ name: 'look/local-change', call: () => this.#notify() });
  readonly #turns = new DelayedCall({ name: 'look/local-turn', call: () => this.#changed(), interval: () => TURN_PACE, atOnce: true });
  #draining = false;

  constructor(options: LocalSideOptions) {
    this.#options = options;
    const limits = { ...LOCAL_LIMITS, ...options.limits };
    const random = options.random ?? Math.random;
    const changed = (): void => this.#changed();
    this.#connectors = new Connectors(limits, random, () => this.#serversChanged());
    this.#view = {
      destinations: (key) => options.routing.destinations(key),
      load: (key, router) => this.#memory.load(key, router),
      avoided: (key, { router, failing }) =>
        router === options.routing.self ? this.#connectors.isFailing(key) : failing === true || this.#memory.avoided(key, router),
      // A silent link has the greatest cost, so it is only looked up then.
      isSilent: ({ cost, path }) => cost >= MOST_COST && options.routing.isSilent(path, undefined),
      random,
    };
    this.#lost = new LostConnectors(options.site, {
      destinations: (key) => options.routing.destinations(key),
      site: (siteId) => options.routing.site(siteId),
      linkEnd: (siteId) => options.linkEnd?.(siteId),
    });
    const handshakes = Math.min(limits.handshakes, options.budget.handshakes);
    const limitedLog = new RateLimitedLog(options.log);
    this.#listeners = new Listeners({
      handshake: limits.handshake,
      handshakes: new AdmissionSlots({ most: handshakes, mostOfGroup: handshakes }, hasSentData),
      first: limits.listenFirst,
      most: limits.listenMost,
      linger: limits.linger,
      random,
      portOwner: options.portOwner ?? portOwner,
      reachable: ({ destination }) => !this.#draining && reachableKeys(destination, this.#view).length > 0,
      onSocket: (config, socket, raw) => this.#connections.fromSocket(config, socket, raw),
      onRefused: ({ name }, reason, error) => {
        localMetrics.clientsRefused.inc({ reason });
        options.log.debug(
          { listener: name, error },
          reason === 'busy' ? 'a client was evicted for another' : 'a client failed the TLS handshake',
        );
      },
      onNotAccepted: (address, code) => {
        localMetrics.clientsRefused.inc({ reason: 'busy' });
        limitedLog.warn({ address: hostPort(address), code }, `a client could not be accepted (${code})`);
      },
      onChange: changed,
    });
    this.#connections = new Connections({
      log: options.log,
      site: options.site,
      self: options.routing.self,
      siteName: (id) => options.routing.site(id)?.name,
      limits,
      connectors: this.#connectors,
      metrics: this.#metrics,
      isSilent: (to, firstLink) => options.routing.isSilent(to.path, firstLink),
      memory: this.#memory,
      view: this.#view,
      budget: options.budget,
      shares: () => this.#shares,
      open: (to, head, handler, whose) => options.open(to, head, handler, whose),
      ...(options.records === undefined ? {} : { records: options.records }),
    });
    this.#hideMetrics = showLocalSide({
      keys: () => this.#metrics.all(),
      requests: () => this.#metrics.allRequests(),
      targetsSetAside: () => this.#connectors.setAside,
      listening: () => [...this.#listeners.names()].filter((name) => this.#listeners.get(name)?.listening === true).length,
      reachability: () => this.#reachability(),
    });
  }

  /**
   * Applies new configs at once. Unchanged ones are left alone, and existing connections continue in any case.
   * @param sharePorts whether other routers of the site listen at the same addresses (SO_REUSEPORT). Without it, any other listening
   *   process is a conflict, including another router of this user
   */
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
    this.#updateKeys();
    this.#shares = new Set([...listeners.map(shareOf), ...connectors.map(({ routingKey }) => shareOfKey(routingKey))]).size;
    this.#listeners.apply(listeners, sharePorts);
    this.#findLost();
    this.#changed();
  }

  /** Called when routing results changed: opens and closes sockets, and updates `state`. */
  routingChanged(): void {
    this.#memory.routingChanged();
    this.#listeners.refresh();
    this.#connections.routingChanged();
    this.#findLost();
    this.#changed();
  }

  #findLost(): void {
    this.#lost.update(new Set(this.#listenerConfigs.flatMap(({ destination }) => keysOf(destination))), Date.now());
  }

  /** Takes a CONNECT whose route ends at this router: a connector of its key accepts it, or it is answered with 404, 502 or 503. */
  accept(stream: Stream, head: RequestHead, whose: ShareOwner): StreamHandler {
    return this.#connections.accept(stream, head, whose);
  }

  /**
   * Connects to a server of the key or connector as for a client, and closes the connection. It counts as neither a connection nor a
   * failure.
   * @param done called once
   * @returns a function to cancel; `done` is not called afterwards
   */
  probeServer(target: ProbeTarget, done: (found: ServerProbe) => void): () => void {
    const end: Parameters<Connectors['connect']>[2] = (result) => {
      const servers = this.#connectors.serversOf(target);
      if (result.kind === 'failed') {
        done({ failed: result.failure, ...servers });
        return;
      }
      resetSocket(result.socket, result.raw);
      done({ ...servers, ...(result.tlsTime === undefined ? {} : { tls: result.tlsTime }) });
    };
    if ('key' in target) return this.#connectors.connect(target.key, PROBED_SERVERS, end);
    return this.#connectors.connectBy(target.connector, PROBED_SERVERS, end);
  }

  /** Routing key of a connector of this router. */
  routingKeyOf(connector: string): string | undefined {
    return this.#connectors.routingKeyOf(connector);
  }

  /** Takes a CONNECT without a route from a standard client: this router chooses the destination. */
  enter(stream: Stream, head: RequestHead, whose: ShareOwner): StreamHandler {
    return this.#connections.enter(stream, head, whose);
  }

  /** Ends the connections from, to or through revoked sites, and prevents new ones. */
  block(isRevoked: (path: readonly string[]) => boolean): void {
    this.#connections.block(isRevoked);
  }

  /** Keys that this router announces in routing. The same array while nothing changes. */
  get keys(): OwnFacts['keys'] {
    return this.#keys;
  }

  get state(): LocalState {
    this.#state ??= this.#readState();
    return this.#state;
  }

  /** Counts by routing key and role. */
  get keyMetrics(): Iterable<KeyMetrics> {
    return this.#metrics.all();
  }

  get keyFigures(): KeyFiguresView {
    return viewFigures(this.#metrics);
  }

  get openConnections(): number {
    return this.#connections.size;
  }

  /** Subscribes to changes of `state` or `keys`, at most once in an event-loop iteration. @returns a function to unsubscribe */
  onChange(listener: () => void): () => void {
    this.#subscribers.add(listener);
    return () => this.#subscribers.delete(listener);
  }

  /** Stops accepting, lets connections finish for up to that many milliseconds, then resets the remaining ones. */
  async drain(deadline: number): Promise<void> {
    this.#stop();
    this.#changed();
    await this.#connections.emptied(deadline);
    await this[Symbol.asyncDispose]();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop();
    this.#connectors.close();
    this.#connections.severAll({ code: ErrorCode.CANCEL, reason: 'the router is stopping', how: 'drained' });
    this.#hideMetrics();
  }

  #serversChanged(): void {
    this.#updateKeys();
    this.#changed();
  }

  #updateKeys(): void {
    const keys = keyFacts(this.#listenerConfigs, this.#connectors);
    if (!isDeepStrictEqual(keys, this.#keys)) this.#keys = keys;
  }

  #stop(): void {
    this.#draining = true;
    this.#connections.stop();
    this.#listeners.close();
  }

  #readState(): LocalState {
    const { routing } = this.#options;
    const listeners = this.#listenerConfigs.map(({ name, destination }): [string, ListenerState] => {
      const found = this.#listeners.get(name);
      const problem = found?.problem;
      const reachable = reachableKeys(destination, this.#view);
      const refusedBy = this.#refusedBy(destination);
      const lostSites =
        reachable.length > 0
          ? []
          : keysOf(destination)
              .flatMap((key) => this.#lost.of(key))
              .slice(0, MOST_LOST);
      const state = {
        listening: found?.listening ?? false,
        reachableKeys: reachable,
        ...(refusedBy.length === 0 ? {} : { refusedBy }),
        ...(lostSites.length === 0 ? {} : { lostSites }),
        ...(problem === undefined ? {} : { problem }),
      };
      return [name, state];
    });
    const connectors = [...this.#connectors.names].map((name): [string, ConnectorState] => {
      const matched = routing.hasListener(this.#connectors.routingKeyOf(name) ?? '');
      return [name, { matched, ...this.#connectors.stateOf(name) }];
    });
    return { listeners: Object.fromEntries(listeners), connectors: Object.fromEntries(connectors) };
  }

  #reachability(): ReadonlyMap<string, boolean> {
    const { listeners } = this.state;
    const reachable = new Set(Object.values(listeners).flatMap(({ reachableKeys: keys }) => keys));
    const all = this.#listenerConfigs.flatMap(({ destination }) => keysOf(destination));
    return new Map(all.map((key) => [key, reachable.has(key)]));
  }

  /** A router that announces working servers still counts as refusing while it refuses this router's own connections. */
  #refusedBy(destination: Destination): readonly string[] {
    const { routing } = this.#options;
    const all = keysOf(destination).flatMap((key) => routing.destinations(key).map((to) => ({ key, to })));
    const refuses = ({ key, to: { router, failing } }: (typeof all)[number]): boolean =>
      router === routing.self ? this.#connectors.isFailing(key) : failing === true || this.#memory.refuses(key, router);
    return all.every(refuses) ? [...new Set(all.map(({ to: { router } }) => siteOf(router)))] : [];
  }

  #changed(): void {
    this.#state = undefined;
    this.#changes.request();
  }

  #notify(): void {
    for (const subscriber of this.#subscribers) guard('look/local-subscriber', subscriber, () => subscriber());
  }
}

function keyFacts(listeners: readonly ListenerConfig[], connectors: Connectors): OwnFacts['keys'] {
  const listening = new Map<string, number>();
  for (const { destination } of listeners) for (const key of keysOf(destination)) listening.set(key, (listening.get(key) ?? 0) + 1);
  const { counts } = connectors;
  const keys = [...new Set([...listening.keys(), ...counts.keys()])].sort();
  return keys
    .map((routingKey) => {
      const count = counts.get(routingKey) ?? 0;
      const failing = count > 0 && connectors.isFailing(routingKey);
      return { routingKey, connectors: count, listeners: listening.get(routingKey) ?? 0, ...(failing ? { failing } : {}) };
    })
    .filter((key) => key.connectors > 0 || key.listeners > 0);
}
