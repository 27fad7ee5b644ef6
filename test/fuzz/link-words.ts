import type { Random } from '../../bench/routing/random.ts';
import type { SiteIdentity, SiteKey } from '../../src/router/contract.ts';
import { frameMessage, messageOfType } from '../../src/router/link/session/framing.ts';
import { writeHello, type Hello } from '../../src/router/link/session/hello.ts';
import { COST, HELLO, ROUTING_PATH } from '../../src/router/wire.ts';
import { writeDigest, writeRecords, writeRequest, writeSummary } from '../../src/routing/codec.ts';
import { writeAbout, writeKey, writeNeighbour, writeRecord } from '../../src/routing/record.ts';
import { generateSiteKey } from '../../src/identity/site-key.ts';
import { siteIdOf } from '../../src/identity/site-id.ts';
import { data, headers, REQUESTS } from './frames.ts';
import { mutate } from './mutate.ts';

interface FuzzedSite {
  readonly site: SiteIdentity;
  readonly siteKey: SiteKey;
}

/** The first is the router that is fuzzed. */
export const SITES: readonly [FuzzedSite, ...FuzzedSite[]] = [makeSite('self'), makeSite('peer'), makeSite('other')];

/** All that a site says to open a link; few, since each costs a signature. */
const HELLOS: readonly Buffer[] = [
  ...[0, 1].map((index) => helloOf({ id: String(index).repeat(16), cost: 1 })),
  helloOf({ id: 'a'.repeat(16), cost: 1 }, { edge: true }),
  helloOf({ id: 'a'.repeat(16), cost: 1 }, { versions: [7] }),
  helloOf({ id: 'a'.repeat(16), cost: 1 }, { versions: Array.from({ length: 64 }, (_, index) => Number.MAX_SAFE_INTEGER - index) }),
  helloOf({ id: 'b'.repeat(16), cost: 65_536 }),
  helloOf({ id: 'b'.repeat(16), cost: 1 }, { site: SITES[2]?.site ?? SITES[0].site }),
  helloOf({ id: 'c'.repeat(16), cost: 1 }, { router: '../../etc' }),
  messageOfType(HELLO, Buffer.concat([Buffer.alloc(64), Buffer.from('{"__proto__":{"site":{}},"site":1}')])),
];

/** HEADERS of the routing request, and its hello. */
export function routingRequest(random: Random): Buffer {
  return Buffer.concat([
    headers(1, [
      [':method', 'POST'],
      [':scheme', 'https'],
      [':path', ROUTING_PATH],
      [':authority', 'earshot'],
    ]),
    data(1, hello(random)),
  ]);
}

/** The dialing side's answer to `attach`. */
export function attachAnswer(random: Random): Buffer {
  return Buffer.concat([headers(1, [[':status', random.below(8) === 0 ? '421' : '200']]), data(1, hello(random), random.below(4) > 0)]);
}

/** DATA of the routing stream: messages, whole and not. */
export function routingBytes(random: Random): Buffer {
  const message = random.pick(MESSAGES);
  const said = random.below(3) === 0 ? mutate(random, message) : message;
  const framed = random.below(10) === 0 || said.length === 0 ? random.bytes(random.below(40)) : frameMessage(said);
  return data(1, framed, random.below(30) === 0);
}

function hello(random: Random): Buffer {
  // Most peers are honest so far: what comes after is to be reached.
  const said = random.below(10) > 0 ? (HELLOS[0] ?? Buffer.alloc(1)) : random.pick(HELLOS);
  return frameMessage(random.below(20) === 0 ? Buffer.concat([Buffer.of(HELLO), mutate(random, said.subarray(1))]) : said);
}

function makeSite(name: string): FuzzedSite {
  const { key } = generateSiteKey();
  return { site: { id: siteIdOf(key.publicKey), name, namespace: 'fuzz', platform: 'linux', version: '1' }, siteKey: key };
}

