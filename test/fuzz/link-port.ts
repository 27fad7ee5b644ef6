import assert from 'node:assert/strict';
import { connect as connectTcp, type Socket } from 'node:net';
import { connect as connectTls, type ConnectionOptions } from 'node:tls';
import { Random } from '../../bench/routing/random.ts';
import type { TlsBundle } from '../../src/router/contract.ts';
import { testAuthority } from '../unit/router/support/certificates.ts';
import { pair } from '../unit/router/support/networks.ts';
import { beginning, FrameSource } from './frames.ts';
import { LINK_REQUESTS, routingBytes, routingRequest } from './link-words.ts';
import { mutate } from './mutate.ts';
import { Fault, type Plan, type Tally, type Target } from './target.ts';

/** The access port of a real router, over TCP and TLS, while another site's link and its clients use the same router. */
export const linkPort: Target = {
  what: 'frames and handshakes at a real access port, some hundred a connection',
  cases: 1_000_000,
  heapKilobytes: 32_768,
  slowest: 15_000,
  run,
};

/** Connections side by side. */
const SIDE_BY_SIDE = 8;
const MOST_FRAMES = 300;
const GIVE_UP = 10_000;

async function run(plan: Plan): Promise<Tally> {
  const authority = await testAuthority();
  const [good, foreign] = [await authority.issue(), await (await testAuthority()).issue()];
  await using net = await pair(authority);

  const sum = { accepted: 0, refused: 0, connections: 0, tls: 0 };
  let done = 0;
  let number = plan.first;
  while (done < plan.cases) {
    const attacks = Array.from({ length: SIDE_BY_SIDE }, () => new Attack(plan.seed, number++, net.access, good, foreign));
    const ended = await Promise.all(attacks.map((attack) => attack.run()));
    for (const { cases, heard, isTls } of ended) {
      done += cases;
      sum.connections += 1;
      sum.tls += isTls ? 1 : 0;
      sum[heard ? 'refused' : 'accepted'] += cases;
    }
    try {
      await net.service();
      assert.equal(net.client.state.links['server']?.operational, true, 'the link beside it has stayed up');
    } catch (error) {
      throw new Fault(`link-port, seed ${plan.seed}, connections up to ${number}`, attacks.map(({ said }) => said).join(' | '), error);
    }
    plan.step(ended.reduce((cases, each) => cases + each.cases, 0));
  }
  const { accepted, refused, ...notes } = sum;
  return { cases: done, accepted, refused, notes };
}

interface Ended {
  readonly cases: number;
  /** The other end closed the connection, before this end gave it up. */
  readonly heard: boolean;
  readonly isTls: boolean;
}

/** One connection of an unauthenticated client, or of a peer with a valid certificate that does as it likes. */
class Attack {
  readonly #random: Random;
  readonly #port: number;
  readonly #good: TlsBundle;
  readonly #foreign: TlsBundle;
  readonly #where: string;
  #frames: Buffer[] = [];

  constructor(seed: number, number: number, port: number, good: TlsBundle, foreign: TlsBundle) {
    this.#random = new Random(Math.imul(seed, 0x9e37_79b1) ^ Math.imul(number, 0x85eb_ca6b));
    this.#where = `link-port, seed ${seed}, connection ${number}`;
    this.#port = port;
    this.#good = good;
    this.#foreign = foreign;
  }

  get said(): string {
    return Buffer.concat(this.#frames).toString('hex').slice(0, 2_000);
  }

  async run(): Promise<Ended> {
    const random = this.#random;
    const kind = random.below(10);
    const isTls = kind > 0;
    const socket = isTls ? connectTls(this.#options(kind)) : connectTcp(this.#port, '127.0.0.1');
    this.#frames = kind === 0 ? this.#noTls() : this.#someFrames();
    const ended = endOf(socket, this.#where);
    socket.once(isTls ? 'secureConnect' : 'connect', () => {
      for (const frame of this.#frames) socket.write(frame);
      // Some leave in order, some stay until they are shown out, some tear the connection.
      if (random.below(3) > 0) socket.end();
      else if (random.below(2) === 0) setTimeout(() => socket.destroy(), random.below(30));
      else setTimeout(() => socket.end(), 100);
    });
    return { cases: this.#frames.length, heard: await ended, isTls };
  }

  #options(kind: number): ConnectionOptions {
    const { cert = '', key = '' } = kind === 2 ? this.#foreign : this.#good;
    const { ca = '' } = this.#good;
    return {
      host: '127.0.0.1',
      port: this.#port,
      ca,
      rejectUnauthorized: false,
      ...(kind === 1 ? {} : { cert, key }),
      ...(kind === 3 ? { ALPNProtocols: ['http/1.1'] } : { ALPNProtocols: [this.#random.below(4) === 0 ? 'earshot-reverse/1' : 'h2'] }),
    };
  }

  #someFrames(): Buffer[] {
    const random = this.#random;
    const source = new FrameSource(random, 'client', LINK_REQUESTS);
    const frames = [...beginning(random, 'client'), ...(random.below(2) === 0 ? [routingRequest(random)] : [])];
    for (let left = random.below(MOST_FRAMES); left > 0; left -= 1)
      frames.push(random.below(6) === 0 ? routingBytes(random) : source.next());
    return frames;
  }

  /** Instead of a handshake: garbage, or the beginning of one. */
  #noTls(): Buffer[] {
    const random = this.#random;
    const hello = Buffer.from('16030100c8010000c403030000000000000000000000000000000000000000000000000000000000000000', 'hex');
    return Array.from({ length: 1 + random.below(5) }, () =>
      random.below(2) === 0 ? random.bytes(random.below(600)) : mutate(random, hello),
    );
  }
}

/** Resolves once the connection is over. @returns whether the other end was the first to say anything against it */
function endOf(socket: Socket, where: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    let heard = false;
    const timer = setTimeout(() => {
      socket.destroy();
      reject(new Error(`${where}: neither end closed the connection within ${GIVE_UP / 1_000} s`));
    }, GIVE_UP);
    socket.on('error', () => {
      heard = true;
    });
    socket.on('end', () => {
      heard ||= !socket.writableEnded;
      socket.destroy();
    });
    socket.resume();
    socket.once('close', () => {
      clearTimeout(timer);
      resolve(heard);
    });
  });
}
