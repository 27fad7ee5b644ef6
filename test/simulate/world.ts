import type { Router } from '../../src/router/contract.ts';
import { logInternalErrors, seam } from '../../src/telemetry/boundary.ts';
import type { Logger } from '../../src/telemetry/log.ts';
import { deadlines } from '../../src/router/deadlines.ts';
import { LOCAL_LIMITS } from '../../src/router/local/local-side.ts';
import { DEFAULT_LIMITS } from '../../src/http2/limits.ts';
import { hostOf } from './certificates.ts';
import { Liar } from './liar.ts';
import { Doorman } from './doorman.ts';
import { enter, EPOCH, readClock } from './current.ts';
import type { Endpoint } from './endpoint.ts';
import type { Event } from './history.ts';
import { inside } from './inside.ts';
import { Loop } from './loop.ts';
import { type Machine, Network, type Listener } from './network.ts';
import type { WorldPlan } from './plan.ts';
import { hashOf, Random } from './random.ts';
import { listenerPort, serverPort, Site, type DesiredLink } from './site.ts';
import { createSecureContext } from './node/secure-context.ts';
import { PROMPT, Shaker, type Manner } from './shaker.ts';
import { HEADER_BYTES, Talker, type Talk } from './traffic.ts';
import { Visitor } from './visitor.ts';

/** A connection of a client, as far as both its ends have come. */
export interface Conversation {
  readonly talk: Talk;
  /** Site at which it comes in. */
  readonly site: number;
  readonly key: number;
  /** The visitor it comes by, unless by a listener. */
  readonly visitor?: Visitor;
  /** Its client's TLS handshake, as long as that lasts. */
  shaker?: Shaker | undefined;
  /** That ended when the router had no such listener any more. */
  tooLate?: boolean;
  client?: Talker;
  server?: Talker;
  /** The site at which the server runs. */
  serverSite?: number;
  /** One of its ends was asked to leave. */
  isLeft?: boolean;
  /** The connection was refused, or closed before it began. */
  refused?: boolean;
  /** The kernel of a router that was killed has ended it: that looks like an end in order. */
  cut?: boolean;
}

const UNCONSUMED = DEFAULT_LIMITS.unconsumed;

/** The real ones, and those for fast paths and without waits of half a minute. */
const DEADLINES = { ...deadlines };
const SHORT_DEADLINES: typeof deadlines = { connect: 5_000, step: 5_000, join: 15_000, slowAttempt: 5_000 };
const LOCAL = { ...LOCAL_LIMITS };
const SHORT_LOCAL = { connect: 5_000, establish: 15_000, handshake: 10_000 };

/** Routing messages in a second, for each link and one more: half as many again as ever seen; and with a liar. */
const STORM = 80;
const LIARS_STORM = 120;

/** Sites, their machines, clients and servers. `perform` makes their events happen. */
export class World {
  readonly plan: WorldPlan;
  readonly loop: Loop;
  readonly network: Network;
  readonly sites: readonly Site[] = [];
  readonly visitor: Visitor | undefined;
  /** Machine of clients without a certificate. */
  readonly unauthenticated: Machine;
  readonly conversations = new Map<number, Conversation>();
  /** Faults that cannot be repaired. */
  readonly faults: string[] = [];
  /** Hash of all arrivals and log lines, in order. */
  digest = 0;
  /** Routers may have to refuse connections, or end some, for want of memory. */
  readonly isScarce: boolean;
  readonly hasLiar: boolean;
  /** A wall clock has run at another rate. */
  hasHurried = false;
  /** Nothing happens to it by which a connection is reset. */
  isPeaceful = false;
  /** Set at the end: a server whose handshake ends only now leaves at once. */
  isOver = false;
  readonly #servers = new Map<string, Listener>();
  readonly #random: Random;
  /** Messages of routing that have arrived in this second, and how many are too many. */
  readonly #heard = { second: 0, messages: 0 };
  readonly #storm: number;
  #calm = false;

