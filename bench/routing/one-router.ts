/**
 * One real router, real signatures, nothing shared: what it costs to take in a whole network and to hold it. The records are
 * made by one process and taken by another, which knows nothing else: `measureOneRouter` starts this file for that.
 */
import { execFileSync } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, readFileSync, readSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { wordsOf } from '../../scripts/arguments.ts';
import type { SiteKey } from '../../src/router/contract.ts';
import { writeRecords } from '../../src/routing/codec.ts';
import { OwnRecords } from '../../src/routing/own-records.ts';
import { createRouting } from '../../src/routing/routing.ts';
import { siteIdOf } from '../../src/identity/site-id.ts';
import { generateSiteKey, siteKeyFrom, verifySignature } from '../../src/identity/site-key.ts';
import type { Topology } from './topology.ts';

export interface OneRouter {
  readonly records: number;
  /** Bytes of all records. */
  readonly bytes: number;
  /** Processor microseconds of one signature check, alone. */
  readonly check: number;
  /** Processor milliseconds to take them all in. */
  readonly intake: number;
  /** Processor milliseconds of the message that took longest. */
  readonly longestMessage: number;
  /** Bytes of memory that it holds then: heap and buffers, after garbage collection. */
  readonly held: number;
  /** The same when all keys have been shown once, as a status does. */
  readonly heldAfterNetwork: number;
  /** Processor milliseconds: recomputing all paths. */
  readonly paths: number;
  /** Processor milliseconds: the first request for a key. */
  readonly firstQuestion: number;
  /** Processor microseconds: a key that was asked for before, after a change of paths, and with no change between. */
  readonly nextQuestion: number;
  readonly sameQuestion: number;
  /** Processor milliseconds: the whole network with all keys. */
  readonly network: number;
}

