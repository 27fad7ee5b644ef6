import assert from 'node:assert/strict';
import { setImmediate } from 'node:timers/promises';
import { Random } from '../../bench/routing/random.ts';
import type { Session } from '../../src/http2/contract.ts';
import type { SessionLimits } from '../../src/http2/limits.ts';
import { createSession } from '../../src/http2/session.ts';
import { beginning, FrameSource } from './frames.ts';
import { cut } from './mutate.ts';
import { readSent } from './sent-frames.ts';
import { SessionUser, StreamUser } from './session-user.ts';
import { Fault, type Plan, type Tally, type Target } from './target.ts';
import { Wire } from './wire.ts';

/** HTTP/2 as links speak it, without TLS and network: one connection a case, of up to some dozen frames. */
export const session: Target = {
  what: 'connections that bring frames, over wires in this process',
  cases: 1_000_000,
  heapKilobytes: 16_384,
  slowest: 1_000,
  run,
};

/** Connections that are open at once: their work is shared out over event-loop iterations, as in a router. */
const BATCH = 50;

async function run(plan: Plan): Promise<Tally> {
  const sum = { accepted: 0, refused: 0, streams: 0, answers: 0 };
  const codes = new Map<string, number>();
  for (let done = 0; done < plan.cases; done += BATCH) {
    const cases = Array.from({ length: Math.min(BATCH, plan.cases - done) }, (_, at) => new Case(plan.seed, plan.first + done + at));
    for (const round of [0, 1, 2]) {
      for (const each of cases) each.feed(round);
      await setImmediate();
      for (const each of cases) each.wire.take();
      await setImmediate();
    }
    for (const each of cases) {
      const { goaway, frames } = each.end();
      const refused = goaway !== undefined && goaway !== 0;
      sum[refused ? 'refused' : 'accepted'] += 1;
      sum.streams += each.user.streams.length;
      sum.answers += frames;
      const code = `goaway-${goaway ?? 'none'}`;
      codes.set(code, (codes.get(code) ?? 0) + 1);
    }
    plan.step(cases.length);
  }
  const { accepted, refused, ...notes } = sum;
  return { cases: plan.cases, accepted, refused, notes: { ...notes, ...Object.fromEntries([...codes].sort()) } };
}

class Case {
  readonly wire: Wire;
  readonly user: SessionUser;
  readonly #where: string;
  readonly #random: Random;
  readonly #role: 'client' | 'server';
  readonly #session: Session;
  readonly #source: FrameSource;
  readonly #fed: Buffer[] = [];
  #now = 0;

  constructor(seed: number, number: number) {
    this.#where = `session, seed ${seed}, case ${number}`;
    const random = new Random(Math.imul(seed, 0x9e37_79b1) ^ Math.imul(number, 0x85eb_ca6b));
    this.#random = random;
    this.#role = random.below(3) === 0 ? 'client' : 'server';
    this.wire = new Wire(random.below(4) > 0);
    this.user = new SessionUser(random);
    const limits = random.below(2) === 0 ? {} : TIGHT;
    this.#session = createSession(this.wire.socket, { role: this.#role, events: this.user, limits, now: () => this.#now });
    this.#source = new FrameSource(random, this.#role === 'server' ? 'client' : 'server');
    if (this.#role === 'client') this.#ask();
  }

  feed(round: number): void {
    const random = this.#random;
    try {
      const frames = round === 0 ? beginning(random, this.#role === 'server' ? 'client' : 'server') : [];
      for (let left = random.below(9); left > 0; left -= 1) frames.push(this.#source.next());
      const bytes = Buffer.concat(frames);
      this.#fed.push(bytes);
      for (const chunk of cut(random, bytes)) {
        this.wire.feed(chunk);
        this.#now += random.below(40);
        if (random.below(3) === 0) this.user.act();
      }
      if (this.#role === 'client' && random.below(3) === 0) this.#ask();
      if (random.below(30) === 0) this.#session.drain();
      if (random.below(20) === 0) this.wire.finish();
    } catch (error) {
      throw this.#fault(error);
    }
  }

  /** @returns what the session had sent by its end */
  end(): ReturnType<typeof readSent> {
    try {
      const sent = readSent(this.wire.sent, this.#role);
      this.#session.destroy();
      this.wire.destroy();
      this.user.check();
      assert.equal(this.#session.state, 'closed');
      assert.equal(this.#session.openStreams, 0, 'no stream is left');
      assert.equal(this.#session.queued, 0, 'nothing is queued');
      return sent;
    } catch (error) {
      throw this.#fault(error);
    }
  }

  #ask(): void {
    if (this.#session.state !== 'open') return;
    const user = new StreamUser(this.#random, true);
    this.user.streams.push(user);
    this.#source.opened(this.user.streams.length);
    user.stream = this.#session.request({ method: 'CONNECT', authority: 'key', fields: {} }, user);
  }

  #fault(error: unknown): Fault {
    return new Fault(`${this.#where} (${this.#role})`, Buffer.concat(this.#fed).toString('hex'), error);
  }
}

/** Bounds that a dozen frames can reach. */
const TIGHT: Partial<SessionLimits> = {
  concurrentStreams: 4,
  headerListBytes: 400,
  frameBytes: 16_384,
  unconsumed: 70_000,
  answersQueued: 100,
  idleFrames: { burst: 4, perSecond: 10 },
  earlyResets: { burst: 2, perSecond: 10 },
};
