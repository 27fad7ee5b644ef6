import type { ConnectorConfig, Destination, Learned, LinkConfig, LinkEndpoint, Router, RouterConfig } from '../../src/router/contract.ts';
import { startRouter } from '../../src/router/router.ts';
import type { Logger } from '../../src/telemetry/log.ts';
import { SiteAgent } from './agent.ts';
import { authorityBundle, hostOf, linkBundle, otherAuthority, testBundle, testSite, type TestBundle } from './certificates.ts';
import { EPOCH } from './current.ts';
import { Disk, Issued } from './disk.ts';
import type { Machine } from './network.ts';
import { accountOf, type Account } from './inside.ts';
import { certificateIn } from './node/crypto.ts';
import type { LinkPlan, SitePlan, WorldPlan } from './plan.ts';

const ACCESS_PORT = 55_671;
const EDGE_PORT = 45_671;
const SIBLING_PORT = 5_671;
const LISTENER_PORT = 9_000;
const SERVER_PORT = 8_000;
/** A port without a listener, and an unused address. */
const CLOSED_PORT = 7;
const NOBODY = '10.0.9.9';

/** @param place where it has moved to: 0 for where it was at first */
const accessPort = (role: LinkPlan['role'], place: number): number => place + (role === 'edge' ? EDGE_PORT : ACCESS_PORT);
export const ROLES = ['inter-router', 'edge'] as const;
export const listenerPort = (key: number): number => LISTENER_PORT + key;
export const serverPort = (key: number): number => SERVER_PORT + key;
export const routingKey = (key: number): string => `key-${key}`;

/** Bytes: less than any machine has on which this runs. */
const MEMORY = 268_435_456;
/** Milliseconds until a router notices what has become of the other one of its machine, or of their files. */
const NOTICED = [10, 1_000] as const;

const socketOf = ({ id, name }: Site): string => `/run/${id}/${name}.sock`;

/** Desired access for links of other sites. */
export interface DesiredAccess {
  generation: number;
  isWanted: boolean;
}

/** A link as its site wants it now. */
export interface DesiredLink extends LinkPlan {
  generation: number;
  /** Seconds from the world's begin until its certificate ends. */
  ends: number | undefined;
  deleted: boolean;
  desiredCost: number;
}

/** Deadlines for fast paths: a silent link is found, avoided and given up while a world lasts. */
const SHORT_LIVENESS = { suspectAfter: 700, deadAfter: 2_100 };

/** A site: what it wants, its machine, and the router that runs there, if any. */
export class Site {
  readonly index: number;
  readonly machine: Machine;
  readonly id: string;
  readonly plan: SitePlan;
  readonly links: readonly DesiredLink[];
  readonly listeners: Set<number>;
  readonly connectors: Set<number>;
  readonly revokedSites: Set<string>;
  readonly revokedSerials: Set<string>;
  readonly access: DesiredAccess;
  siblingGeneration = 0;
  /** Seconds from the world's begin until the certificate ends that it shows its sibling. */
  siblingEnds: number | undefined;
  saysEdge: boolean;
  /** By link name, the cached endpoints of the other site that its routers received: on its disk. */
  readonly #remembered = new Map<string, Learned>();
  /** All endpoints cached since its link was created, by which it has to find the other site. */
  readonly #everLearned = new Map<string, Learned>();
  /** Ports that others may link to; the last is the announced one. */
  #places: readonly number[] = [0];
  router: Router | undefined;
  /** Called for each of its routers. */
  onStarted: (router: Router) => void = () => {};
  /** Agent of the running process, in a world in which certificates are renewed over links. */
  agent: SiteAgent | undefined;
  /** Disk of its machine. */
  readonly disk: Disk;
  /** All that its site has issued; its routers' on other machines as well. */
  readonly issued: Issued;
  /** Called for forbidden acts of its agents. */
  onFault: (text: string) => void = () => {};
  /** Keys of all connectors that it ever had. */
  readonly everHad = new Set<string>();
  /** Listeners of the router's latest configuration. */
  served: ReadonlySet<number> = new Set();
  readonly tls: WorldPlan['tls'];
  /** Usage charged to one owner's share of its router's memory. */
  account: Account = { holders: new Set(), charged: 0 };
  /** The other process of its machine that is a router of the same site: of the same wishes. */
  mate: Site | undefined;
  /** Generations of its access that its router received: of two that come while it stands still, the later. */
  readonly generationsTold = new Set<number>();
  /** Index of the site whose key it has. */
  readonly #site: number;
  /** Index of the site whose certificates it has. */
  readonly #holder: number;
  readonly #plan: WorldPlan;
  readonly #log: Logger;
  /** Its process is there, and which one it is. */
  #runs = false;
  #starts = 0;
  #isStarting = false;
  readonly #isSought: boolean;

