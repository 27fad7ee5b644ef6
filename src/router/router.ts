import { performance } from 'node:perf_hooks';
import type { Logger } from '../telemetry/log.ts';
import { bounded, guard } from '../telemetry/boundary.ts';
import {
  DEFAULT_LIVENESS,
  type AllFigures,
  type IssuedCertificate,
  type KeyFiguresView,
  type LinkState,
  type ObservedRouter,
  type ProbeResult,
  type ProbeTarget,
  type Router,
  type RouterConfig,
  type RouterHooks,
  type RouterState,
  type SelfFigures,
  type SiblingLinkState,
  type SiblingPartState,
} from './contract.ts';
import { LinkError } from './link/link-errors.ts';
import type { Fields, RequestHead, Stream, StreamHandler } from '../http2/contract.ts';
import { authorityOf, keyIn } from './link/authority.ts';
import { daysLeft } from './tls-context.ts';
import { ConfiguredLinks } from './link/configured-links.ts';
import type { Hello } from './link/session/hello.ts';
import type { LinkHost, Peer } from './link/host.ts';
import type { Link } from './link/link.ts';
import { linkFields } from './link/link-log.ts';
import { Links } from './link/links.ts';
import { Memory } from '../memory/memory.ts';
import { DelayedCall } from '../limits/loop/delayed-call.ts';
import { LoopQuota, PeerLoopQuotas } from '../limits/loop/loop-quota.ts';
import { budgetWithin, memoryLimit } from '../memory/limit.ts';
import { KeyedRateLimitedLog } from '../telemetry/keyed-rate-limited-log.ts';
import { openFilesLimit, reserveWithin } from '../telemetry/open-files.ts';
import { createClosingSlots } from './link/session/connection.ts';
import { Liveness } from './link/session/liveness.ts';
import { eventLoopDelay, linkMetrics, restartEventLoopDelay, showMetrics } from './link/link-metrics.ts';
import { refuse } from './link/refusal.ts';
import { siblingLinkFormat } from './link/sibling-links.ts';
import { siblingPartFormat } from './link/sibling-parts.ts';
import { SiblingReports } from './link/sibling-reports.ts';
import { appendPassed, formatReport, probeIn, type ProbeKind } from './probe/probe-fields.ts';
import { probeTarget } from './probe/prober.ts';
import { relay, type LiveRelay } from './link/relay.ts';
import { requestRenewal } from './link/session/renewal.ts';
import { nextStep } from './link/route.ts';
import { RoutingDriver } from './link/routing-driver.ts';
import type { OpenRequest } from './route-request.ts';
import { SharedFigures } from './shared-figures/shared-figures.ts';
import { LocalSide, type ServerProbe } from './local/local-side.ts';
import { ConnectionRecords } from './records/connection-records.ts';
import type { RecordsView } from './records/contract.ts';
import { hostNames } from '../net/host-names.ts';
import { isVia, passedOthers, pathOf, writeVia } from './via.ts';
import type { RouterId, Routing } from '../routing/contract.ts';
import { messageTime } from '../routing/limits.ts';
import { LONGEST_TEXT, routerId, siteOf } from '../routing/names.ts';
import { createRouting } from '../routing/routing.ts';
import { fieldsOf, statusOf } from './local/failure.ts';
import { KeyedRateLimiter } from '../limits/rate-limiter.ts';
import { limitTable } from '../limits/table.ts';
import { LEAVING, OBSERVE_AUTHORITY, PROBE_FIELD, ROUTE_FIELD, SIBLING_PART, VERSIONS, VIA_FIELD } from './wire.ts';
import { EarshotError } from '../errors/earshot-error.ts';
import { hasRevocations, revokedOf, revokedSets, type Party } from '../identity/revocation.ts';
import { printableAscii } from '../text/printable.ts';
import { pause } from '../work/pause.ts';
import { KeyedCpuBudget } from '../limits/cpu-budget.ts';

/**
 * Starts a router: joins the local side, routing and links. A part that fails, such as a port in use or a link that cannot be opened, is
 * reported in the state and retried. It does not keep the router from starting.
 * @throws RoutingError if the site's ID does not match its key, or the router's name is invalid
 */
export async function startRouter(config: RouterConfig, hooks: RouterHooks, options: RouterOptions): Promise<Router> {
  return new JoinedRouter(config, hooks, options);
}

