import assert from 'node:assert/strict';
import { Buffer } from 'node:buffer';
import { performance } from 'node:perf_hooks';
import { test } from 'node:test';
import fc from 'fast-check';
import { readMessage, writeDigest, writeDone, writeRecords, writeSummary } from '../../../src/routing/codec.ts';
import { bodyOf, readRecord, writeAbout, writeKey, writeNeighbour, writeRecord } from '../../../src/routing/record.ts';
import { Random } from '../../../bench/routing/random.ts';
import { TestNetwork, testKey } from './support/network.ts';
import { disagreements, impossiblePaths } from './support/reference.ts';

const keys = ['red', 'green'];
const honest = ['a', 'b', 'c', 'd/1', 'd/2', 'e'];
const liar = 'liar';
const all = [...honest, liar];
const pairs = all.flatMap((left, index) => all.slice(index + 1).map((right) => [left, right] as const));
/** Room for the honest ones and a few more. */
const limits = { routers: 16, routersOfSite: 3, databaseBytes: 64_000 };

/** Messages in one second that are too many: where all goes well there are fewer than half as many, where records go round, thousands. */
const STORM = 1000;

/** Routers that the liar invents. */
const SYBILS = 24;

const nat = fc.nat({ max: 1000 });
const steps = {
  link: fc.record({ pair: nat, cost: fc.integer({ min: 1, max: 9 }) }),
  cut: fc.record({ link: nat }),
  facts: fc.record({ router: nat, connectors: fc.tuple(fc.nat({ max: 3 }), fc.nat({ max: 3 })) }),
  restart: fc.record({ router: nat }),
  /** So many messages with records get lost between honest routers. */
  lose: fc.record({ count: fc.nat({ max: 6 }) }),
  pass: fc.record({ seconds: fc.oneof({ weight: 9, arbitrary: fc.nat({ max: 40 }) }, { weight: 1, arbitrary: fc.constant(120) }) }),
};
const weights = { link: 8, cut: 1, facts: 3, restart: 1, lose: 3, pass: 3 };
type Kind = keyof typeof steps;
type Step = {
  [K in Kind]: { readonly kind: K } & (typeof steps)[K] extends { readonly kind: K } & fc.Arbitrary<infer S>
    ? S & { readonly kind: K }
    : never;
}[Kind];
const step = fc.oneof(
  ...(Object.keys(steps) as Kind[]).map((kind) => ({
    weight: weights[kind],
    arbitrary: (steps[kind] as fc.Arbitrary<object>).map((values) => ({ kind, ...values }) as Step),
  })),
);

/** A member that says what it likes, as often as it likes. */
class Liar {
  readonly #network: TestNetwork;
  readonly #choose: (count: number) => number;
  #counter = 0;
  losing = 0;

  constructor(network: TestNetwork, choose: (count: number) => number) {
    this.#network = network;
    this.#choose = choose;
    network.tamper = (from, link, message) => {
      const { kind } = readMessage(message);
      if (from === liar) return this.#twist(message);
      if (this.losing === 0 || kind !== 'records' || link.ends.includes(liar)) return [message];
      this.losing -= 1;
      return [];
    };
  }