export function measureOneRouter(topology: Topology, keysOfSite: number): OneRouter {
  const folder = mkdtempSync(join(tmpdir(), 'earshot-routing-'));
  try {
    writeNetwork(folder, topology, keysOfSite);
    const output = execFileSync(
      process.execPath,
      ['--expose-gc', '--disable-warning=ExperimentalWarning', fileURLToPath(import.meta.url), folder],
      { encoding: 'utf8' },
    );
    // Written by `measure` below.
    return JSON.parse(output) as OneRouter;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** The router that measures is site 0. */
function writeNetwork(folder: string, topology: Topology, keysOfSite: number): void {
  const keys = Array.from({ length: topology.sites }, () => generateSiteKey());
  const idOf = (site: number): string => `${siteIdOf(keys[site]?.key.publicKey ?? Buffer.alloc(32))}/router`;
  const lists = keys.map(({ key }, site) => {
    const own = new OwnRecords('router', key);
    own.stateAbout({ name: `site-${site}`, namespace: 'default', platform: 'linux', version: '0.1.0', edge: topology.edge.has(site) });
    own.stateNeighbours(
      topology.links.flatMap(({ ends, cost }) => {
        const other = ends.find((end) => end !== site);
        return ends.includes(site) && other !== undefined ? [{ router: idOf(other), cost, link: `link-${ends.join('-')}` }] : [];
      }),
    );
    own.stateKeys(Array.from({ length: keysOfSite }, (_, index) => ({ routingKey: keyName(site, index), connectors: 1, listeners: 0 })));
    own.begin(1_700_000_000_000);
    return own.make();
  });
  const messages = writeRecords(
    lists
      .slice(1)
      .flat()
      .map((bytes) => ({ age: 0, bytes })),
    32_768,
  );
  const frames = messages.flatMap((message) => {
    const length = Buffer.alloc(4);
    length.writeUInt32BE(message.length);
    return [length, message];
  });
  writeFileSync(join(folder, 'messages'), Buffer.concat(frames));
  const neighbours = topology.links
    .filter(({ ends }) => ends.includes(0))
    .map(({ ends, cost }) => ({ router: idOf(ends[0] === 0 ? ends[1] : 0), cost, link: `link-${ends.join('-')}` }));
  writeFileSync(join(folder, 'self.json'), JSON.stringify({ pem: keys[0]?.pem, neighbours, last: keyName(topology.sites - 1, 0) }));
}

function keyName(site: number, index: number): string {
  return `service-${index}.site-${site}`;
}

interface Self {
  readonly pem: string;
  readonly neighbours: readonly { readonly router: string; readonly cost: number; readonly link: string }[];
  readonly last: string;
}

function measure(folder: string): OneRouter {
  // Written by `writeNetwork` above.
  const self = JSON.parse(readFileSync(join(folder, 'self.json'), 'utf8')) as Self;
  const key = siteKeyFrom(self.pem);
  const check = measureCheck(key);
  const before = held();
  let now = 1_700_000_001_000;
  const site = { id: siteIdOf(key.publicKey), name: 'site-0', namespace: 'default', platform: 'linux', version: '0.1.0' };
  const routing = createRouting({ router: 'router', site, siteKey: key });
  for (const neighbour of self.neighbours) routing.adjacencyUp({ ...neighbour, site }, now);
  const link = self.neighbours[0]?.link ?? '';
  const file = openSync(join(folder, 'messages'), 'r');
  let [bytes, intake, longestMessage] = [0, 0, 0];
  for (let message = readFrame(file); message !== undefined; message = readFrame(file)) {
    bytes += message.length;
    const taken = time(() => routing.receive(link, message, now));
    longestMessage = Math.max(longestMessage, taken);
    intake += taken;
    now += 100;
  }
  closeSync(file);
  const heldThen = held() - before;
  const first = self.neighbours[0];
  const paths = median(() => {
    // A change of any cost recomputes all paths at the next request.
    if (first !== undefined) routing.adjacencyUp({ ...first, cost: first.cost + 1, site }, now);
    return time(() => routing.hasListener('an unserved key'));
  });
  let asked = 0;
  const firstQuestion = median(() => {
    asked += 1;
    return time(() => routing.destinations(`an unserved key, ${asked}`));
  });
  const nextQuestion = median(() => {
    routing.adjacencyDown('none', now);
    if (first !== undefined) routing.adjacencyUp({ ...first, site }, now);
    routing.hasListener(self.last);
    return time(() => routing.destinations(self.last)) * 1000;
  });
  const sameQuestion = time(() => {
    for (let left = 1000; left > 0; left -= 1) routing.destinations(self.last);
  });
  const network = median(() => time(() => routing.network()));
  if (routing.destinations(self.last).length !== 1) throw new Error('the last site is not found');
  const records = routing.counters.accepted;
  return {
    records,
    bytes,
    check,
    intake,
    longestMessage,
    held: heldThen,
    heldAfterNetwork: held() - before,
    paths,
    firstQuestion,
    nextQuestion,
    sameQuestion,
    network,
  };
}

function readFrame(file: number): Buffer | undefined {
  const length = Buffer.alloc(4);
  if (readSync(file, length) < 4) return undefined;
  const message = Buffer.alloc(length.readUInt32BE());
  readSync(file, message);
  return message;
}

function measureCheck(key: SiteKey): number {
  const message = Buffer.alloc(1100, 7);
  const signature = key.sign(message);
  const run = (times: number): void => {
    for (let left = times; left > 0; left -= 1)
      if (!verifySignature(key.publicKey, message, signature)) throw new Error('a good signature is refused');
  };
  run(200);
  const cpu = process.cpuUsage();
  run(2000);
  const { user, system } = process.cpuUsage(cpu);
  return (user + system) / 2000;
}

/** Processor milliseconds: others may run on the machine. */
function time(what: () => unknown): number {
  const before = process.cpuUsage();
  what();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

function median(sample: () => number): number {
  const samples = Array.from({ length: 21 }, sample).sort((left, right) => left - right);
  return samples[10] ?? Number.NaN;
}

function held(): number {
  for (let left = 3; left > 0; left -= 1) globalThis.gc?.();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

if (process.argv[1] === fileURLToPath(import.meta.url))
  console.log(JSON.stringify(measure(wordsOf('node bench/routing/one-router.ts TOPOLOGY', 1)[0] ?? '')));