export interface RouterOptions {
  readonly log: Logger;
  /** Bytes that the process may use, if less than the machine or its control group allows. */
  readonly memory?: number | undefined;
  /** Number of ended and failed connections to keep records of; 0 records none, open ones included. Default: 0. */
  readonly records?: number;
}

/** Milliseconds from the end of the last listener until links are retired, so that connections just accepted still find their way. */
const DRAIN_GRACE = 100;
/** Milliseconds between checks for expired certificates of open connections. */
const EXPIRY_CHECK = 1_000;
/** Milliseconds for other routers to read that this one is leaving. */
const FAREWELL = 250;

class JoinedRouter implements Router, LinkHost {
  readonly log: Logger;
  readonly self: string;
  readonly siteKey: RouterConfig['siteKey'];
  readonly hooks: RouterHooks;
  readonly links = new Links();
  readonly liveness = new Liveness();
  readonly memory: Memory;
  /** Bytes of all routers that share the memory of this process. */
  readonly #memoryLimit: number;
  readonly turns = new PeerLoopQuotas();
  readonly closing = createClosingSlots();
  readonly dials = new LoopQuota(() => 1);
  readonly messageTime = new KeyedCpuBudget(messageTime.part, messageTime.burst);
  /** Limited by owner, since an admitted peer may open and close links without limit. */
  readonly #linkLog: KeyedRateLimitedLog;
  #leaving = false;
  #stopped = false;
  readonly #probes = new KeyedRateLimiter(limitTable.probesOfPeer.value, limitTable.probingPeers.value);
  readonly relayed = { open: 0, total: 0, failed: 0, bytes: 0 };
  readonly #records: ConnectionRecords | undefined;
  readonly #passing = new Set<LiveRelay>();
  readonly #routing: Routing;
  readonly #feed: RoutingDriver;
  readonly #local: LocalSide;
  readonly #configured = new ConfiguredLinks(this);
  readonly #siblingLinks: SiblingReports<LinkState, SiblingLinkState>;
  readonly #siblingParts: SiblingReports<SiblingPartState, SiblingPartState>;
  readonly #listeners = new Set<() => void>();
  readonly #hideMetrics: () => void;
  readonly #endNames: () => void;
  readonly #expiry: NodeJS.Timeout;
  #config: RouterConfig;
  #revoked = revokedSets({ sites: [], serials: [] });
  #keys: LocalSide['keys'] | undefined;
  #edge: boolean | undefined;
  /**
   * Stays true after the last sibling left. Reopening the ports would reset connections that wait to be accepted, just when those of the
   * sibling arrive here. It is likely to return soon.
   */
  #sharesPorts = false;
  #name: string | undefined;
  #state: RouterState | undefined;
  /** Cached part of the state; the local part changes more often. */
  #seen: { readonly version: number; readonly network: RouterState['network'] } | undefined;
  readonly #changes = new DelayedCall({ name: 'look/router-change', call: () => this.#notify() });
  #closed: Promise<void> | undefined;
  readonly #figures: SharedFigures;
  /** Opens a request. `authority` is a routing key. */
  readonly #open: OpenRequest = (to, head, handler, whose) =>
    this.links.openFirst(to, { ...head, authority: authorityOf(head.authority) }, handler, whose);

