import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { Random } from '../../bench/routing/random.ts';
import { createKey, createRequest } from '../../src/x509/request.ts';
import type { Token } from '../../src/trust/tokens/contract.ts';
import { encodeRedemption } from '../../src/trust/tokens/redemption.ts';
import { startGranting } from '../unit/trust/support/grant-server.ts';
import { makeSite } from '../unit/trust/support/site.ts';
import { mutate } from './mutate.ts';
import { Fault, type Plan, type Tally, type Target } from './target.ts';

/** The grant server over HTTPS. What it reads of a body is `trust`'s, where a case costs a hundredth. */
export const grantServer: Target = { what: 'requests to a real grant server', cases: 50_000, heapKilobytes: 32_768, slowest: 15_000, run };

const SIDE_BY_SIDE = 8;
const MOST_REQUESTS = 12;
const GIVE_UP = 15_000;

async function run(plan: Plan): Promise<Tally> {
  let clock = 0;
  // Time flies, so that the throttle, which others test, lets every case in.
  await using site = await startGranting({ monotonic: () => (clock += 3_600_000), limits: { requestMilliseconds: 2_000 } });
  const token = await site.issue({ redemptionsAllowed: 10_000 });
  const bodies = bodiesFor(token);
  let done = 0;
  let number = plan.first;
  while (done < plan.cases) {
    const visits = Array.from({ length: SIDE_BY_SIDE }, () => new Visit(plan.seed, number++, token, site.server.port, bodies));
    const counts = await Promise.all(visits.map((visit) => visit.run()));
    const answers = visits.flatMap((visit) => visit.answers);
    assert.ok(!answers.some((answer) => /node_modules|\/tmp\/|\.ts:\d/.test(answer)), 'an answer reveals internals');
    const cases = counts.reduce((sum, count) => sum + count, 0);
    done += cases;
    plan.step(cases);
  }
  assert.ok(!site.logged.some((line) => line.includes(token.code)), 'no log line holds the code');
  const { redeemed = 0, ...others } = site.server.answered;
  const refused = Object.values(others).reduce((sum, count) => sum + count, 0);
  return { cases: done, accepted: redeemed, refused, notes: { ...others, 'no-request': done - redeemed - refused } };
}

/** Bodies of redemptions: each good one redeems, which writes to the disk. */
function bodiesFor(token: Token): readonly Buffer[] {
  const site = makeSite();
  const csr = createRequest(createKey(), site.siteName);
  const body = (code: string): Buffer =>
    Buffer.from(encodeRedemption('g', { code, siteId: site.siteId, siteName: site.siteName, csr }, site.siteKey));
  return [body(token.code), body('wrong'), Buffer.from('{}'), Buffer.alloc(0), Buffer.alloc(20_000, 'x')];
}

/** One connection with some requests, most of them nearly good. */
class Visit {
  readonly answers: string[] = [];
  readonly #random: Random;
  readonly #where: string;
  readonly #token: Token;
  readonly #port: number;
  readonly #bodies: readonly Buffer[];

  constructor(seed: number, number: number, token: Token, port: number, bodies: readonly Buffer[]) {
    this.#random = new Random(Math.imul(seed, 0x9e37_79b1) ^ Math.imul(number, 0x85eb_ca6b));
    this.#where = `grant-server, seed ${seed}, connection ${number}`;
    this.#token = token;
    this.#port = port;
    this.#bodies = bodies;
  }

  /** @returns how many requests were sent */
  async run(): Promise<number> {
    const random = this.#random;
    // Wild input ends the connection, so the answers before it are checked.
    const calm = Array.from({ length: random.below(MOST_REQUESTS) }, () => this.#request(false));
    const requests = [...calm, this.#request(true), this.#request(random.below(2) === 0)];
    const socket = connectTls({ host: '127.0.0.1', port: this.#port, ca: this.#token.ca, servername: 'localhost' });
    const closed = closeOf(socket, (chunk) => this.answers.push(chunk));
    socket.once('secureConnect', () => {
      for (const request of requests) socket.write(request);
      socket.end();
    });
    if (!(await closed))
      throw new Fault(this.#where, Buffer.concat(requests).toString('latin1'), new Error('the connection is still open'));
    return requests.length;
  }

  #request(isWild: boolean): Buffer {
    const random = this.#random;
    // A good one is written to the disk, one after the other: many are, and all others receive that the server is busy.
    if (!isWild)
      return this.#posted(random.pick(random.below(40) === 0 ? this.#bodies : this.#bodies.slice(1, 3)), 'POST /v1/redeem/g', '');
    switch (random.below(6)) {
      case 0:
        return random.bytes(random.below(300));
      case 1:
        return this.#posted(mutate(random, random.pick(this.#bodies)), 'POST /v1/redeem/g', '');
      case 2:
        return this.#posted(random.pick(this.#bodies), 'POST /v1/redeem/g', random.pick(FIELDS));
      case 3:
        return this.#posted(random.pick(this.#bodies), `${random.pick(METHODS)} ${random.pick(PATHS)}`, '');
      case 4:
        return this.#posted(random.pick(this.#bodies), 'POST /v1/redeem/g', '', random.pick(['-1', '1e3', '99999999999', '', '5, 5', '7']));
      default:
        return mutate(random, this.#posted(random.pick(this.#bodies), 'POST /v1/redeem/g', ''));
    }
  }

  #posted(body: Buffer, what: string, fields: string, length = String(body.length)): Buffer {
    return Buffer.concat([Buffer.from(`${what} HTTP/1.1\r\nHost: west\r\nContent-Length: ${length}\r\n${fields}\r\n`, 'latin1'), body]);
  }
}

const METHODS = ['GET', 'PUT', 'CONNECT', 'PRI', 'OPTIONS', ''];
const PATHS = [
  '/v1/redeem/g',
  '/v1/redeem/../g',
  '/v1/redeem/%67',
  '/v1/redeem/__proto__',
  '/',
  `/${'x'.repeat(9_000)}`,
  '*',
  'https://other/v1/redeem/g',
  '/v1/redeem/g?x=%00',
];
const FIELDS = [
  'Transfer-Encoding: chunked\r\n',
  'Expect: 100-continue\r\n',
  'Upgrade: h2c\r\nConnection: upgrade\r\n',
  `X: ${'y'.repeat(9_000)}\r\n`,
  'A:\0b\r\n',
  'Host: other\r\n',
  ' folded\r\n',
];

/** @returns whether the connection was over in time */
async function closeOf(socket: TLSSocket, onText: (text: string) => void): Promise<boolean> {
  const timer = setTimeout(() => socket.destroy(new Error('too slow')), GIVE_UP);
  let isLate = false;
  socket.on('error', (error) => {
    isLate ||= error.message === 'too slow';
  });
  socket.on('data', (chunk: Buffer) => onText(chunk.toString('latin1')));
  await once(socket, 'close').catch(() => {});
  if (!socket.closed) await once(socket, 'close');
  clearTimeout(timer);
  return !isLate;
}