function helloOf(link: Hello['link'], more: Partial<Hello> = {}): Buffer {
  const { site, siteKey } = SITES[1] ?? SITES[0];
  return writeHello({ versions: [1], router: 'main', site, edge: false, link, ...more }, siteKey, {
    exporter: Buffer.alloc(32),
    role: 'client',
  });
}

const idOf = (index: number): string => `${(SITES[index] ?? SITES[0]).site.id}/main`;
const ABOUT = writeAbout({ name: 'x', namespace: '', platform: '', version: '', edge: false });
const recordOf = (index: number, fields: readonly Buffer[], counter = 1): Buffer =>
  writeRecord({ router: 'main', epoch: 1, counter, part: 0 }, [ABOUT, ...fields], (SITES[index] ?? SITES[0]).siteKey);
const keyField = (routingKey: string): Buffer => writeKey({ routingKey, connectors: 1, listeners: 1 });

const MESSAGES: readonly Buffer[] = [
  writeSummary(Array.from({ length: 64 }, () => 1n)),
  ...writeDigest(true, new Set([1, 2, 63]), [], 4_096),
  writeRequest([{ router: idOf(0), parts: [0, 1, 2] }]),
  ...writeRecords([{ age: 0, bytes: recordOf(1, [writeNeighbour({ router: idOf(0), cost: 1, link: 'l' }), keyField('key')]) }], 60_000),
  ...writeRecords([{ age: 3, bytes: recordOf(2, [writeNeighbour({ router: idOf(1), cost: 1, link: 'l' }), keyField('a\nb')], 9) }], 60_000),
  ...writeRecords([{ age: 0, bytes: recordOf(0, [keyField('not mine')], 99) }], 60_000),
  Buffer.of(5),
  messageOfType(COST, Buffer.from('{"cost":7}')),
  messageOfType(COST, Buffer.from('{"cost":1e999}')),
  messageOfType(COST, Buffer.from('{"cost":0}')),
  Buffer.of(0x7f, 1, 2, 3),
  Buffer.of(0xff),
];

const route = (...routers: readonly number[]): readonly [string, string] => ['earshot-route', routers.map(idOf).join(' ')];

/** Possible requests of a peer, with routes. */
export const LINK_REQUESTS = [
  ...REQUESTS,
  [[':method', 'CONNECT'], [':authority', 'key'], route(0)],
  [[':method', 'CONNECT'], [':authority', 'key'], route(0, 1)],
  [[':method', 'CONNECT'], [':authority', 'key'], route(0, 1), ['earshot-origin', 'x'], ['te', 'trailers'], ['__proto__', '1']],
  ...Array.from({ length: 4 }, () => [[':method', 'CONNECT'], [':authority', 'key'], route(0, 1)] as const),
  // Fields that arrive in order, and must leave in order: empty fields, repeated fields, invalid lists.
  [[':method', 'CONNECT'], [':authority', 'key'], route(0, 1), ['earshot-via', '']],
  [[':method', 'CONNECT'], [':authority', 'key'], route(0, 1), ['earshot-via', SITES[0].site.id]],
  [[':method', 'CONNECT'], [':authority', 'key'], route(0, 1), ['earshot-via', SITES[0].site.id], ['earshot-via', '']],
  [[':method', 'CONNECT'], [':authority', 'key'], route(0, 1), ['x', 'a'], ['x', '']],
  [[':method', 'CONNECT'], [':authority', 'key'], route(0, 1), ['x', ''], ['x', 'a'], ['cookie', 'a'], ['cookie', '']],
  [[':method', 'CONNECT'], [':authority', 'key'], route(0, 2)],
  [[':method', 'CONNECT'], [':authority', 'key'], route(0, 1, 0)],
  [[':method', 'CONNECT'], [':authority', 'key'], route(1, 0)],
  [
    [':method', 'CONNECT'],
    [':authority', 'key'],
    ['earshot-route', '../..'],
  ],
] as const;
