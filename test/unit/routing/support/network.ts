import type { Buffer } from 'node:buffer';
import { createHash } from 'node:crypto';
import type { SiteIdentity, SiteKey } from '../../../../src/router/contract.ts';
import type { Adjacency, OwnFacts, Outgoing, Routing, RoutingLimits } from '../../../../src/routing/contract.ts';
import { createRouting } from '../../../../src/routing/routing.ts';
import { siteIdOf } from '../../../../src/identity/site-id.ts';

/**
 * Routers in one process with links that keep their order and can be cut. Signatures are digests that anyone can make: what
 * real ones add is tested apart.
 */
export class TestNetwork {
  now = 1_700_000_000_000;
  /** Messages that were delivered but for summaries, which go over each link now and then, whatever happens. */
  delivered = 0;
  /** The most of them that were delivered in one second of `pass`. */
  busiest = 0;
  /** Bytes of those that were sent. */
  bytes = 0;
  /** The longest message that any router sent. */
  longest = 0;
  /** The most links that there were at once. */
  mostLinks = 0;
  /** Replacement of a message on a link. */
  tamper: (from: string, link: TestLink, message: Buffer) => readonly Buffer[] = (_from, _link, message) => [message];
  readonly #limits: Partial<RoutingLimits>;
  readonly #remember: number;
  /** Records that were sent, for replays. */
  readonly #sent: Buffer[] = [];
  readonly #nodes = new Map<string, Node>();
  readonly #links = new Map<string, TestLink>();

  constructor(names: readonly string[], limits: Partial<RoutingLimits> = {}, options: { readonly remember?: number } = {}) {
    this.#limits = limits;
    this.#remember = options.remember ?? 0;
    for (const name of names) this.start(name);
  }

