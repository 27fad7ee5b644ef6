import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { connect, createSecureContext, createServer, type SecureContext } from 'node:tls';
import { Random } from '../../bench/routing/random.ts';
import type { TlsBundle } from '../../src/router/contract.ts';
import { LinkError } from '../../src/router/link/link-errors.ts';
import { openBundle } from '../../src/router/link/bundle.ts';
import { dialTls } from '../../src/router/link/dial/tls-dial.ts';
import { FORWARD, REVERSE } from '../../src/router/wire.ts';
import { connectServer, type ServerResult } from '../../src/router/local/server-connection.ts';
import { issueBundle } from '../../src/trust/issue.ts';
import type { Authority } from '../../src/trust/contract.ts';
import { pair } from '../unit/router/support/networks.ts';
import { internalErrors } from './internal-errors.ts';
import { oddAuthority, oddCertificate, type OddCertificate } from './odd-certificates.ts';
import { Fault, type Plan, type Tally, type Target } from './target.ts';

/** Certificates of unauthenticated peers, and of sites with their own authorities: shown to an access port, to a dialing link and to a connector with TLS. */
export const certificates: Target = {
  what: 'certificates, one a TLS handshake',
  cases: 200_000,
  heapKilobytes: 32_768,
  slowest: 15_000,
  run,
};

const SIDE_BY_SIDE = 8;
const DEADLINE = 10_000;

/** How a handshake ended; `unusable` where the one who shows it cannot load it either. */
type Outcome = 'accepted' | 'refused' | 'unusable';

async function run(plan: Plan): Promise<Tally> {
  const authority = oddAuthority();
  const bundle = (name: string): TlsBundle =>
    issueBundle(authority, name, { subject: name, hosts: ['127.0.0.1', 'localhost'], server: true, client: true });
  await using net = await pair({ issue: async () => bundle('site') });
  const target = { port: net.access, bundle: bundle('dialing'), authority };

  const sum = { accepted: 0, refused: 0, unusable: 0 };
  const before = await internalErrors();
  for (let done = 0; done < plan.cases; done += SIDE_BY_SIDE) {
    const numbers = Array.from({ length: Math.min(SIDE_BY_SIDE, plan.cases - done) }, (_, at) => plan.first + done + at);
    const cases = numbers.map((number) => new Case(plan.seed, number, target));
    try {
      for (const outcome of await Promise.all(cases.map((each) => each.run()))) sum[outcome] += 1;
      await net.service();
      assert.equal(net.client.state.links['server']?.operational, true, 'the link beside it has stayed up');
      assert.equal(await internalErrors(), before, 'there were no unexpected errors');
    } catch (error) {
      throw new Fault(
        `certificates, seed ${plan.seed}, cases ${numbers[0]} to ${numbers.at(-1)}`,
        cases.map(({ said }) => said).join(' | '),
        error,
      );
    }
    plan.step(numbers.length);
  }
  const { accepted, refused, unusable } = sum;
  return { cases: plan.cases, accepted, refused, notes: { unusable } };
}

interface Attacked {
  readonly port: number;
  readonly bundle: TlsBundle;
  readonly authority: Authority;
}

class Case {
  readonly #random: Random;
  readonly #target: Attacked;
  readonly #shown: OddCertificate;

  constructor(seed: number, number: number, target: Attacked) {
    this.#random = new Random(Math.imul(seed, 0x9e37_79b1) ^ Math.imul(number, 0x85eb_ca6b));
    this.#target = target;
    this.#shown = oddCertificate(this.#random, this.#random.below(2) === 0 ? target.authority : undefined);
  }

  get said(): string {
    return this.#shown.what;
  }

  async run(): Promise<Outcome> {
    let context: SecureContext;
    try {
      const { cert, key } = this.#shown;
      context = createSecureContext({ cert, key });
    } catch {
      return 'unusable';
    }
    switch (this.#random.below(3)) {
      case 0:
        return this.#strange(context);
      case 1:
        return this.#answer((port) => this.#dial(port));
      default:
        return this.#answer((port) => this.#serve(port));
    }
  }

  /** Comes to the access port. */
  async #strange(secureContext: SecureContext): Promise<Outcome> {
    const protocols = this.#random.pick([[FORWARD], [FORWARD], [REVERSE], []]);
    const socket = connect({
      host: '127.0.0.1',
      port: this.#target.port,
      secureContext,
      rejectUnauthorized: false,
      ALPNProtocols: protocols,
    });
    socket.on('error', () => {});
    // A server's first frame is SETTINGS; one that refuses says nothing more than GOAWAY after an empty one.
    const heard = Promise.withResolvers<Outcome>();
    socket.once('data', (chunk: Buffer) => heard.resolve(chunk.readUIntBE(0, 3) > 0 ? 'accepted' : 'refused'));
    socket.once('close', () => heard.resolve('refused'));
    const timer = setTimeout(() => heard.reject(new Error('the access port neither greets nor refuses')), DEADLINE);
    try {
      return await heard.promise;
    } finally {
      clearTimeout(timer);
      socket.destroy();
    }
  }

  /** Is what answers where the router dials. */
  async #answer(dial: (port: number) => Promise<Outcome>): Promise<Outcome> {
    const { cert, key } = this.#shown;
    const server = createServer({ cert, key, ALPNProtocols: [FORWARD] }, (socket) => socket.on('error', () => {}).resume());
    server.on('tlsClientError', () => {});
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    try {
      // A TCP server that listens has an address.
      return await dial((server.address() as AddressInfo).port);
    } finally {
      server.close();
    }
  }

  async #dial(port: number): Promise<Outcome> {
    const bundle = openBundle(this.#target.bundle, 'client');
    const signal = AbortSignal.timeout(DEADLINE);
    try {
      const socket = await dialTls({ endpoint: { host: '127.0.0.1', port }, bundle, protocol: FORWARD, deadline: DEADLINE, signal });
      socket.destroy();
      return 'accepted';
    } catch (error) {
      assert.ok(error instanceof LinkError, String(error));
      assert.match(error.message, /^[\x20-\x7e]{1,800}$/);
      return 'refused';
    }
  }

  async #serve(port: number): Promise<Outcome> {
    const { context } = openBundle(this.#target.bundle, 'client');
    const { promise, resolve } = Promise.withResolvers<ServerResult>();
    connectServer({ host: '127.0.0.1', port }, { context, verifyHostname: this.#random.below(2) === 0 }, DEADLINE, resolve);
    const result = await promise;
    if (result.kind === 'failed') return 'refused';
    result.socket.destroy();
    result.raw.destroy();
    return 'accepted';
  }
}
