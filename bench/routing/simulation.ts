import { Buffer } from 'node:buffer';
import { createHash } from 'node:crypto';
import type { SiteIdentity, SiteKey } from '../../src/router/contract.ts';
import type { OwnFacts, Outgoing, Routing } from '../../src/routing/contract.ts';
import { readRecord, signatureOf } from '../../src/routing/record.ts';
import type { RouteRecord } from '../../src/routing/record.ts';
import { createRouting } from '../../src/routing/routing.ts';
import { siteIdOf } from '../../src/identity/site-id.ts';
import { EventQueue } from './event-queue.ts';
import type { Topology, TopologyLink } from './topology.ts';

/** Messages on all links, and their cost, since the counters were last read. */
export interface Traffic {
  readonly messages: number;
  /** With the four bytes that frame a message on a link. */
  readonly bytes: number;
  /** Signatures that all routers together would have checked. */
  readonly checks: number;
  /** Virtual milliseconds from the beginning to the last change of any router's answers. */
  readonly converged: number;
  /** Processor milliseconds of all routers together, signatures not counted. */
  readonly cpu: number;
}

/**
 * All routers of a network in one process, by a virtual clock. Links have a delay and keep order; they have no bandwidth and
 * the routers take no time. Signatures are digests, counted but never wrong. Routers share the objects of equal records,
 * which are immutable, so a thousand of them fit.
 */
export class Simulation {
  readonly topology: Topology;
  readonly #routers: Routing[] = [];
  readonly #epochs: number[] = [];
  readonly #keysOf: (site: number) => OwnFacts['keys'];
  readonly #up = new Set<TopologyLink>();
  readonly #queue = new EventQueue<SimulationEvent>();
  readonly #linksOf: readonly TopologyLink[][];
  readonly #names: ReadonlyMap<TopologyLink, string>;
  /** By signature. */
  #records = new Map<string, RouteRecord>();
  #now = 1_700_000_000_000;
  #counted = { messages: 0, bytes: 0, checks: 0 };
  #since = { now: this.#now, cpu: process.cpuUsage(), changed: this.#now };

  constructor(topology: Topology, keysOf: (site: number) => OwnFacts['keys']) {
    this.topology = topology;
    this.#keysOf = keysOf;
    this.#names = new Map(topology.links.map((link) => [link, `link-${link.ends.join('-')}`]));
    this.#linksOf = Array.from({ length: topology.sites }, (_, site) => topology.links.filter(({ ends }) => ends.includes(site)));
    for (let site = 0; site < topology.sites; site += 1) this.start(site);
  }

  router(site: number): Routing {
    const router = this.#routers[site];
    if (router === undefined) throw new RangeError(`no site ${site}`);
    return router;
  }

  routerId(site: number): string {
    return this.router(site).self;
  }