  get links(): readonly TestLink[] {
    return [...this.#links.values()];
  }

  get names(): readonly string[] {
    return [...this.#nodes.keys()];
  }

  routing(name: string): Routing {
    return this.#node(name).routing;
  }

  factsOf(name: string): OwnFacts {
    return this.#node(name).facts;
  }

  id(name: string): string {
    return `${siteIdOf(testKey(siteName(name)).publicKey)}/${routerName(name)}`;
  }

  /** Starts a router, or restarts it with nothing in its memory; its links are gone. */
  start(name: string, now = this.now): void {
    for (const link of this.links) if (link.ends.includes(name)) this.cut(link.name);
    const siteKey = testKey(siteName(name));
    const site = testSite(siteName(name));
    const routing = createRouting({ router: routerName(name), site, siteKey, verify: testVerify, limits: this.#limits });
    const facts = this.#nodes.get(name)?.facts ?? { edge: false, keys: [] };
    this.#nodes.set(name, { routing, site, facts, offset: now - this.now });
    routing.setFacts(facts, now);
  }

  facts(name: string, facts: OwnFacts): void {
    const node = this.#node(name);
    node.facts = facts;
    this.#send(name, node.routing.setFacts(facts, this.#time(node)));
  }

  /** Brings a link up, or changes its cost. @param confines the end that confines the other, if one does */
  link(left: string, right: string, cost: number, name = `${left}-${right}`, confines?: string): void {
    this.#links.set(name, {
      name,
      ends: [left, right],
      cost,
      confines,
      queues: this.#links.get(name)?.queues ?? { [left]: [], [right]: [] },
    });
    this.mostLinks = Math.max(this.mostLinks, this.#links.size);
    for (const [here, there] of [
      [left, right],
      [right, left],
    ] as const) {
      const node = this.#node(here);
      const adjacency: Adjacency = { router: this.id(there), site: this.#node(there).site, link: name, cost, confined: here === confines };
      this.#send(here, node.routing.adjacencyUp(adjacency, this.#time(node)));
    }
  }

  /** At one end nothing has come over the link for a while, or something comes again. */
  silence(name: string, at: string, isSilent: boolean): void {
    const link = this.#links.get(name);
    const there = link?.ends.find((end) => end !== at);
    if (link === undefined || there === undefined) throw new Error(`There is no link ${name} at ${at}.`);
    const node = this.#node(at);
    const adjacency: Adjacency = { router: this.id(there), site: this.#node(there).site, link: name, cost: link.cost, isSilent };
    this.#send(at, node.routing.adjacencyUp(adjacency, this.#time(node)));
  }

  /** Cuts a link; what was on it is lost. */
  cut(name: string): void {
    const link = this.#links.get(name);
    if (link === undefined) return;
    this.#links.delete(name);
    for (const end of link.ends) {
      const node = this.#node(end);
      this.#send(end, node.routing.adjacencyDown(name, this.#time(node)));
    }
  }

  /** Delivers the oldest message on some link. `choose` gets a number and returns a smaller one. @returns false where none waits */
  deliver(choose: (count: number) => number = () => 0): boolean {
    const waiting = this.links.flatMap((link) => link.ends.flatMap((end) => ((link.queues[end]?.length ?? 0) > 0 ? [{ link, end }] : [])));
    const chosen = waiting[choose(waiting.length)];
    if (chosen === undefined) return false;
    const message = chosen.link.queues[chosen.end]?.shift();
    if (message === undefined) return false;
    if (!isSummary(message)) this.delivered += 1;
    this.inject(chosen.end, chosen.link.name, message);
    return true;
  }

  /** Gives a router a message as if it came over that link. */
  inject(name: string, link: string, message: Buffer): void {
    const node = this.#node(name);
    this.#send(name, node.routing.receive(link, message, this.#time(node)));
    this.#goOn(name, node);
  }

  /** That router sends a message of anyone's again, over one of its links. */
  replay(from: string, message: number, link: number): void {
    const old = this.#sent[message % Math.max(1, this.#sent.length)];
    if (old !== undefined) this.send(from, link, old);
  }

  /** That router sends this message over one of its links, if it has one. */
  send(from: string, link: number, message: Buffer): void {
    const links = this.links.filter(({ ends }) => ends.includes(from));
    const over = links[link % Math.max(1, links.length)];
    if (over !== undefined) over.queues[over.ends.find((end) => end !== from) ?? '']?.push(message);
  }

  /** Lets time pass, in steps of a second, with all messages delivered between. */
  pass(milliseconds: number, choose?: (count: number) => number): void {
    for (let left = milliseconds; left > 0; left -= 1000) {
      this.now += Math.min(left, 1000);
      for (const [name, node] of this.#nodes) {
        this.#send(name, node.routing.tick(this.#time(node)));
        this.#goOn(name, node);
      }
      const before = this.delivered;
      while (this.deliver(choose));
      this.busiest = Math.max(this.busiest, this.delivered - before);
    }
  }

  /** Until nothing is on any link and nothing is held back. */
  converge(choose?: (count: number) => number): void {
    while (this.deliver(choose));
    for (let before = -1; before !== this.delivered;) {
      before = this.delivered;
      this.pass(20_000, choose);
    }
  }

  #goOn(name: string, node: Node): void {
    while (node.routing.waiting === 'a turn') this.#send(name, node.routing.release(this.#time(node)));
  }

  #send(from: string, outgoing: readonly Outgoing[]): void {
    for (const { link: name, message } of outgoing) {
      if (!isSummary(message)) this.bytes += message.length;
      this.longest = Math.max(this.longest, message.length);
      if (this.#sent.length < this.#remember) this.#sent.push(message);
      const link = this.#links.get(name);
      const to = link?.ends.find((end) => end !== from);
      if (link !== undefined && to !== undefined) link.queues[to]?.push(...this.tamper(from, link, message));
    }
  }

  #node(name: string): Node {
    const node = this.#nodes.get(name);
    if (node === undefined) throw new Error(`no router ${name}`);
    return node;
  }

  #time(node: Node): number {
    return this.now + node.offset;
  }
}

function isSummary(message: Buffer): boolean {
  return message[0] === 1;
}

export interface TestLink {
  readonly name: string;
  readonly ends: readonly [string, string];
  readonly cost: number;
  /** The end that lets nothing pass through the other over this link. */
  readonly confines: string | undefined;
  /** By receiver, oldest first. */
  readonly queues: Readonly<Record<string, Buffer[]>>;
}

interface Node {
  readonly routing: Routing;
  readonly site: SiteIdentity;
  facts: OwnFacts;
  /** How far its clock is ahead. */
  readonly offset: number;
}

/** A key whose signatures anyone can check and make: a digest of key and message. */
export function testKey(site: string): SiteKey {
  const publicKey = createHash('sha256').update(site).digest();
  return { publicKey, sign: (message) => digest(publicKey, message) };
}

export function testVerify(publicKey: Buffer, message: Buffer, signature: Buffer): boolean {
  return digest(publicKey, message).equals(signature);
}

export function testSite(name: string): SiteIdentity {
  return { id: siteIdOf(testKey(name).publicKey), name, namespace: 'test', platform: 'linux', version: '1' };
}

/** `site` or `site/router`; the text after a # distinguishes copies of it. */
function siteName(name: string): string {
  return /^[^/#]*/.exec(name)?.[0] ?? name;
}

function routerName(name: string): string {
  return /\/([^#]*)/.exec(name)?.[1] ?? 'r';
}

function digest(publicKey: Buffer, message: Uint8Array): Buffer {
  return createHash('sha512').update(publicKey).update(message).digest();
}
