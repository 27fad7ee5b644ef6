import assert from 'node:assert/strict';
import { setImmediate } from 'node:timers/promises';
import { Random } from '../../bench/routing/random.ts';
import { LinkError } from '../../src/router/link/link-errors.ts';
import { Incoming, type IncomingOptions } from '../../src/router/link/accept/incoming.ts';
import { Liveness } from '../../src/router/link/session/liveness.ts';
import { RateLimitedLog } from '../../src/telemetry/rate-limited-log.ts';
import { FORWARD, REVERSE } from '../../src/router/wire.ts';
import { beginning, FrameSource } from './frames.ts';
import { FuzzedHost } from './link-host.ts';
import { attachAnswer, LINK_REQUESTS, routingBytes, routingRequest, SITES } from './link-words.ts';
import { cut, mutate } from './mutate.ts';
import { readSent } from './sent-frames.ts';
import { Fault, type Plan, type Tally, type Target } from './target.ts';
import { Wire } from './wire.ts';

/**
 * The accepting side of a link after TLS: hello, proof, attach, routing messages, CONNECT and what passes through, with both connections of
 * a link. Wires are in this process, so the TLS exporter is that of connections without TLS.
 */
export const link: Target = {
  what: 'peers with a good certificate, over wires in this process',
  cases: 1_000_000,
  heapKilobytes: 16_384,
  slowest: 1_000,
  run,
};

const BATCH = 25;
/** More than the streams of a case. */
const MOST_TURNS = 100;

async function run(plan: Plan): Promise<Tally> {
  using liveness = new Liveness();
  const sum = { accepted: 0, refused: 0, up: 0, messages: 0, connects: 0, relayed: 0 };
  for (let done = 0; done < plan.cases; done += BATCH) {
    const cases = Array.from(
      { length: Math.min(BATCH, plan.cases - done) },
      (_, at) => new Case(plan.seed, plan.first + done + at, liveness),
    );
    for (const round of [0, 1, 2, 3, 4, 5]) {
      for (const each of cases) each.feed(round);
      await setImmediate();
      for (const each of cases) each.take();
      await setImmediate();
    }
    for (const each of cases) each.cut();
    // In each iteration, a few streams of an ended session are notified.
    for (let turns = 0; turns < MOST_TURNS && cases.some(({ host }) => !host.isOver); turns += 1) await setImmediate();
    for (const each of cases) {
      sum[each.end() ? 'accepted' : 'refused'] += 1;
      sum.up += each.host.ups;
      sum.messages += each.host.messages;
      sum.connects += each.host.users.length;
      sum.relayed += each.host.relayed.total;
    }
    plan.step(cases.length);
  }
  const { accepted, refused, ...notes } = sum;
  return { cases: plan.cases, accepted, refused, notes };
}

class Case {
  readonly host: FuzzedHost;
  readonly #where: string;
  readonly #random: Random;
  readonly #forward: Wire;
  readonly #reverse: Wire | undefined;
  readonly #incoming: Incoming[] = [];
  readonly #sources: ReadonlyMap<Wire, FrameSource>;
  readonly #fed: string[] = [];
  #closed = 0;
  #wasLetBe = false;

  constructor(seed: number, number: number, liveness: Liveness) {
    this.#where = `link, seed ${seed}, case ${number}`;
    const random = new Random(Math.imul(seed, 0x9e37_79b1) ^ Math.imul(number, 0x85eb_ca6b));
    this.#random = random;
    this.host = new FuzzedHost(random, liveness);
    this.#forward = new Wire(random.below(5) > 0);
    this.#reverse = random.below(3) > 0 ? new Wire(random.below(5) > 0) : undefined;
    this.#sources = new Map([
      [this.#forward, new FrameSource(random, 'client', LINK_REQUESTS, 3)],
      ...(this.#reverse === undefined ? [] : [[this.#reverse, new FrameSource(random, 'server', [], 3)] as const]),
    ]);
    this.#accept(this.#forward, FORWARD);
    if (this.#reverse !== undefined) this.#accept(this.#reverse, REVERSE);
  }

  feed(round: number): void {
    const random = this.#random;
    try {
      if (this.#incoming.length > 0 && round === 0) {
        this.#say(this.#forward, Buffer.concat([...beginning(random, 'client'), ...(random.below(5) > 0 ? [routingRequest(random)] : [])]));
      }
      if (this.#reverse !== undefined && round === 1) {
        this.#say(this.#reverse, Buffer.concat([...beginning(random, 'server'), ...(random.below(5) > 0 ? [attachAnswer(random)] : [])]));
      }
      if (round < 1) return;
      for (const [wire, source] of this.#sources) {
        if (wire !== this.#forward && random.below(4) > 0) continue;
        const frames: Buffer[] = [];
        for (let left = random.below(5); left > 0; left -= 1)
          frames.push(wire === this.#forward && random.below(2) === 0 ? routingBytes(random) : source.next());
        this.#say(wire, Buffer.concat(frames));
        if (random.below(40) === 0) wire.finish();
      }
      if (random.below(4) === 0) this.host.act();
    } catch (error) {
      throw this.#fault(error);
    }
  }

  take(): void {
    this.#forward.take();
    this.#reverse?.take();
  }

  cut(): void {
    try {
      const sent = readSent(this.#forward.sent, 'server');
      if (this.#reverse !== undefined) readSent(this.#reverse.sent, 'client');
      this.#wasLetBe = sent.goaway === undefined || sent.goaway === 0;
      for (const incoming of this.#incoming) incoming.cut(new LinkError('closed', 'The case is over.'));
      this.#forward.destroy();
      this.#reverse?.destroy();
    } catch (error) {
      throw this.#fault(error);
    }
  }

  /** @returns whether the peer was let be until the end */
  end(): boolean {
    try {
      assert.equal(this.#closed, this.#incoming.length, 'each connection has reported its end');
      for (const each of this.#incoming) assert.equal(each.openStreams, 0, 'no stream is left');
      this.host.check();
      return this.#wasLetBe;
    } catch (error) {
      throw this.#fault(error);
    } finally {
      this.host[Symbol.dispose]();
    }
  }

  #say(wire: Wire, bytes: Buffer): void {
    const random = this.#random;
    const said = random.below(25) === 0 ? mutate(random, bytes) : bytes;
    this.#fed.push(`${wire === this.#forward ? 'h2' : 'reverse'} ${said.toString('hex')}`);
    for (const chunk of cut(random, said)) wire.feed(chunk);
  }

  #accept(wire: Wire, protocol: string): void {
    const random = this.#random;
    const options: IncomingOptions = {
      host: this.host,
      socket: wire.socket,
      protocol,
      noRoom: () => undefined,
      certificate: {
        serial: 'AB',
        name: 'CN=peer',
        serials: ['AB'],
        sites: random.below(10) === 0 ? [random.pick(SITES).site.id] : [],
        expires: Infinity,
        der: Buffer.of(),
      },
      address: '192.0.2.1:1',
      edgeOnly: random.below(20) === 0,
      owner: 'fuzz',
      siblingsOnly: false,
      limitedLog: new RateLimitedLog(this.host.log),
      onClose: () => {
        this.#closed += 1;
      },
    };
    this.#incoming.push(new Incoming(options));
  }

  #fault(error: unknown): Fault {
    return new Fault(this.#where, this.#fed.join(' | '), error);
  }
}