  constructor(config: RouterConfig, hooks: RouterHooks, { log, memory, records = 0 }: RouterOptions) {
    const { site, siteKey, router } = config;
    this.log = log;
    this.#linkLog = new KeyedRateLimitedLog(log);
    this.#memoryLimit = memoryLimit(memory);
    const limits = { bytes: budgetWithin(this.#memoryLimit), peers: reserveWithin(openFilesLimit()).peers };
    this.memory = new Memory(limits, log);
    this.hooks = hooks;
    this.siteKey = siteKey;
    this.self = routerId(site.id, router);
    this.#config = config;
    this.#siblingLinks = new SiblingReports(site.id, siblingLinkFormat);
    this.#siblingParts = new SiblingReports(site.id, siblingPartFormat);
    this.#routing = createRouting({ router, site, siteKey });
    this.#feed = new RoutingDriver({
      log,
      routing: this.#routing,
      links: this.links,
      onChange: () => {
        this.#local.routingChanged();
        this.changed();
      },
    });
    this.#records =
      records === 0 ? undefined : new ConnectionRecords({ size: records, siteName: (siteId) => this.#routing.site(siteId)?.name });
    this.#local = new LocalSide({
      ...(this.#records === undefined ? {} : { records: this.#records }),
      log,
      site: site.id,
      routing: this.#routing,
      budget: this.memory,
      linkEnd: (siteId) => this.#configured.linkEnd(siteId),
      open: this.#open,
    });
    this.#figures = new SharedFigures({
      self: this.self,
      config: () => this.#config,
      state: () => this.state,
      links: this.links,
      local: this.#local,
      routing: this.#routing,
      memory: this.memory,
      open: this.#open,
    });
    this.#local.onChange(() => {
      this.#stateFacts();
      this.changed();
    });
    this.#endNames = hostNames.onChange((host, since) => {
      if (since === undefined) log.info({ host }, 'the name is resolved again');
      else log.warn({ host, since: new Date(since).toISOString() }, 'the name is not resolved: its last known addresses are used');
      this.changed();
    });
    this.#hideMetrics = showMetrics({
      links: () => this.links.all,
      relayed: this.relayed,
      network: () => this.state.network,
      configured: () => this.state.links,
      certificates: (now) => certificatesOf(this.#config, now),
    });
    const cutExpired = (): void => this.#configured.cutExpired(Date.now());
    this.#expiry = setInterval(bounded('look/certificates', cutExpired), EXPIRY_CHECK);
    this.apply(config);
  }

  get state(): RouterState {
    const network = (): RouterState['network'] => this.#network;
    this.#state ??= {
      ...this.#local.state,
      ...this.#configured.state,
      ...this.#siblingState,
      // Computed on access, since most readers of the state do not use it.
      get network() {
        return network();
      },
      staleNames: hostNames.stale,
    };
    return this.#state;
  }

  get records(): RecordsView | undefined {
    return this.#records;
  }

  get keyFigures(): KeyFiguresView {
    return this.#local.keyFigures;
  }

  get selfFigures(): SelfFigures {
    const { contested } = this.#routing;
    return { ...delayFigures(), ...(contested.count === 0 ? {} : { contested }) };
  }

  readFigures(): AllFigures {
    const delay = delayFigures();
    restartEventLoopDelay();
    return { ...delay, certificates: certificatesOf(this.#config, Date.now()), items: this.keyFigures.all() };
  }

  get #siblingState(): Pick<RouterState, 'siblingLinks' | 'siblingParts'> {
    const [siblingLinks, siblingParts] = [this.#siblingLinks.received, this.#siblingParts.received];
    return siblingLinks === undefined || siblingParts === undefined ? {} : { siblingLinks, siblingParts };
  }

  get #network(): RouterState['network'] {
    const { version } = this.#routing;
    if (this.#seen?.version !== version) this.#seen = { version, network: this.#routing.network() };
    return this.#seen.network;
  }

  apply(config: RouterConfig): void {
    if (this.#stopped) return;
    this.#config = config;
    const { sites } = this.#revoked;
    this.#revoked = revokedSets(config.revoked, config.site.id);
    // First of all, since what follows may throw, and the change would not be detected again.
    if (sites.symmetricDifference(this.#revoked.sites).size > 0) this.#block();
    this.memory.resize(budgetWithin(this.#memoryLimit / (config.memoryParts ?? 1)));
    this.#sharesPorts ||= config.siblings?.kind === 'unix' && config.siblings.sharesPorts;
    this.liveness.apply({ ...DEFAULT_LIVENESS, ...config.liveness });
    this.#local.apply(config.listeners, config.connectors, this.#sharesPorts);
    this.#stateFacts();
    this.#configured.apply(config, this.#sharesPorts);
    this.changed();
  }

  onChange(listener: () => void): () => void {
    // Each call adds a listener, even for a function that was added before.
    const own = (): void => listener();
    this.#listeners.add(own);
    return () => this.#listeners.delete(own);
  }

  async renew(link: string, request: string): Promise<IssuedCertificate> {
    const opened = this.#configured.opened(link);
    if (opened === undefined)
      throw new EarshotError('renew-no-link', `The link ${link} is not up, so its certificate cannot be renewed now.`);
    return requestRenewal((head, handler) => opened.request(head, handler), request);
  }

  observe(siteId: string): Promise<readonly ObservedRouter[] | undefined> {
    return this.#figures.observe(siteId);
  }

  probe(target: ProbeTarget): Promise<ProbeResult | undefined> {
    return probeTarget(target, {
      site: this.#config.site.id,
      siteName: (id) => this.#routing.site(id)?.name,
      destinations: (key) => this.#routing.destinations(key),
      open: this.#open,
      keyHere: (connector) => this.#local.routingKeyOf(connector),
      connectHere: (to) => {
        const { promise, resolve } = Promise.withResolvers<ServerProbe>();
        this.#local.probeServer(to, resolve);
        return promise;
      },
    });
  }

  get draining(): boolean {
    return this.#leaving;
  }

  leave(): void {
    if (this.#leaving) return;
    this.#leaving = true;
    for (const link of this.links.all) if (link.state === 'up') this.#announceShutdown(link);
  }

  /** Routers of the same site detect the shutdown on their own. */
  #announceShutdown({ dialed, peer, routing }: Link): void {
    if (!dialed && peer.site.id !== this.#config.site.id) routing.send(Buffer.of(LEAVING));
  }

  drain(deadline: number): Promise<void> {
    this.#leaving = true;
    this.#stopped = true;
    this.#closed ??= this.#drain(deadline);
    return this.#closed;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.drain(0);
  }

  // The methods from here on implement `LinkHost`.

  hello(link: Hello['link']): Hello {
    const { site, router, edge } = this.#config;
    return { versions: VERSIONS, router, site, edge, link };
  }

  isRevoked(party: Party): boolean {
    return revokedOf(party, this.#revoked) !== undefined;
  }

  connect(stream: Stream, asked: RequestHead, from: Peer, owner: string): StreamHandler {
    if (!isVia(asked.fields))
      return refuse(stream, 400, 'http_request_error', `${VIA_FIELD} is malformed: it must have site IDs, separated by one space`);
    const head = { ...asked, fields: writeVia(asked.fields, from, this.#config.site.id) };
    const step = nextStep(head.fields[ROUTE_FIELD], this.self, this.#config.edge, from.site);
    const revoked = hasRevocations(this.#revoked) ? revokedOf({ ...from, path: pathOf(head.fields) }, this.#revoked) : undefined;
    if (revoked !== undefined) {
      linkMetrics.refused.inc({ reason: 'revoked' });
      const { kind, id } = revoked;
      return refuse(stream, 403, 'http_request_denied', `revoked: the connection passes through ${kind} ${id}, which is revoked here`);
    }
    if (from.confined === true && passedOthers(asked.fields, from)) {
      this.relayed.failed += 1;
      return refuse(stream, 502, 'http_request_error', 'an edge site does not forward connections between other sites');
    }
    const probe = probeIn(asked.fields);
    if (probe !== undefined && !this.#probes.take(owner, performance.now()))
      return refuse(stream, 503, 'connection_limit_reached', 'busy: too many probes');
    // An admitted peer can request any text as a key, up to the size limit of fields.
    const whose = { owner, key: printableAscii(head.authority, LONGEST_TEXT) };
    const full = this.memory.refusal('connection', whose);
    if (full !== undefined) return refuse(stream, 503, 'connection_limit_reached', `busy: ${full}`);
    const routingKey = keyIn(head.authority);
    switch (step.kind) {
      case 'enter':
      case 'accept': {
        if (routingKey === undefined) return refuse(stream, 400, 'http_request_error');
        if (probe !== undefined && step.kind === 'accept') return this.#answerProbe(stream, probe, routingKey);
        if (routingKey === OBSERVE_AUTHORITY && step.kind === 'accept') return this.#figures.answer(stream, asked.fields, from, whose);
        const here = routingKey === head.authority ? head : { ...head, authority: routingKey };
        return step.kind === 'enter' ? this.#local.enter(stream, here, whose) : this.#local.accept(stream, here, whose);
      }
      case 'refuse':
        this.relayed.failed += 1;
        return refuse(stream, step.status, 'http_request_error', step.reason);
      case 'forward': {
        // Without a proved site, nothing in the request shows the next router of this site that it comes from elsewhere.
        if (routingKey === OBSERVE_AUTHORITY && from.site === undefined) return this.#figures.refuse(stream);
        const leaves = step.rest.split(' ').some((router) => siteOf(router) !== siteOf(step.next));
        const onward = { ...head, fields: { ...head.fields, [ROUTE_FIELD]: step.rest } };
        const open = (to: RequestHead, handler: StreamHandler): Stream => this.links.openTo(step.next, leaves, to, handler, whose);
        // Requests of routers themselves do not count as connections.
        const isCounted = probe === undefined && routingKey !== OBSERVE_AUTHORITY;
        const records = isCounted ? this.#records : undefined;
        const report = probe === undefined ? undefined : this.#reportOn(step.next);
        const { value: questionTime } = probe === undefined ? limitTable.observationTime : limitTable.probeTime;
        const limit = isCounted ? {} : { questionTime };
        const share = { memory: this.memory, log: this.log, self: this.self, records, report, ...limit, ...whose };
        const counts = isCounted ? this.relayed : { open: 0, total: 0, failed: 0, bytes: 0 };
        return relay(stream, onward, open, counts, share, this.#passing);
      }
    }
  }

  /** Adds this router to the answer of a probe, with how long the next router took. */
  #reportOn(next: RouterId): (fields: Fields) => Fields {
    const begun = performance.now();
    return (fields) => {
      const nextRtt = this.links.roundTripTo(next);
      return appendPassed(fields, { router: this.self, ms: performance.now() - begun, ...(nextRtt === undefined ? {} : { nextRtt }) });
    };
  }

  /** A probe counts as neither a connection nor a failure. The answer contains no host, address or name of a client. */
  #answerProbe(stream: Stream, probe: ProbeKind, routingKey: string): StreamHandler {
    const { router, site } = this.#config;
    const about = { router, version: site.version, queued: stream.queued, clock: Date.now(), in: stream.waited ?? 0 };
    if (probe === 'hop') return refuse(stream, 404, 'destination_not_found', undefined, { [PROBE_FIELD]: formatReport(about) });
    const begun = performance.now();
    const cancel = this.#local.probeServer({ key: routingKey }, ({ failed, ...found }) => {
      const report = { [PROBE_FIELD]: formatReport({ ...about, connect: performance.now() - begun, ...found }) };
      const answer =
        failed === undefined ? { status: 200, fields: report } : { status: statusOf(failed), fields: { ...fieldsOf(failed), ...report } };
      stream.respond(answer, { end: true });
    });
    return { onResponse: () => {}, onData: (chunk) => stream.consumed(chunk.length), onEnd: () => {}, onDrain: () => {}, onReset: cancel };
  }

  routingMessage(link: Link, message: Buffer): void {
    this.#feed.receive(link, message);
  }

  siblingMessage(link: Link, message: Buffer): void {
    const reports = message[0] === SIBLING_PART ? this.#siblingParts : this.#siblingLinks;
    if (reports.receive(link, message)) this.changed();
  }

  #reportToSiblings(): void {
    this.#siblingLinks.report(() => this.#configured.state.links);
    if (this.#config.network !== undefined) this.#siblingParts.report(() => partsOf(this.#local.state));
  }

  changed(): void {
    this.#state = undefined;
    this.#changes.request();
  }

  #notify(): void {
    guard('look/sibling-links', this, () => this.#reportToSiblings());
    for (const listener of this.#listeners) guard('look/router-listener', listener, call);
  }

  readonly events = {
    onUp: (link: Link): void => {
      const { cost, dialed, silentSince } = link;
      this.#linkLog.of(link.owner).info({ ...linkFields(link), cost, dialed, silentSince }, 'adjacent router');
      this.#feed.up(link);
      this.#siblingLinks.up(link);
      this.#siblingParts.up(link);
      this.#configured.linkUp(link);
      // The link was accepted before the shutdown began.
      if (this.#leaving) this.#announceShutdown(link);
      this.changed();
    },
    onDown: (link: Link): void => {
      this.links.delete(link);
      this.#linkLog.of(link.owner).info({ ...linkFields(link), reason: link.reason }, 'adjacency ended');
      this.#feed.down(link);
      this.#siblingLinks.down(link);
      this.#siblingParts.down(link);
      this.#configured.linkDown(link);
      this.changed();
    },
    onCost: (link: Link): void => {
      if (link.state === 'up') this.#feed.up(link);
    },
    onSilence: (link: Link): void => {
      const { isSilent, silentSince } = link;
      this.#linkLog.of(link.owner).info({ ...linkFields(link), silentSince }, isSilent ? 'link silent' : 'link is no longer silent');
      this.#feed.up(link);
      this.#configured.linkSilence(link);
      this.changed();
    },
    onClosed: (link: Link, reason: string): void => {
      if (this.log.isLevelEnabled('debug')) this.log.debug({ ...linkFields(link), reason }, 'link closed');
    },
    onLeaving: (link: Link): void => {
      if (this.log.isLevelEnabled('debug')) this.log.debug(linkFields(link), 'link draining: the other end is shutting down');
      this.#configured.linkLeaving(link);
    },
  };

  /** Also ends connections that lead to the revoked sites or pass through them. */
  #block(): void {
    this.#feed.block(this.#revoked.sites);
    this.#local.block((path) => this.isRevoked({ path }));
    for (const passing of this.#passing) if (this.isRevoked({ path: pathOf(passing.head.fields) })) passing.cut();
  }

  #stateFacts(): void {
    const { keys } = this.#local;
    const { edge, site } = this.#config;
    if (this.#stopped || (keys === this.#keys && edge === this.#edge && site.name === this.#name)) return;
    this.#keys = keys;
    this.#edge = edge;
    this.#name = site.name;
    this.#feed.setFacts({ edge, keys, name: site.name });
  }

  async #drain(deadline: number): Promise<void> {
    // Monotonic: a wall clock set back by an hour would keep the router for an hour.
    const end = performance.now() + deadline;
    this.log.info({ deadline, connections: this.#local.openConnections, transit: this.relayed.open }, 'draining');
    this.#configured.stop();
    const local = this.#local.drain(deadline);
    await until(end, DRAIN_GRACE);
    for (const link of this.links.all) link.retire('this router is closing');
    await local;
    while (this.relayed.open > 0 && performance.now() < end) await until(end, 20);
    await until(performance.now() + Math.min(deadline, FAREWELL), FAREWELL);
    await this.#close();
    this.log.info('drained');
  }

  async #close(): Promise<void> {
    const reason = new LinkError('closed', 'This router has been closed.');
    for (const link of this.links.all) link.cut(reason);
    this.#configured.destroy();
    clearInterval(this.#expiry);
    this.#feed[Symbol.dispose]();
    this.liveness[Symbol.dispose]();
    this.memory[Symbol.dispose]();
    this.#hideMetrics();
    this.#endNames();
    this.#records?.[Symbol.dispose]();
    this.#changes.end();
    this.#listeners.clear();
    await this.#local[Symbol.asyncDispose]();
  }
}

const call = (listener: () => void): void => listener();

function partsOf({ listeners, connectors }: LocalSide['state']): Readonly<Record<string, SiblingPartState>> {
  return Object.fromEntries([
    ...Object.entries(listeners).map(([name, listener]) => [name, { listener }] as const),
    ...Object.entries(connectors).map(([name, connector]) => [name, { connector }] as const),
  ]);
}

/** Waits for some milliseconds, but not beyond `end`, a time of `performance.now()`. */
function until(end: number, milliseconds: number): Promise<void> {
  return pause(Math.max(0, Math.min(milliseconds, end - performance.now())));
}

/** Days until the certificates that the config names expire. */
function delayFigures(): Pick<SelfFigures, 'eventLoopDelay'> {
  const delay = eventLoopDelay();
  return delay === undefined ? {} : { eventLoopDelay: Math.round(delay * 10_000) / 10 };
}

function certificatesOf(config: RouterConfig, now: number): AllFigures['certificates'] {
  const { links, accesses, listeners, connectors, siblings } = config;
  const ofSiblings = siblings?.kind === 'tls' ? [siblings] : [];
  const all = [...[...links, ...accesses, ...listeners, ...ofSiblings].map(({ tls }) => tls), ...connectors.map(({ tls }) => tls?.bundle)];
  const bundles = new Map(all.flatMap((tls) => (tls === undefined ? [] : [[tls.name, tls] as const])));
  return [...bundles].flatMap(([bundle, tls]) => {
    const days = daysLeft(tls, now);
    return days === undefined ? [] : [{ bundle, days }];
  });
}
