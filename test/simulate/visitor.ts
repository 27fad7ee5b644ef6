import { hostOf } from './certificates.ts';
import type { RequestHead, ResponseHead, Session, Stream, StreamHandler } from '../../src/http2/contract.ts';
import { ErrorCode } from '../../src/http2/errors.ts';
import { createSession } from '../../src/http2/session.ts';
import type { Endpoint, EndpointUser } from './endpoint.ts';
import type { Due } from './loop.ts';
import type { Machine, Network } from './network.ts';
import { createSecureContext } from './node/secure-context.ts';
import { connect, type TLSSocket } from './node/tls.ts';
import { listenerPort, routingKey, type DesiredLink, type Site } from './site.ts';

/** Its certificate, of a link, and its target: the site at that link's other end. */
export interface VisitorOptions {
  readonly machine: Machine;
  readonly keys: number;
  readonly site: Site;
  readonly link: DesiredLink;
  readonly to: Site;
  /** Called for an unexpected error. */
  readonly onFault: (text: string) => void;
}

/** By what two let each other in. */
export interface Shown {
  readonly serial: string;
  /** Generation of the router's certificate, or of a later one. */
  readonly generation: number;
}

/** Milliseconds: until an attempt to connect is given up, between two questions whether the router is there, and for their answers. */
const PATIENCE = 3_000;
const ASK_EVERY = 2_000;

/**
 * A proxy with the certificate of a link: its clients get a connection through the access of the site at the link's other end, for which a
 * router needs no more than one request (docs/protocol.md, section 12).
 */
export class Visitor {
  readonly machine: Machine;
  readonly site: Site;
  readonly to: Site;
  /** Its connections. */
  readonly shown = new Map<TLSSocket, Shown>();
  readonly #options: VisitorOptions;
  readonly #network: Network;
  #socket: TLSSocket | undefined;
  #session: Session | undefined;
  /** For the session that is being opened. */
  #waiting: Passage[] = [];

  constructor(options: VisitorOptions) {
    this.#options = options;
    const { machine, site, to } = options;
    this.machine = machine;
    this.site = site;
    this.to = to;
    this.#network = machine.network;
    const again = (passage: Passage): void => void this.#network.loop.soon(machine, () => this.#come(passage));
    for (let key = 0; key < options.keys; key += 1) {
      const onConnection = (endpoint: Endpoint): void => this.#come(new Passage(endpoint, routingKey(key), again));
      machine.listen({ host: '127.0.0.1', port: listenerPort(key), shared: false, onConnection });
    }
  }

  /** Ends what it has, all at once. */
  leave(): void {
    for (const socket of this.shown.keys()) socket.destroy();
  }

  /** It accepts no clients any more, either. */
  close(): void {
    this.machine.listeners.clear();
    this.leave();
  }

  #come(passage: Passage): void {
    if (this.#session?.state === 'open') {
      passage.begin(this.#session);
      return;
    }
    this.#waiting.push(passage);
    if (this.#socket === undefined || this.#session !== undefined) this.#dial();
  }

  #dial(): void {
    const { link, site, to } = this.#options;
    const bundle = site.bundleOf({ ...link, ends: undefined });
    const socket = connect({
      host: hostOf(link.to),
      port: to.portOf(link.role),
      secureContext: createSecureContext(bundle),
      ALPNProtocols: ['h2'],
    });
    this.#socket = socket;
    this.#session = undefined;
    this.shown.set(socket, { serial: bundle.serial, generation: to.access.generation });
    const late = this.#after(PATIENCE, () => socket.destroy());
    socket.on('error', () => {});
    socket.once('secureConnect', () => {
      this.#network.loop.cancel(late);
      this.shown.set(socket, { serial: bundle.serial, generation: to.access.generation });
      this.#secure(socket);
    });
    socket.once('close', () => {
      this.#network.loop.cancel(late);
      this.shown.delete(socket);
      if (this.#socket !== socket) return;
      this.#socket = undefined;
      this.#session = undefined;
      for (const passage of this.#waiting.splice(0)) passage.onReset();
    });
  }

  #secure(socket: TLSSocket): void {
    const session = createSession(socket, {
      role: 'client',
      events: {
        onRequest: () => {
          throw new Error('A router asks nothing of its visitors.');
        },
        onReady: () => {},
        onGoaway: () => {},
        onClose: () => {},
        onInternalError: (part, error) =>
          this.#options.onFault(`a visitor's ${part}: ${error instanceof Error ? error.stack : String(error)}`),
      },
    });
    this.#session = session;
    this.#ask(session);
    for (const passage of this.#waiting.splice(0)) passage.begin(session);
  }

  /** A router that has lost its power says nothing. */
  #ask(session: Session): void {
    this.#after(ASK_EVERY, () => {
      if (session.state === 'closed') return;
      const lost = (): void => session.destroy();
      void session.ping(PATIENCE).then(() => this.#ask(session), lost);
    });
  }