  /** @param others which are there already. @param mate of these, the one with which it shares a machine */
  constructor(index: number, machine: Machine, plan: SitePlan, world: WorldPlan, log: Logger, others: readonly Site[], mate?: Site) {
    const { links, tls } = world;
    this.index = index;
    this.machine = machine;
    this.plan = plan;
    this.mate = mate;
    if (mate !== undefined) mate.mate = this;
    this.siblingEnds = plan.sibling?.ends;
    this.saysEdge = plan.edge;
    this.#site = plan.sibling?.router === 'second' ? plan.sibling.index : index;
    this.#holder = mate?.index ?? index;
    this.id = testSite(this.#site).id;
    this.links =
      mate?.links ??
      links
        .filter(({ from }) => from === index)
        .map((link) => ({ ...link, generation: 0, ends: undefined, deleted: false, desiredCost: link.cost }));
    this.#isSought = links.some(({ to, role }) => to === index && role === 'inter-router');
    this.listeners = mate?.listeners ?? new Set(plan.listeners);
    this.connectors = mate?.connectors ?? new Set(plan.connectors);
    this.revokedSites = mate?.revokedSites ?? new Set();
    this.revokedSerials = mate?.revokedSerials ?? new Set();
    this.access = mate?.access ?? { generation: 0, isWanted: true };
    this.tls = tls;
    this.disk = mate?.disk ?? new Disk();
    this.issued = others.find(({ id }) => id === this.id)?.issued ?? new Issued();
    this.#plan = world;
    this.#log = log;
  }

  /** It came in by ports for edge sites only, and no other site has a link to it as to any other. */
  get isGuest(): boolean {
    return this.plan.edge && !this.#isSought && this.links.length > 0 && this.links.every(({ role }) => role === 'edge');
  }

  get accessBundle(): TestBundle {
    return testBundle(this.#holder, 100 + this.access.generation, undefined, this.#site);
  }

  bundleOf({ name, generation, ends }: DesiredLink): TestBundle {
    const renewed = this.disk.bundles.get(name);
    if (renewed !== undefined) return renewed;
    return testBundle(this.#holder, generation, ends, this.#site);
  }

  /** Seconds from the world's begin until the certificate ends that it shows there; undefined where it lasts. */
  endsOf({ name, ends }: DesiredLink): number | undefined {
    const renewed = this.disk.bundles.get(name);
    return renewed === undefined ? ends : (certificateIn(renewed.cert).validToDate.getTime() - EPOCH) / 1_000;
  }

  /** Certificates of its servers. */
  get serverBundle(): TestBundle {
    return testBundle(this.#holder, 300, undefined, this.#site);
  }

  get name(): string {
    return this.plan.sibling?.router ?? 'main';
  }

  isSiblingOf(other: Site): boolean {
    return other !== this && other.id === this.id;
  }

  /** Runs a router from now on, if none does. */
  start(): void {
    if (this.router !== undefined || this.#isStarting) return;
    this.#starts += 1;
    this.#isStarting = true;
    this.#setRuns(true);
    this.#soon(() => {
      const agent = this.#startAgent();
      void startRouter(this.config(), agent?.hooks ?? {}, { log: this.#log, memory: this.#plan.memory ?? MEMORY }).then((router) => {
        this.router = router;
        this.account = accountOf(router);
        this.#isStarting = false;
        this.onStarted(router);
        agent?.begin(router);
        router.onChange(() => {
          if (this.router === router) this.#remember(router);
          agent?.routerChanged();
        });
      });
    });
  }

  /** The other site gives it a certificate for a link: that agent knows of it, and this one is to have it renewed. */
  giveBundle(link: DesiredLink, to: Site, ends: number): void {
    const { renewal } = this.#plan;
    if (renewal === undefined) return;
    const bundle = linkBundle(link.name, this.#holder, this.#site, renewal.lifetime, ends);
    const notAfter = EPOCH + ends * 1_000;
    to.issued.entries.push({ siteName: `site-${this.#holder}`, siteId: this.id, serial: bundle.serial, notAfter, before: undefined });
    this.disk.bundles.set(link.name, bundle);
  }

  /** Whether it lacks the authority that issued its peers' certificates. */
  get isForeign(): boolean {
    return this.#plan.renewal?.foreign === this.#site;
  }

  /** Its process is killed: nothing of what it was at happens. */
  killAgent(): void {
    this.agent?.kill();
    this.agent = undefined;
  }

  #startAgent(): SiteAgent | undefined {
    const { renewal } = this.#plan;
    if (renewal === undefined) return undefined;
    const { id, key } = testSite(this.#site);
    this.agent = new SiteAgent({
      machine: this.machine,
      name: `site-${this.#site}`,
      identity: { id, key },
      disk: this.disk,
      issued: this.issued,
      authority: this.isForeign ? otherAuthority : authorityBundle,
      lifetime: renewal.lifetime,
      revoked: { sites: this.revokedSites, serials: this.revokedSerials },
      links: () => this.#linkConfigs(),
      log: this.#log,
      onWritten: () => this.apply(),
      onFault: this.onFault,
    });
    return this.agent;
  }

  apply(): void {
    this.#apply();
    this.#tellMate();
  }

  /** At which others may link to it. */
  get accessPorts(): readonly number[] {
    return this.access.isWanted ? this.#places.flatMap((place) => ROLES.map((role) => accessPort(role, place))) : [];
  }

  /** One of its listeners is there: a client may have come to its mate's. */
  serves(key: number): boolean {
    return this.served.has(key) || this.mate?.served.has(key) === true;
  }

  #apply(): void {
    this.#soon(() => this.router?.apply(this.config()));
  }

  /** The keys of its listener of that number. */
  keysOf(number: number): readonly number[] {
    const { keys, special } = this.#plan;
    return special?.[number]?.destination === undefined ? [number] : [...new Set([number, (number + 1) % keys])];
  }

  #destination(number: number): Destination {
    const kind = this.#plan.special?.[number]?.destination;
    const routingKeys = this.keysOf(number).map(routingKey);
    if (kind === 'priority') return { kind, routingKeys };
    if (kind === 'weighted') return { kind, routingKeys: Object.fromEntries(routingKeys.map((key, at) => [key, 2 * at])) };
    return { kind: 'key', routingKey: routingKey(number) };
  }

  #endpoints({ to, role, decoy }: DesiredLink): readonly LinkEndpoint[] {
    const real = { host: hostOf(to), port: accessPort(role, 0) };
    switch (decoy) {
      case 'nobody':
        return [{ host: NOBODY, port: real.port }, real];
      case 'closed':
        return [{ host: real.host, port: CLOSED_PORT }, real];
      case 'self':
        return [{ host: hostOf(this.#holder), port: real.port }, real];
      default:
        return [real];
    }
  }

  /** Each looks at the files of the site when it comes to it. */
  #tellMate(): void {
    const { mate } = this;
    if (mate === undefined) return;
    const { loop, random } = this.machine.network;
    loop.after(random.scaled(...NOTICED), mate.machine, () => mate.#apply());
  }

  #setRuns(runs: boolean): void {
    this.#runs = runs;
    this.#tellMate();
  }

  /** It is reached somewhere else, and for a while where it was as well. */
  move(): void {
    this.#places = [...this.#places, (this.#places.at(-1) ?? 0) + 1];
    this.apply();
  }

  /** It is reached no longer where it was before. */
  leaveFormer(): void {
    this.#places = this.#places.slice(-1);
    this.apply();
  }

  /** The current port for its links of a role. */
  portOf(role: LinkPlan['role']): number {
    return accessPort(role, this.#places.at(-1) ?? 0);
  }

  /** Whether it knows where the site at the other end is reached: from the first, or by announcement. */
  knows({ name, role }: DesiredLink, to: Site): boolean {
    return to.#places.includes(0) || this.#everLearned.get(name)?.endpoints.some(({ port }) => port === to.portOf(role)) === true;
  }

  #rememberedOf({ name }: DesiredLink): { readonly remembered?: Learned } {
    const remembered = this.#remembered.get(name);
    return remembered === undefined ? {} : { remembered };
  }

  #remember({ state }: Router): void {
    for (const { name } of this.links) {
      const { remoteSiteId, announced } = state.links[name] ?? {};
      if (state.links[name] === undefined) this.forget({ name });
      else if (remoteSiteId === undefined || announced === undefined) this.#remembered.delete(name);
      else for (const known of [this.#remembered, this.#everLearned]) known.set(name, { site: remoteSiteId, endpoints: announced });
    }
  }

  /** Forgets the endpoints announced over a deleted link. */
  forget({ name }: Pick<LinkPlan, 'name'>): void {
    for (const known of [this.#remembered, this.#everLearned]) known.delete(name);
  }

  /** Closes what it has within so many milliseconds. */
  drain(deadline: number): void {
    const { router, agent } = this;
    const start = this.#starts;
    const gone = (): void => {
      if (this.#starts === start) this.#setRuns(false);
    };
    this.router = undefined;
    this.agent = undefined;
    const end = async (): Promise<void> => {
      await agent?.end();
      await router?.drain(deadline);
      if (router !== undefined) gone();
    };
    this.#soon(() => void end());
  }

  /** It says that it goes, and stays for now. */
  leave(): void {
    const { router } = this;
    this.#soon(() => router?.leave());
  }

  #siblings(): Pick<RouterConfig, 'siblings'> {
    const { sibling } = this.plan;
    if (sibling === undefined) return {};
    if (sibling.shares !== undefined) {
      const others = this.mate !== undefined && this.mate.#runs ? [socketOf(this.mate)] : [];
      return others.length > 0 || sibling.shares === 'expected'
        ? { siblings: { kind: 'unix', socket: socketOf(this), others, sharesPorts: true } }
        : {};
    }
    const tls = testBundle(this.index, 200 + this.siblingGeneration, this.siblingEnds, this.#site);
    const others = [{ router: sibling.router === 'main' ? 'second' : 'main', host: hostOf(sibling.index), port: SIBLING_PORT }];
    return { siblings: { kind: 'tls', port: SIBLING_PORT, tls, others } };
  }

  /** Questions to the router are asked in an event of its machine. */
  #soon(run: () => void): void {
    this.machine.network.loop.soon(this.machine, run);
  }

  #linkConfigs(): readonly LinkConfig[] {
    const { priorRevisions } = this.#plan;
    return this.links
      .filter(({ deleted }) => !deleted)
      .map((link) => ({
        name: link.name,
        endpoints: this.#endpoints(link),
        ...this.#rememberedOf(link),
        cost: link.desiredCost,
        tls: this.bundleOf(link),
        ...(priorRevisions === undefined ? {} : { priorRevisions }),
      }));
  }

  config(): RouterConfig {
    this.generationsTold.add(this.access.generation);
    this.served = new Set(this.listeners);
    for (const key of this.connectors) this.everHad.add(routingKey(key));
    const { name: bundle, cert, key: privateKey, ca } = this.serverBundle;
    const { id, key } = testSite(this.#site);
    const name = `site-${this.#site}`;
    const { special, priorRevisions } = this.#plan;
    const prior = priorRevisions === undefined ? {} : { priorRevisions };
    return {
      site: { id, name, namespace: name, platform: 'linux', version: '0.0.0' },
      siteKey: key,
      router: this.name,
      ...this.#siblings(),
      ...(this.#plan.slowPaths === undefined ? { liveness: SHORT_LIVENESS } : {}),
      edge: this.saysEdge,
      listeners: [...this.listeners]
        .sort()
        .map((number) => ({
          name: `Listener/${number}`,
          host: '127.0.0.1',
          port: listenerPort(number),
          destination: this.#destination(number),
          observer: special?.[number]?.observer ?? 'none',
          ...(this.tls.listeners.includes(number) ? { tls: { name: bundle, cert, key: privateKey } } : {}),
        })),
      connectors: [...this.connectors]
        .sort()
        .map((number): ConnectorConfig => ({
          name: `Connector/${number}`,
          routingKey: routingKey(number),
          hosts: special?.[number]?.deadHost === true ? [NOBODY, '127.0.0.1'] : ['127.0.0.1'],
          port: serverPort(number),
          ...(this.tls.servers.includes(number) ? { tls: { bundle: { name: bundle, ca }, verifyHostname: false } } : {}),
        })),
      links: this.#linkConfigs(),
      accesses: this.access.isWanted
        ? this.#places.flatMap((place) =>
            ROLES.map((role) => ({ name: `${role}-${place}`, port: accessPort(role, place), tls: this.accessBundle, role, ...prior })),
          )
        : [],
      ...(this.plan.moves === true
        ? { reachedAt: ROLES.map((role) => ({ host: hostOf(this.index), port: this.portOf(role), role })) }
        : {}),
      revoked: { sites: [...this.revokedSites], serials: [...this.revokedSerials] },
    };
  }
}
