import type { Socket } from 'node:net';
import type { Session, Stream, StreamHandler } from '../../../../../src/http2/contract.ts';
import { createSession } from '../../../../../src/http2/session.ts';
import { frameMessage } from '../../../../../src/router/link/session/framing.ts';
import { readHello, writeHello } from '../../../../../src/router/link/session/hello.ts';
import { OneMessage } from '../../../../../src/router/link/session/one-message.ts';
import { RoutingStream } from '../../../../../src/router/link/session/routing-stream.ts';
import { LinkError } from '../../../../../src/router/link/link-errors.ts';
import { ATTACH_PATH, AUTHORITY, EXPORTER_BYTES, REVERSE } from '../../../../../src/router/wire.ts';
import { KeyedCpuBudget } from '../../../../../src/limits/cpu-budget.ts';
import { loopback, type Loopback } from '../../../http2/support/loopback.ts';
import { siteConfig } from '../../support/site.ts';

export interface Manners {
  /** Between the hellos and its attaching. */
  beforeAttach?(acceptor: Acceptor): void | Promise<void>;
  /** The name of the router that answers on second connections; left out, it is the same. */
  attaches?(attempt: number): string;
  /** Has a request open on each second connection that it never ends. */
  readonly lingers?: boolean;
  /** Before it takes a second connection for its link's; left out, it says that it has at once. @throws LinkError where it does not */
  takes?(): Promise<void>;
  /** The dialing router took a second connection. */
  attached?(acceptor: Acceptor): void;
}

const NO_EXPORTER = Buffer.alloc(EXPORTER_BYTES);
const OURS = { exporter: NO_EXPORTER, role: 'server' } as const;
const THEIRS = { exporter: NO_EXPORTER, role: 'client' } as const;
const REFUSED = { onResponse() {}, onData() {}, onEnd() {}, onDrain() {}, onReset() {} } satisfies StreamHandler;

/** A router that is dialed, as between siblings: without TLS. */
export class Acceptor implements AsyncDisposable {
  readonly dialed: string[] = [];
  /** Routing stream of the link that was opened last. */
  routing: RoutingStream | undefined;
  readonly #config = siteConfig('acceptor');
  readonly #manners: Manners;
  readonly #lines: Loopback[] = [];
  #link = { id: '', cost: 1 };

  constructor(manners: Manners = {}) {
    this.#manners = manners;
  }

  /** Number of connections that their dialers keep open. */
  get open(): number {
    return this.#lines.filter(({ near }) => !near.destroyed).length;
  }

  readonly dial = async (protocol: string): Promise<Socket> => {
    this.dialed.push(protocol);
    const line = await loopback();
    this.#lines.push(line);
    if (protocol === REVERSE) void this.#attach(line.far);
    else this.#welcome(line.far);
    return line.near;
  };

  async [Symbol.asyncDispose](): Promise<void> {
    for (const line of this.#lines) await line[Symbol.asyncDispose]();
  }

  #welcome(socket: Socket): void {
    session(socket, 'server', (stream) => {
      const routing = new RoutingStream(
        {
          onHello: (message) => {
            this.#link = readHello(message, THEIRS).link;
            stream.respond({ status: 200, fields: {} });
            routing.send(this.#hello());
            this.routing = routing;
          },
          onMessage() {},
          onEnd() {},
          onFault() {},
        },
        new KeyedCpuBudget(1, Infinity).of('anybody'),
      );
      routing.use(stream);
      return routing;
    });
  }

  async #attach(socket: Socket): Promise<void> {
    const peer = session(socket, 'client', () => REFUSED);
    const attempt = this.dialed.filter((protocol) => protocol === REVERSE).length;
    await this.#manners.beforeAttach?.(this);
    if (peer.state !== 'open') return;
    if (this.#manners.lingers === true) peer.request({ method: 'POST', authority: AUTHORITY, path: '/', fields: {} }, REFUSED);
    const answer = new OneMessage(60_000, () => new LinkError('protocol', 'refused'));
    const stream = peer.request({ method: 'POST', authority: AUTHORITY, path: ATTACH_PATH, fields: {} }, answer);
    answer.use(stream);
    stream.write(frameMessage(this.#hello(this.#manners.attaches?.(attempt))));
    const { takes } = this.#manners;
    if (takes === undefined) stream.end();
    try {
      await answer.message;
      if (takes !== undefined) await takes();
      stream.end();
    } catch (error) {
      peer.destroy(error instanceof LinkError ? new Error(`${error.code}: ${error.message}`) : undefined);
      return;
    }
    this.#manners.attached?.(this);
  }

  #hello(router = 'main'): Buffer {
    const { site, siteKey } = this.#config;
    return writeHello({ versions: [1], router, site, edge: false, link: this.#link }, siteKey, OURS);
  }
}

function session(socket: Socket, role: 'client' | 'server', onRequest: (stream: Stream) => StreamHandler): Session {
  socket.on('error', () => {});
  return createSession(socket, {
    role,
    events: {
      onRequest,
      onReady() {},
      onGoaway() {},
      onClose() {},
      onInternalError(_part, error) {
        throw error;
      },
    },
  });
}