  /** Once a second: records of routers that it invents, what others said long ago, summaries of nothing. */
  act(): void {
    const { now } = this.#network;
    const sybils = Array.from({ length: 2 }, () => {
      this.#counter += 1;
      const number = this.#choose(SYBILS);
      const router = number % 2 === 0 ? `r${number}` : 'r';
      const fields = [
        writeAbout({ name: 'sybil', namespace: '', platform: '', version: '', edge: false }),
        writeNeighbour({ router: this.#network.id(liar), cost: 1, link: `of-${number}` }),
        ...[0, 2].map((other) =>
          writeNeighbour({ router: this.#sybil((number + other + SYBILS - 1) % SYBILS), cost: 1, link: `to-${other}` }),
        ),
        writeKey({ routingKey: 'red', connectors: 9, listeners: 9 }),
        Buffer.concat([Buffer.of(99, 8, 0), Buffer.alloc(2048)]),
      ];
      return {
        age: this.#age(),
        bytes: writeRecord({ router, epoch: now, counter: this.#counter, part: this.#choose(2) }, fields, testKey(siteOf(number))),
      };
    });
    for (const message of writeRecords(sybils, 20_000)) this.#network.send(liar, this.#choose(9), message);
    this.#network.replay(liar, this.#choose(200), this.#choose(9));
    this.#network.send(liar, this.#choose(9), writeSummary([]));
  }

  #twist(message: Buffer): readonly Buffer[] {
    const read = readMessage(message);
    if (read.kind !== 'records') return this.#choose(4) === 0 ? [] : [message];
    const sent = read.records.flatMap(({ bytes }) => (this.#choose(3) === 0 ? [] : [{ age: this.#age(), bytes: this.#own(bytes) }]));
    return writeRecords(sent, 60_000);
  }

  /** Its own record, next to all that it invents. */
  #own(bytes: Buffer): Buffer {
    const record = readRecord(bytes);
    if (record?.router !== this.#network.id(liar) || record.part !== 0) return bytes;
    const claimed = Array.from({ length: SYBILS }, (_, number) =>
      writeNeighbour({ router: this.#sybil(number), cost: 1, link: `of-${number}` }),
    );
    return writeRecord({ router: 'r', epoch: record.epoch, counter: record.counter, part: 0 }, [bodyOf(record), ...claimed], testKey(liar));
  }

  #sybil(number: number): string {
    return this.#network.id(number % 2 === 0 ? `${siteOf(number)}/r${number}` : siteOf(number));
  }

  #age(): number {
    return [0, 600, 1799, 1800, 65_535][this.#choose(5)] ?? 0;
  }
}

/** Every second one is of one site, the others each of its own. */
function siteOf(number: number): string {
  return number % 2 === 0 ? 'sybils' : `sybil-${number}`;
}

function take(network: TestNetwork, lies: Liar, action: Step, choose: (count: number) => number): void {
  switch (action.kind) {
    case 'link': {
      const [left, right] = pairs[action.pair % pairs.length] ?? ['a', 'b'];
      network.link(left, right, action.cost);
      break;
    }
    case 'cut':
      network.cut(network.links[action.link % Math.max(1, network.links.length)]?.name ?? '');
      break;
    case 'facts':
      network.facts(honest[action.router % honest.length] ?? 'a', {
        edge: false,
        keys: keys.map((routingKey, index) => ({ routingKey, connectors: action.connectors[index] ?? 0, listeners: index })),
      });
      break;
    case 'restart':
      network.start(honest[action.router % honest.length] ?? 'a');
      break;
    case 'lose':
      lies.losing = action.count;
      break;
    case 'pass':
      for (let second = 0; second < action.seconds; second += 1) {
        if (second < 10) lies.act();
        network.pass(1000, choose);
      }
      break;
  }
}

test('whatever one member says, all others agree on each other within a minute of the last change, and hold no more than they may', () => {
  fc.assert(
    fc.property(fc.array(step, { minLength: 8, maxLength: 24 }), fc.infiniteStream(nat), (story, dice) => {
      const choose = (count: number): number => Number(dice.next().value) % count;
      const network = new TestNetwork(all, limits, { remember: 200 });
      const lies = new Liar(network, choose);
      for (const action of story) take(network, lies, action, choose);
      lies.losing = 0;
      for (let second = 0; second < 60; second += 1) {
        lies.act();
        network.pass(1000, choose);
      }
      assert.deepEqual(disagreements(network, honest), []);
      assert.deepEqual(impossiblePaths(network, keys), []);
      assert.ok(network.busiest < STORM, `${network.busiest} messages in one second`);
      for (const name of honest) {
        const routers = network.routing(name).network();
        assert.ok(routers.length <= limits.routers + 1, `${name} holds ${routers.length} routers`);
      }
    }),
    { numRuns: Number(process.env['ROUTING_RUNS'] ?? 20), endOnFailure: true },
  );
});

test('a peer that repeatedly announces newer records of a third site without sending them does not hide that site', () => {
  const network = new TestNetwork(['near', 'far', 'victim', `${liar}/1`, `${liar}/2`]);
  const liars = [`${liar}/1`, `${liar}/2`];
  // None of them answers anything.
  network.tamper = (from, _link, message) => (liars.includes(from) ? [] : [message]);
  network.link('near', 'far', 1);
  network.facts('far', { edge: false, keys: [{ routingKey: 'red', connectors: 1, listeners: 0 }] });
  for (const from of liars) network.link(from, 'victim', 1);
  network.converge();
  const parts = Array.from({ length: 64 }, (_, part) => ({ part, counter: 1, check: 1 }));
  const newer = ['near', 'far'].map((name) => ({ router: network.id(name), epoch: 2 ** 47, parts }));
  const lies = writeDigest(false, new Set(), newer, 60_000);
  const say = (from: string, messages: readonly Buffer[]): void => {
    for (const message of messages) network.inject('victim', `${from}-victim`, message);
  };
  for (const from of liars) say(from, lies);
  network.link('near', 'victim', 1);
  for (let second = 0; second < 60; second += 1) {
    network.pass(1_000);
    // That is all that there was; and here is more, to be asked for at once.
    for (const from of liars) say(from, [...lies, writeDone()]);
  }
  assert.equal(network.routing('victim').destinations('red').length, 1);
});

test('routers that evict each other in a circle are not announced endlessly', () => {
  const others = ['a', 'b', 'c'];
  // The far one is known by way of the middle one only, which is known by way of the near one. Of the lost the one with the greater id goes.
  const network = new TestNetwork([...others, liar], { ...limits, routers: 6 });
  const [near, middle, far] = [network.id('s/near'), network.id('t/main'), network.id('s/r')];
  const lost = Array.from({ length: 100 }, (_, index) => `lost-${index}/main`).find((name) => network.id(name) < far) ?? '';
  network.tamper = (from, _, message) => {
    const read = readMessage(message);
    if (from !== liar || read.kind !== 'records') return [message];
    const sent = read.records.map(({ age, bytes }) => {
      const record = readRecord(bytes);
      if (record?.router !== network.id(liar)) return { age, bytes };
      const { epoch, counter } = record;
      const fields = [bodyOf(record), writeNeighbour({ router: near, cost: 1, link: 'near' })];
      return { age, bytes: writeRecord({ router: 'r', epoch, counter, part: 0 }, fields, testKey(liar)) };
    });
    return writeRecords(sent, 60_000);
  };
  for (const [left = '', right = ''] of ['ab', 'bc', 'ca'].map((ends) => [...ends])) network.link(left, right, 1);
  network.link('a', liar, 1);
  network.converge();
  const tell = (name: string, neighbours: readonly string[]): void => {
    const [site = '', router = ''] = name.split('/');
    const about = writeAbout({ name: 'sybil', namespace: '', platform: '', version: '', edge: false });
    const linked = neighbours.map((neighbour) => writeNeighbour({ router: neighbour, cost: 1, link: neighbour }));
    const bytes = writeRecord({ router, epoch: 1, counter: 1, part: 0 }, [about, ...linked], testKey(site));
    for (const message of writeRecords([{ age: 0, bytes }], 20_000)) network.inject('a', `a-${liar}`, message);
  };
  tell('s/near', [network.id(liar), middle]);
  network.converge();
  const before = network.delivered;
  tell('t/main', [near, far]);
  tell('s/r', [middle]);
  tell(lost, []);
  // It has given way by now.
  tell('t/main', [near, far]);
  network.pass(60_000);
  const sent = network.delivered - before;
  assert.ok(sent < 250, `${sent} messages about three routers`);
});

test('each of the routers beyond the limit is announced once, and not in circles', () => {
  for (const [what, idOf] of [
    ['sites', (index: number) => ({ site: `sybil-${index}`, router: 'r' })],
    ['routers of one site', (index: number) => ({ site: 'sybil', router: `r${index}` })],
  ] as const) {
    const random = new Random(1);
    const network = new TestNetwork(['a', 'b', 'c', 'd', liar], limits);
    const links = ['ab', 'bc', 'cd', 'da', 'ac'].map((ends) => [...ends]);
    for (const [left = '', right = ''] of links) network.link(left, right, 1);
    network.link('a', liar, 1);
    network.converge();
    const before = network.delivered;
    const invented = Array.from({ length: 40 }, (_, index) => idOf(index));
    for (const { site, router } of invented) {
      const about = writeAbout({ name: 'sybil', namespace: '', platform: '', version: '', edge: false });
      const bytes = writeRecord({ router, epoch: 1, counter: 1, part: 0 }, [about], testKey(site));
      for (const message of writeRecords([{ age: 0, bytes }], 20_000)) network.inject('a', `a-${liar}`, message);
      // Ages are sent in whole seconds: a repeated record never seems younger.
      network.pass(300, (count) => random.below(count));
    }
    for (let second = 0; second < 30; second += 1) network.pass(1000, (count) => random.below(count));
    const sent = network.delivered - before;
    assert.ok(sent <= invented.length * 2 * (links.length + 1), `${sent} messages about ${invented.length} ${what}`);
  }
});

test('a reachable router gets a slot at once where all are held by unreachable routers', (t) => {
  // On a busy machine there would be no time left to look for it.
  t.mock.method(performance, 'now', () => 0);
  const members = Array.from({ length: 70 }, (_, index) => `member-${index}`);
  const network = new TestNetwork(['a', ...members, liar], { ...limits, routers: 76, databaseBytes: 1_000_000 });
  const random = new Random(1);
  const choose = (count: number): number => random.below(count);
  for (const [index, name] of members.entries()) if (index > 0) network.link(members[Math.max(0, index - 3)] ?? '', name, 1);
  network.converge();
  network.link('a', liar, 1);
  network.converge();
  // They stand better than any member that cannot be reached yet.
  const least = members.map((name) => network.id(name)).sort()[0] ?? '';
  const sybils = Array.from({ length: 20_000 }, (_, index) => `sybil-${index}`).filter((name) => network.id(name) < least);
  const about = writeAbout({ name: 'sybil', namespace: '', platform: '', version: '', edge: false });
  const sent = sybils
    .slice(0, 100)
    .map((name) => ({ age: 0, bytes: writeRecord({ router: 'r', epoch: 1, counter: 1, part: 0 }, [about], testKey(name)) }));
  assert.ok(sent.length >= 80);
  for (const message of writeRecords(sent, 20_000)) network.inject('a', `a-${liar}`, message);
  network.pass(2_000, choose);
  network.link('a', 'member-0', 1);
  network.pass(3_000, choose);
  const known = network
    .routing('a')
    .network()
    .map(({ site, router }) => `${site.id}/${router}`);
  assert.deepEqual(known.toSorted(), ['a', ...members, liar].map((name) => network.id(name)).toSorted());
});
