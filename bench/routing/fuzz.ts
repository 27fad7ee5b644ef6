/**
 * Feeds a router bytes that no honest peer sends: `node bench/routing/fuzz.ts [CASES] [SEED]`. Noise, mutated real messages, and
 * well-formed messages with absurd contents. Each may be taken or end the link with a RoutingError; nothing else, and nothing
 * may grow beyond the limits. Signatures count as right in every second round, so that what is behind them is reached too.
 */
import { Buffer } from 'node:buffer';
import { pathToFileURL } from 'node:url';
import { wordsOf } from '../../scripts/arguments.ts';
import type { SiteKey } from '../../src/router/contract.ts';
import type { Adjacency, Outgoing, Routing, RoutingLimits } from '../../src/routing/contract.ts';
import { writeDigest, writeRecords, writeRequest, writeSummary } from '../../src/routing/codec.ts';
import { RoutingError } from '../../src/routing/errors.ts';
import { writeAbout, writeKey, writeNeighbour, writeRecord } from '../../src/routing/record.ts';
import { createRouting } from '../../src/routing/routing.ts';
import { siteIdOf } from '../../src/identity/site-id.ts';
import { Random } from './random.ts';

export interface FuzzResult {
  readonly cases: number;
  readonly cut: number;
  readonly accepted: number;
  readonly refused: number;
  readonly malformed: number;
  readonly postponed: number;
  /** Most that one message brought about, in bytes. */
  readonly mostOutgoing: number;
  readonly mostRouters: number;
}

const limits: RoutingLimits = {
  routers: 24,
  routersOfSite: 3,
  keysOfRouter: 64,
  neighboursOfRouter: 16,
  neighbours: 100,
  keys: 500,
  messageBytes: 8192,
  databaseBytes: 200_000,
};

/** @throws Error at the first thing that must not be, with the case and the message in hex */
export function fuzz(cases: number, seed: number): FuzzResult {
  const random = new Random(seed);
  const sum = { cases: 0, cut: 0, accepted: 0, refused: 0, malformed: 0, postponed: 0, mostOutgoing: 0, mostRouters: 0 };
  for (let round = 0; sum.cases < cases; round += 1) {
    const victim = new Victim(round % 2 === 0);
    const corpus = makeCorpus(random);
    for (let left = Math.min(roundCases, cases - sum.cases); left > 0; left -= 1) {
      const message = makeMessage(random, corpus);
      sum.cases += 1;
      try {
        sum.cut += victim.take(random.pick(victim.links), message, random.below(50)) ? 0 : 1;
      } catch (error) {
        throw new Error(`case ${sum.cases} of seed ${seed}: ${message.toString('hex')}`, { cause: error });
      }
    }
    const { accepted, refused, malformed, postponed } = victim.routing.counters;
    sum.accepted += accepted;
    sum.refused += refused;
    sum.malformed += malformed;
    sum.postponed += postponed;
    sum.mostOutgoing = Math.max(sum.mostOutgoing, victim.mostOutgoing);
    sum.mostRouters = Math.max(sum.mostRouters, victim.mostRouters);
  }
  return sum;
}

const roundCases = 2000;

class Victim {
  readonly links = ['left', 'right', 'up'];
  readonly routing: Routing;
  mostOutgoing = 0;
  mostRouters = 0;
  #now = 1_700_000_000_000;
  #taken = 0;

  constructor(trusting: boolean) {
    const siteKey = keyOf(0);
    const site = { id: siteIdOf(siteKey.publicKey), name: 'victim', namespace: 'fuzz', platform: 'linux', version: '1' };
    this.routing = createRouting({ router: 'r', site, siteKey, limits, verify: () => trusting });
    this.#check(this.routing.setFacts({ edge: false, keys: [{ routingKey: 'key-1', connectors: 1, listeners: 1 }] }, this.#now));
    for (const link of this.links) this.#up(link);
  }

  /** @returns false where the link was cut off for it */
  take(link: string, message: Buffer, milliseconds: number): boolean {
    this.#now += milliseconds;
    this.#taken += 1;
    let fine = true;
    try {
      this.#check(this.routing.receive(link, message, this.#now));
    } catch (error) {
      if (!(error instanceof RoutingError)) throw error;
      fine = false;
      this.#check(this.routing.adjacencyDown(link, this.#now));
      this.#up(link);
    }
    if (this.#taken % 50 === 0) {
      this.#check(this.routing.tick(this.#now));
      this.#ask();
    }
    return fine;
  }

  #up(link: string): void {
    const adjacency: Adjacency = {
      router: `${siteIdOf(keyOf(1 + this.links.indexOf(link)).publicKey)}/r`,
      site: { id: siteIdOf(keyOf(1).publicKey), name: link, namespace: '', platform: '', version: '' },
      link,
      cost: 1,
    };
    this.#check(this.routing.adjacencyUp(adjacency, this.#now));
  }

  #ask(): void {
    const network = this.routing.network();
    this.mostRouters = Math.max(this.mostRouters, network.length);
    if (network.length > limits.routers * (17 / 16) + 1) throw new Error(`${network.length} routers are held`);
    const held = (count: (router: (typeof network)[number]) => number): number => network.reduce((sum, router) => sum + count(router), 0);
    if (held(({ links }) => links.length) > limits.neighbours * (17 / 16)) throw new Error('more neighbours are held than may be');
    if (held(({ keys }) => keys.length) > limits.keys * (17 / 16)) throw new Error('more keys are held than may be');
    for (const { keys, links } of network) {
      if (keys.length > limits.keysOfRouter || links.length > limits.neighboursOfRouter) throw new Error('a router holds more than it may');
      for (const { routingKey } of keys.slice(0, 3)) {
        for (const { path } of this.routing.destinations(routingKey)) {
          if (new Set(path).size !== path.length || path.includes(this.routing.self))
            throw new Error(`a path visits a router twice: ${path.join(' ')}`);
        }
      }
    }
  }

  #check(outgoing: readonly Outgoing[]): void {
    let bytes = 0;
    for (const { message } of outgoing) {
      bytes += message.length;
      if (message.length > limits.messageBytes) throw new Error(`a message of ${message.length} bytes is sent`);
    }
    this.mostOutgoing = Math.max(this.mostOutgoing, bytes);
    // At most: 256 requested records, or all records over each link, and digests beside.
    if (bytes > 2_000_000) throw new Error(`one call sends ${bytes} bytes`);
  }
}

