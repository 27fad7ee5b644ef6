import { siteIdOf } from '../../src/identity/site-id.ts';
import type { Router } from '../../src/router/contract.ts';
import type { Link } from '../../src/router/link/link.ts';
import { writeEndpoints } from '../../src/router/link/session/announced-endpoints.ts';
import { readMessage, writeRecords, writeSummary, type AgedRecord } from '../../src/routing/codec.ts';
import { bodyOf, readRecord, writeAbout, writeKey, writeNeighbour, writeRecord } from '../../src/routing/record.ts';
import { LINK_MESSAGES_FROM } from '../../src/router/wire.ts';
import { hostOf, testSite } from './certificates.ts';
import { wallClockOf } from './current.ts';
import { inside } from './inside.ts';
import type { Loop } from './loop.ts';
import { Random } from './random.ts';
import type { Site } from './site.ts';

/** The world around it. */
interface Surroundings {
  readonly loop: Loop;
  readonly sites: readonly Site[];
}

/** Routers that it invents: more than others have room for (`scale.ts`). */
const SYBILS = 40;
/** Their sites are none of the world's. */
const SYBIL_SITES = 1_000;
/** Messages that it has heard, for replays. */
const REMEMBERED = 64;
/** Milliseconds between two lies. */
const PAUSE = 400;
/** Bytes of a message. */
const LONGEST = 20_000;
/** As much as is said of a router, so that there is too much of that before there are too many routers. */
const PADDING = Buffer.concat([Buffer.of(99, 8, 0), Buffer.alloc(2_048)]);

/**
 * A site that is linked as all others are and announces what it likes: its router takes part, except for its announcements. What it receives it
 * passes on, or not, or later; it claims links to invented routers and to other real ones; it announces endpoints of its own
 * that belong to others.
 */
export class Liar {
  readonly #world: Surroundings;
  readonly #site: Site;
  readonly #random: Random;
  readonly #heard: Buffer[] = [];
  /** How messages are sent as they are. */
  readonly #plainly = new WeakMap<Link['routing'], (message: Buffer) => void>();
  #counter = 0;

  constructor(world: Surroundings, site: Site, seed: number) {
    this.#world = world;
    this.#site = site;
    this.#random = new Random(seed, 3);
  }

  /** From now on this router of the site lies. */
  begin(router: Router): void {
    const own = inside(router);
    const add = own.links.add.bind(own.links);
    own.links.add = (link) => {
      this.#tamper(link);
      add(link);
    };
    const routingMessage = own.routingMessage.bind(own);
    own.routingMessage = (link, message) => {
      this.#heard[this.#random.int(0, REMEMBERED - 1)] = message;
      routingMessage(link, message);
    };
    const { loop } = this.#world;
    const act = (): void => {
      if (this.#site.router !== router) return;
      for (const link of own.links.all) if (link.state === 'up') this.#lie(link);
      loop.after(this.#random.int(1, 2 * PAUSE), this.#site.machine, act);
    };
    act();
  }

  #tamper({ routing }: Link): void {
    const send = routing.send.bind(routing);
    this.#plainly.set(routing, send);
    routing.send = (message) => {
      for (const told of this.#twist(Buffer.from(message))) send(told);
    };
  }

  #twist(message: Buffer): readonly Buffer[] {
    if ((message[0] ?? 0) >= LINK_MESSAGES_FROM) return [message];
    const read = readMessage(message);
    if (read.kind !== 'records') return this.#random.chance(0.2) ? [] : [message];
    const told = read.records.flatMap(({ bytes }) => {
      const own = this.#own(bytes);
      return own === undefined && this.#random.chance(0.4) ? [] : [{ age: this.#age(), bytes: own ?? bytes }];
    });
    return writeRecords(told, LONGEST);
  }

  #lie({ routing, dialed }: Link): void {
    const random = this.#random;
    const invented = Array.from({ length: random.int(0, 12) }, () => this.#invent(random.int(0, SYBILS - 1)));
    for (const message of writeRecords(invented, LONGEST)) routing.send(message);
    const heard = random.pick(this.#heard);
    if (heard !== undefined && random.chance(0.1)) this.#plainly.get(routing)?.(this.#forge(heard));
    if (heard !== undefined && random.chance(0.5)) routing.send(heard);
    if (random.chance(0.1)) routing.send(writeSummary([]));
    const other = random.pick(this.#world.sites);
    if (!dialed && other !== undefined && random.chance(0.1))
      routing.send(writeEndpoints([{ host: hostOf(other.index), port: other.portOf('inter-router') }]));
  }

  /** A received message, with one bit changed. */
  #forge(heard: Buffer): Buffer {
    const forged = Buffer.from(heard);
    const at = this.#random.int(0, forged.length - 1);
    forged[at] = (forged[at] ?? 0) ^ 1;
    return forged;
  }

  #invent(number: number): AgedRecord {
    const { key } = sybilSite(number);
    this.#counter += 1;
    const fields = [
      writeAbout({ name: 'sybil', namespace: '', platform: '', version: '', edge: false }),
      writeNeighbour({ router: this.#self, cost: 1, link: `of-${number}` }),
      ...[1, SYBILS - 1].map((far) => writeNeighbour({ router: sybil((number + far) % SYBILS), cost: 1, link: `to-${far}` })),
      ...this.#listed,
      writeKey({ routingKey: 'lies', connectors: 9, listeners: 9 }),
      ...(this.#random.chance(0.2) ? [PADDING] : []),
    ];
    const head = { router: routerOf(number), epoch: wallClockOf(this.#site.machine), counter: this.#counter, part: this.#random.int(0, 1) };
    return { age: this.#age(), bytes: writeRecord(head, fields, key) };
  }

  /** In place of its own record, and of no other: next to all that it invents. */
  #own(bytes: Buffer): Buffer | undefined {
    const record = readRecord(bytes);
    if (record?.router !== this.#self || record.part !== 0) return undefined;
    const sybils = Array.from({ length: SYBILS }, (_, number) => writeNeighbour({ router: sybil(number), cost: 1, link: `of-${number}` }));
    const fields = [bodyOf(record), ...this.#listed, ...sybils.slice(0, this.#random.int(SYBILS / 2, SYBILS))];
    const { epoch, counter } = record;
    return writeRecord({ router: this.#site.name, epoch, counter, part: 0 }, fields, testSite(this.#site.index).key);
  }

  /** All of the world, as neighbours. */
  get #listed(): readonly Buffer[] {
    return this.#world.sites.map((site) => writeNeighbour({ router: idOf(site), cost: 1, link: `to-${site.index}` }));
  }

  get #self(): string {
    return idOf(this.#site);
  }

  #age(): number {
    return this.#random.pick([0, 0, 6, 17, 18, 65_535]);
  }
}

const idOf = ({ id, name }: Site): string => `${id}/${name}`;
/** Every second one is of one site, the others each of its own. */
const sybilSite = (number: number): ReturnType<typeof testSite> => testSite(SYBIL_SITES + (number % 2 === 0 ? 0 : number));
const routerOf = (number: number): string => (number % 2 === 0 ? `r${number}` : 'main');
const sybil = (number: number): string => `${siteIdOf(sybilSite(number).key.publicKey)}/${routerOf(number)}`;