  /** Starts a site's router with an empty memory. Its links must be down. */
  start(site: number): void {
    const siteKey = keyOf(site);
    const identity = identityOf(site, siteKey);
    const verify = (): boolean => {
      this.#counted.checks += 1;
      return true;
    };
    this.#routers[site] = createRouting({ router: 'router', site: identity, siteKey, verify }, (bytes) => this.#read(bytes));
    this.#epochs[site] = this.#now;
    this.facts(site, this.#keysOf(site));
    // Their seconds do not begin together.
    this.#queue.push(this.#now + ((site * 7919) % 1000), { kind: 'tick', site, started: this.#now });
  }

  facts(site: number, keys: OwnFacts['keys']): void {
    this.#send(site, this.router(site).setFacts({ edge: this.topology.edge.has(site), keys }, this.#now));
  }

  /** Brings a link up, after so many milliseconds. */
  up(link: TopologyLink, after = 0): void {
    this.#queue.push(this.#now + after, { kind: 'up', link });
  }

  down(link: TopologyLink): void {
    this.#up.delete(link);
    for (const end of link.ends) this.#send(end, this.router(end).adjacencyDown(this.#nameOf(link), this.#now));
  }

  linksOf(site: number): readonly TopologyLink[] {
    return this.#linksOf[site] ?? [];
  }

  /** Lets so much virtual time pass. */
  run(milliseconds: number): void {
    const end = this.#now + milliseconds;
    for (let next = this.#queue.pop(end); next !== undefined; next = this.#queue.pop(end)) {
      this.#now = next.time;
      this.#happen(next.event);
    }
    this.#now = end;
  }

  /** Events since the last call. */
  count(): Traffic {
    const { user, system } = process.cpuUsage(this.#since.cpu);
    const traffic = { ...this.#counted, converged: this.#since.changed - this.#since.now, cpu: (user + system) / 1000 };
    this.#counted = { messages: 0, bytes: 0, checks: 0 };
    this.#since = { now: this.#now, cpu: process.cpuUsage(), changed: this.#now };
    return traffic;
  }

  /** All newest records, each once. */
  get records(): readonly RouteRecord[] {
    const newest = new Map<string, RouteRecord>();
    for (const record of this.#records.values()) {
      const held = newest.get(`${record.router} ${record.part}`);
      if (held === undefined || record.epoch > held.epoch || (record.epoch === held.epoch && record.counter > held.counter))
        newest.set(`${record.router} ${record.part}`, record);
    }
    return [...newest.values()].sort((left, right) => left.part - right.part);
  }

  #happen(event: SimulationEvent): void {
    switch (event.kind) {
      case 'tick': {
        if (this.#epochs[event.site] !== event.started) return;
        this.#queue.push(this.#now + 1000, event);
        this.#call(event.site, (router) => router.tick(this.#now));
        break;
      }
      case 'up': {
        this.#up.add(event.link);
        const { cost } = event.link;
        for (const [here, there] of [event.link.ends, event.link.ends.toReversed()]) {
          if (here === undefined || there === undefined) continue;
          const adjacency = { router: this.routerId(there), site: identityOf(there, keyOf(there)), link: this.#nameOf(event.link), cost };
          this.#call(here, (router) => router.adjacencyUp(adjacency, this.#now));
        }
        break;
      }
      case 'message': {
        const { link, to, message, sent } = event;
        // Messages on a closed link, or on a link from before the router restarted, are lost.
        if (this.#up.has(link) && link.ends.every((end) => (this.#epochs[end] ?? 0) <= sent)) {
          this.#call(to, (router) => router.receive(this.#nameOf(link), message, this.#now));
        }
        break;
      }
    }
  }

  #call(site: number, call: (router: Routing) => readonly Outgoing[]): void {
    const router = this.router(site);
    const { version } = router;
    this.#send(site, call(router));
    while (router.waiting === 'a turn') this.#send(site, router.release(this.#now));
    if (router.version !== version) this.#since.changed = this.#now;
  }

  #send(site: number, outgoing: readonly Outgoing[]): void {
    for (const { link: name, message } of outgoing) {
      const link = this.#linksOf[site]?.find((candidate) => this.#nameOf(candidate) === name);
      if (link === undefined || !this.#up.has(link)) continue;
      const to = link.ends[0] === site ? link.ends[1] : link.ends[0];
      this.#counted.messages += 1;
      this.#counted.bytes += message.length + 4;
      this.#queue.push(this.#now + link.delay, { kind: 'message', link, to, message, sent: this.#now });
    }
  }

  #nameOf(link: TopologyLink): string {
    return this.#names.get(link) ?? '';
  }

  #read(bytes: Buffer): RouteRecord | undefined {
    const name = signatureOf(bytes).toString('latin1');
    const known = this.#records.get(name);
    if (known !== undefined) return known;
    const record = readRecord(Buffer.from(bytes));
    if (record !== undefined) this.#records.set(name, record);
    return record;
  }
}

type SimulationEvent =
  | { readonly kind: 'tick'; readonly site: number; readonly started: number }
  | { readonly kind: 'up'; readonly link: TopologyLink }
  | { readonly kind: 'message'; readonly link: TopologyLink; readonly to: number; readonly message: Buffer; readonly sent: number };

function keyOf(site: number): SiteKey {
  const publicKey = createHash('sha256').update(`site ${site}`).digest();
  return { publicKey, sign: (message) => createHash('sha512').update(publicKey).update(message).digest() };
}

function identityOf(site: number, key: SiteKey): SiteIdentity {
  return { id: siteIdOf(key.publicKey), name: `site-${site}`, namespace: 'default', platform: 'linux', version: '0.1.0' };
}