  #after(milliseconds: number, run: () => void): Due {
    return this.#network.loop.after(milliseconds, this.machine, run, 'timer');
  }
}

/** One connection of a client of the proxy, and the stream that carries it. */
class Passage implements EndpointUser, StreamHandler {
  readonly #endpoint: Endpoint;
  readonly #head: RequestHead;
  readonly #again: (passage: Passage) => void;
  #hasTriedAgain = false;
  #stream: Stream | undefined;
  /** For the client. */
  #pending: Buffer[] = [];
  #isAnswered = false;
  #isFull = false;
  #hasSentEnd = false;
  #hasSeenEnd = false;
  #over = false;

  /** @param again asks for another session, where one is over before it has answered */
  constructor(endpoint: Endpoint, authority: string, again: (passage: Passage) => void) {
    this.#endpoint = endpoint;
    this.#again = again;
    this.#head = { method: 'CONNECT', authority, fields: {} };
    endpoint.user = this;
  }

  begin(session: Session): void {
    if (this.#over) return;
    if (session.state !== 'open') {
      this.onReset();
      return;
    }
    this.#stream = session.request(this.#head, this);
  }

  onReadable(): void {
    const endpoint = this.#endpoint;
    const stream = this.#stream;
    if (this.#over) return;
    if (endpoint.broken) {
      this.#finish();
      stream?.reset(ErrorCode.CANCEL);
      return;
    }
    if (stream === undefined || !this.#isAnswered) return;
    while (!this.#isFull) {
      const chunk = endpoint.read(65_536);
      if (chunk === undefined) break;
      this.#isFull = !stream.write(chunk);
    }
    if (!endpoint.ended || endpoint.unread > 0 || this.#hasSentEnd) return;
    this.#hasSentEnd = true;
    stream.end();
    this.#closeIfDone();
  }

  onWritable(): void {
    const endpoint = this.#endpoint;
    if (this.#over || endpoint.broken) return;
    for (;;) {
      const [first] = this.#pending;
      if (first === undefined) break;
      const taken = endpoint.write(first);
      this.#stream?.consumed(taken);
      if (taken < first.length) {
        this.#pending[0] = first.subarray(taken);
        return;
      }
      this.#pending.shift();
    }
    if (this.#hasSeenEnd) endpoint.shutdown();
    this.#closeIfDone();
  }

  onResponse({ status }: ResponseHead): void {
    this.#isAnswered = true;
    if (status === 200) {
      this.onReadable();
    } else {
      this.#stream?.reset(ErrorCode.CANCEL);
      this.onReset();
    }
  }

  onData(chunk: Buffer): void {
    this.#pending.push(Buffer.from(chunk));
    if (this.#pending.length === 1) this.onWritable();
  }

  onEnd(): void {
    this.#hasSeenEnd = true;
    this.onWritable();
  }

  onDrain(): void {
    this.#isFull = false;
    this.onReadable();
  }

  onReset(): void {
    if (this.#over) return;
    if (this.#stream !== undefined && !this.#isAnswered && !this.#hasTriedAgain) {
      this.#hasTriedAgain = true;
      this.#stream = undefined;
      this.#again(this);
      return;
    }
    this.#endpoint.reset();
    this.#finish();
  }

  #closeIfDone(): void {
    if (!this.#hasSentEnd || !this.#hasSeenEnd || this.#pending.length > 0) return;
    this.#endpoint.close();
    this.#finish();
  }

  #finish(): void {
    this.#over = true;
    this.#endpoint.close();
  }
}