  constructor(seed: number, plan: WorldPlan) {
    this.plan = plan;
    this.#random = new Random(seed, 2);
    this.isScarce = plan.memory !== undefined;
    // Both routers of a machine open all of its links.
    const links = plan.links.length * (plan.sites.some(({ sibling }) => sibling?.shares !== undefined) ? 2 : 1);
    this.hasLiar = plan.sites.some(({ lies }) => lies === true);
    this.#storm = (this.hasLiar ? LIARS_STORM : STORM) * (links + 1);
    this.loop = new Loop(() => this.#random.unit());
    this.network = new Network(this.loop, this.#random, (where, what) => this.#trace(where, what), plan.slowPaths?.delay);
    enter({ loop: this.loop, network: this.network, random: this.#random, sharesReads: plan.sharesReads, epoch: EPOCH });
    Object.assign(DEFAULT_LIMITS, { unconsumed: Math.max(131_072, UNCONSUMED / plan.scarcity), growth: UNCONSUMED / plan.scarcity });
    Object.assign(deadlines, plan.slowPaths === undefined ? SHORT_DEADLINES : DEADLINES);
    Object.assign(LOCAL_LIMITS, plan.slowPaths === undefined ? SHORT_LOCAL : LOCAL);
    logInternalErrors(this.#logger(-1));
    seam.seen = (error, name) => this.faults.push(`${name} threw: ${error instanceof Error ? error.stack : String(error)}`);
    const sites: Site[] = [];
    for (const [index, site] of plan.sites.entries()) {
      const { sibling } = site;
      const mate = sibling?.shares === undefined ? undefined : sites[sibling.index];
      const machine = this.network.add(`site-${index}`, hostOf(mate?.index ?? index));
      machine.isSlow = site.slow === true;
      const created = new Site(index, machine, site, plan, this.#logger(index), sites, mate);
      created.onFault = (text) => this.faults.push(text);
      sites.push(created);
    }
    this.sites = sites;
    this.#giveBundles(plan);
    this.visitor = this.#visitor(plan);
    this.unauthenticated = this.network.add('unauthenticated', '10.0.1.2');
    for (const site of this.sites) {
      for (let key = 0; key < plan.keys; key += 1) this.serve(site, key);
      const liar = site.plan.lies === true ? new Liar(this, site, seed) : undefined;
      site.onStarted = (router) => {
        this.#count(router);
        liar?.begin(router);
      };
      this.loop.at(this.#random.unit() * 100, site.machine, () => site.start());
    }
  }

  link(name: string): { readonly site: Site; readonly link: DesiredLink } | undefined {
    for (const site of this.sites) for (const link of site.links) if (link.name === name) return { site, link };
    return undefined;
  }

  serve(site: Site, key: number): void {
    const listener: Listener = {
      host: '127.0.0.1',
      port: serverPort(key),
      shared: false,
      onConnection: (endpoint) => this.#accepted(site, key, endpoint),
    };
    if (site.machine.listen(listener)) this.#servers.set(`${site.index} ${key}`, listener);
  }

  stopServing(site: Site, key: number): void {
    const listener = this.#servers.get(`${site.index} ${key}`);
    if (listener !== undefined) site.machine.close(listener);
  }

  stopServers(): void {
    for (const listeners of this.#servers.values()) for (const { machine } of this.sites) machine.close(listeners);
  }

  /** @param visitor that it comes by; by the site's listener if absent */
  talk(site: Site, key: number, talk: Talk, visitor?: Visitor): Conversation {
    const conversation: Conversation = { talk, site: site.index, key, ...(visitor === undefined ? {} : { visitor }) };
    this.conversations.set(talk.id, conversation);
    const { machine } = visitor ?? site;
    this.network.connect(machine, { host: '127.0.0.1', port: listenerPort(key) }, (endpoint) => {
      if (typeof endpoint === 'string') conversation.refused = true;
      else if (visitor === undefined && site.tls.listeners.includes(key)) this.#shake(conversation, site, endpoint);
      else this.#begin(conversation, endpoint);
    });
    return conversation;
  }

  /** From now on nothing is held up, and servers answer at once. */
  heal(): void {
    this.#calm = true;
    this.network.heal();
    for (const { machine, disk } of this.sites) {
      machine.isStarved = false;
      disk.trouble = undefined;
    }
  }

  /** A wall clock runs at another rate from now on; what it is ahead stays. */
  setClock({ machine }: Site, rate: number): void {
    const { now } = this.loop;
    this.hasHurried = true;
    machine.clock.ahead = readClock(machine, now) - now;
    machine.clock.since = now;
    machine.clock.rate = rate;
  }

  /** Ends its process, or its machine. Later acts of that router reach no peer. */
  kill(site: Site, how: 'process' | 'power' | 'drain', deadline: number): void {
    if (site.router === undefined) return;
    // A client, or a server, may be the one's or the other's of two processes.
    const isConcerned = (index: number | undefined): boolean => index === undefined || index === site.index || index === site.mate?.index;
    for (const conversation of this.conversations.values())
      if (isConcerned(conversation.site) || isConcerned(conversation.serverSite)) conversation.cut = true;
    if (how !== 'drain') {
      site.killAgent();
      if (how === 'power') site.mate?.killAgent();
    }
    if (how !== 'drain')
      for (const { endpoints } of how === 'power' ? this.network.at(site.machine.host) : [site.machine])
        for (const endpoint of endpoints) this.#kill(endpoint, how);
    this.setPower(site, how !== 'power');
    site.drain(how === 'drain' ? deadline : 0);
    if (how === 'power') site.mate?.drain(0);
  }

  setPower({ machine }: Site, isOn: boolean): void {
    for (const one of this.network.at(machine.host)) one.isOn = isOn;
  }

  /** A visitor's machine loses power: no peer is notified. */
  loseVisitor({ machine }: Visitor): void {
    for (const conversation of this.conversations.values()) if (conversation.visitor?.machine === machine) conversation.cut = true;
    for (const endpoint of machine.endpoints) endpoint.vanish();
  }

  /** One that works takes its place. */
  restart(site: Site): void {
    this.kill(site, 'process', 0);
    this.loop.after(100, undefined, () => site.start());
  }

  /** Both ends of a connection get an RST, as of a firewall that forgot it. */
  sever(endpoint: Endpoint): void {
    const { peer } = endpoint;
    for (const end of [endpoint, peer]) {
      if (end.over) continue;
      end.receiveReset();
    }
  }

  /** A router that repeatedly passes on what it receives is a storm. */
  #count(router: Router): void {
    const ear = inside(router);
    const heed = ear.routingMessage.bind(ear);
    const heard = this.#heard;
    ear.routingMessage = (link, message) => {
      const second = Math.floor(this.loop.now / 1_000);
      if (second !== heard.second) Object.assign(heard, { second, messages: 0 });
      heard.messages += 1;
      if (heard.messages === this.#storm) this.faults.push(`${heard.messages} messages of routing arrived within a second`);
      heed(link, message);
    };
  }

  #kill(endpoint: Endpoint, how: 'process' | 'power'): void {
    const { user } = endpoint;
    // Clients and servers are other processes.
    if (how === 'process' && (user instanceof Talker || user instanceof Doorman || user instanceof Shaker)) return;
    if (how === 'power') {
      endpoint.vanish();
    } else {
      endpoint.close();
      endpoint.broken = true;
      this.loop.soon(endpoint.machine, () => user.onReadable());
    }
  }

  /** Certificates that end while the world lasts. */
  #giveBundles({ renewal }: WorldPlan): void {
    for (const [name, ends] of Object.entries(renewal?.ends ?? {})) {
      const found = this.link(name);
      const to = this.sites[found?.link.to ?? -1];
      if (found !== undefined && to !== undefined) found.site.giveBundle(found.link, to, ends);
    }
  }

  #begin(conversation: Conversation, endpoint: Endpoint): void {
    const { id, client } = conversation.talk;
    conversation.client = new Talker(endpoint, id, client, true, () => {});
  }

  #visitor({ visitor, keys }: WorldPlan): Visitor | undefined {
    const found = visitor === undefined ? undefined : this.link(visitor);
    const to = this.sites[found?.link.to ?? -1];
    if (found === undefined || to === undefined) return undefined;
    const machine = this.network.add('visitor', '10.0.1.1');
    return new Visitor({ ...found, machine, keys, to, onFault: (text) => this.faults.push(text) });
  }

  #shake(conversation: Conversation, site: Site, endpoint: Endpoint): void {
    const { talk, key } = conversation;
    const shaker = new Shaker(endpoint, talk.manner ?? PROMPT, { isServer: false }, (isSecure) => {
      conversation.shaker = undefined;
      conversation.tooLate = !site.serves(key);
      if (isSecure) this.#begin(conversation, endpoint);
      else conversation.refused = true;
    });
    conversation.shaker = shaker;
    shaker.begin();
  }

  #accepted(site: Site, key: number, endpoint: Endpoint): void {
    if (!site.tls.servers.includes(key)) {
      this.#served(site, endpoint);
      return;
    }
    const shaker = new Shaker(
      endpoint,
      this.#serversManner(),
      { isServer: true, context: createSecureContext(site.serverBundle) },
      (isSecure) => {
        if (isSecure) this.#served(site, endpoint);
      },
    );
    shaker.begin();
  }

  #serversManner(): Manner {
    if (this.#calm || this.#random.chance(0.7)) return PROMPT;
    return { before: 'first', pause: this.#random.chance(0.2) ? 'ever' : this.#random.scaled(1, 3_000) };
  }

  #served(site: Site, endpoint: Endpoint): void {
    const doorman = new Doorman(endpoint, (id) => {
      const conversation = this.conversations.get(id);
      if (conversation === undefined) {
        this.faults.push(`a connection ${id} arrived that was never opened`);
        return;
      }
      if (conversation.server !== undefined) this.faults.push(`connection ${id} arrived twice`);
      if (conversation.tooLate === true) this.faults.push(`connection ${id} was let in by a listener that was gone`);
      conversation.serverSite = site.index;
      conversation.server = new Talker(endpoint, id, conversation.talk.server, false, () => {}, HEADER_BYTES);
      if (this.isOver) conversation.server.leave('close');
    });
    endpoint.user = doorman;
    // It may have come before it was accepted.
    doorman.onReadable();
  }

  #trace(where: string, what: Uint8Array | string): void {
    let sum = Math.imul(this.digest ^ hashOf(where), 0x01000193) ^ Math.floor(this.loop.now * 1_000);
    if (typeof what === 'string') sum = Math.imul(sum ^ hashOf(what), 0x01000193);
    else sum = Math.imul(sum ^ what.length ^ ((what[0] ?? 0) << 8) ^ ((what.at(-1) ?? 0) << 16), 0x01000193);
    this.digest = sum >>> 0;
    if (this.onTrace !== undefined)
      this.onTrace(`${this.loop.now.toFixed(3)} ${where} ${typeof what === 'string' ? what : `${what.length} bytes`}`);
  }

  onTrace: ((line: string) => void) | undefined;

  #logger(index: number): Logger {
    const { plan } = this;
    const say =
      (level: string) =>
      (fields: Readonly<Record<string, unknown>> | string, message?: string): void => {
        const text = typeof fields === 'string' ? fields : (message ?? '');
        const error = typeof fields === 'string' ? undefined : fields['error'];
        const shown = error instanceof Error ? `${text}: ${error.message}` : text;
        this.#trace(`site-${index}`, `${level} ${shown}`);
        if (plan.slowPaths !== undefined && this.isPeaceful && /The peer sent nothing/.test(JSON.stringify(fields)))
          this.faults.push(`site-${index} gave a connection up that a slow path had kept: ${JSON.stringify(fields)}`);
        // Whatever its clients do, no honest router finds fault with another's frames.
        if (/ENHANCE_YOUR_CALM|(PROTOCOL|FLOW_CONTROL|FRAME_SIZE|COMPRESSION)_ERROR/.test(JSON.stringify(fields)))
          this.faults.push(`site-${index}: ${JSON.stringify(fields)}`);
      };
    const logger = { isLevelEnabled: () => false, trace() {}, debug() {}, info: say('info'), warn: say('warn'), error: say('error') };
    // As much of a logger as the router uses.
    return logger as unknown as Logger;
  }
}

export type { Event };