function keyOf(number: number): SiteKey {
  const publicKey = Buffer.alloc(32, number);
  return { publicKey, sign: (message) => Buffer.alloc(64, (message.length * 31 + number) & 0xff) };
}

function makeMessage(random: Random, corpus: readonly Buffer[]): Buffer {
  switch (random.below(10)) {
    case 0:
      return random.bytes(random.below(200));
    case 1: {
      const message = random.bytes(1 + random.below(600));
      message.writeUInt8(1 + random.below(6));
      return message;
    }
    case 2:
      return Buffer.alloc(limits.messageBytes + random.below(3) - 1, 1 + random.below(6));
    case 3:
      return random.pick(corpus);
    case 4:
      return makeRecords(random);
    default:
      return mutate(random, random.pick(corpus));
  }
}

function mutate(random: Random, message: Buffer): Buffer {
  let bytes = Buffer.from(message);
  for (let left = 1 + random.below(4); left > 0 && bytes.length > 0; left -= 1) {
    const at = random.below(bytes.length);
    switch (random.below(6)) {
      case 0:
        bytes[at] = random.below(256);
        break;
      case 1:
        bytes[at] = (bytes[at] ?? 0) ^ (1 << random.below(8));
        break;
      case 2:
        bytes = bytes.subarray(0, at);
        break;
      case 3:
        bytes = Buffer.concat([bytes.subarray(0, at), random.bytes(random.below(8)), bytes.subarray(at)]);
        break;
      case 4:
        bytes = Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + random.below(8))]);
        break;
      default:
        bytes = Buffer.concat([bytes, bytes.subarray(at)]);
    }
  }
  return bytes;
}

const texts = ['', 'a', 'key-1', 'schlüssel', '\u0000', 'a\nb', '\u202e', '💥'.repeat(60), 'x'.repeat(253), ' ', '__proto__', '../../etc'];

function makeRecords(random: Random): Buffer {
  const records = Array.from({ length: 1 + random.below(3) }, () => ({
    age: random.below(10) === 0 ? 65_535 : random.below(100),
    bytes: makeRecord(random),
  }));
  return writeRecords(records, limits.messageBytes)[0] ?? Buffer.alloc(0);
}

function makeRecord(random: Random): Buffer {
  const fields: Buffer[] = [];
  const text = (): string => (random.below(12) === 0 ? random.pick(texts) : `text-${random.below(20)}`);
  const part = random.pick([0, 0, 1, 2, 4095]);
  if (part === 0 || random.below(8) === 0)
    fields.push(writeAbout({ name: text(), namespace: text(), platform: text(), version: text(), edge: random.below(2) === 0 }));
  for (let left = random.below(6); left > 0; left -= 1) {
    const router = `${siteIdOf(keyOf(random.below(6)).publicKey)}/r`;
    fields.push(writeNeighbour({ router, cost: random.pick([1, 1, 2, 3, 1000, 65_535, random.below(3)]), link: text() }));
  }
  for (let left = random.below(8); left > 0; left -= 1) {
    fields.push(
      writeKey({
        routingKey: random.below(4) === 0 ? text() : `key-${random.below(100)}`,
        connectors: random.below(65_536),
        listeners: random.below(3),
      }),
    );
  }
  const rare = random.below(200) === 0;
  const epoch = rare ? random.pick([0, 2 ** 48 - 1]) : random.below(20);
  const counter = rare ? random.pick([0, 2 ** 32 - 1]) : random.below(1000);
  return writeRecord(
    { router: random.pick(['r', 'r', 'r', 'q']), epoch, counter, part },
    fields,
    keyOf(random.below(random.below(8) === 0 ? 60 : 6)),
  );
}

function makeCorpus(random: Random): Buffer[] {
  const router = `${siteIdOf(keyOf(1).publicKey)}/r`;
  const versions = [{ router, epoch: 7, parts: Array.from({ length: 20 }, (_, part) => ({ part, counter: 9, check: 1 })) }];
  return [
    writeSummary(Array.from({ length: 64 }, () => BigInt(random.below(2)))),
    ...writeDigest(true, new Set([1, 2, 63]), versions, 4096),
    ...writeDigest(false, new Set(Array.from({ length: 64 }, (_, bucket) => bucket)), versions, 4096),
    writeRequest([{ router, parts: Array.from({ length: 200 }, (_, part) => part) }]),
    writeRequest([{ router: `${siteIdOf(keyOf(0).publicKey)}/r`, parts: [0, 1, 2] }]),
    Buffer.of(5),
    ...Array.from({ length: 12 }, () => makeRecords(random)),
  ];
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const [cases = 1_000_000, seed = 1] = wordsOf('node bench/routing/fuzz.ts [CASES [SEED]]', 2).map(Number);
  const began = performance.now();
  const result = fuzz(cases, seed);
  const { heapUsed } = process.memoryUsage();
  console.log({ seed, ...result, seconds: Math.round((performance.now() - began) / 1000), heapMiB: Math.round(heapUsed / 2 ** 20) });
}
