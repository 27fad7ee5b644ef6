import { random, surroundings } from '../current.ts';
import { Code, type WriteRequest } from './internals.ts';
import { StreamHandle } from './handle.ts';
import { MESSAGE_BYTES, readMessage, writeMessage, type Message, type Ticket } from './handshake.ts';
import type { SecureContext } from './secure-context.ts';

export interface Greeting {
  readonly peer: SecureContext | undefined;
  readonly alpn: string | undefined;
  readonly resumed: boolean;
}

interface HandshakeOptions {
  readonly isServer: boolean;
  readonly secureContext: SecureContext;
  readonly ALPNProtocols?: readonly string[];
  readonly requestCert?: boolean;
  /** A ticket of a connection before. */
  readonly session?: Ticket;
}

/** TLS 1.3 above a socket: a hello, an answer, a last word of the client; and then bytes. */
export class TlsHandle extends StreamHandle {
  onGreeting: (greeting: Greeting) => void = () => {};
  onFailure: (code: string) => void = () => {};
  onClose: () => void = () => {};
  secret: Buffer = Buffer.alloc(0);
  peer: SecureContext | undefined;
  resumed = false;
  ticket: Ticket | undefined;
  isSecure = false;
  readonly #options: HandshakeOptions;
  #started = false;
  #over = false;
  #before: Buffer = Buffer.alloc(0);
  #alpn: string | undefined;
  /** The event in which its handshake ended: OpenSSL reports that during its work, with all resulting ticks and promises. */
  #doneIn: number | undefined;

  constructor(options: HandshakeOptions) {
    super();
    this.#options = options;
  }

  start(): void {
    this.#started = true;
    const { isServer, ALPNProtocols: protocols = [], session } = this.#options;
    if (!isServer) {
      this.secret = random().bytes(16);
      this.#say({ kind: 'hello', secret: this.secret, protocols, session });
    }
    this.lookAgain();
  }

  override close(done?: () => void): void {
    const { loop } = surroundings();
    // If the socket below is closed already, Node.js frees OpenSSL's part at once, even within a call of OpenSSL itself.
    if (this.#doneIn === loop.ran && this.endpoint?.closed === true)
      loop.thrown.push(new Error('OpenSSL would be freed while it is at work: a socket and the one below it end as their handshake does'));
    super.close(done);
    this.onClose();
  }

  override onReadable(): void {
    // Its process was killed: the rest is never read.
    if (!this.#over && this.endpoint?.broken === true && this.endpoint.closed) this.#fail('ECONNRESET');
    super.onReadable();
  }

  protected override get wants(): boolean {
    return this.#started && (!this.isSecure ? !this.#over : this.reading);
  }

  protected override received(chunk: Buffer): void {
    if (this.isSecure) {
      this.give(chunk);
      return;
    }
    this.#before = Buffer.concat([this.#before, chunk]);
    while (!this.isSecure && !this.#over && this.#before.length >= MESSAGE_BYTES) {
      const message = readMessage(this.#before);
      if (message === undefined) {
        this.#fail('ERR_SSL_WRONG_VERSION_NUMBER');
        return;
      }
      this.#before = this.#before.subarray(MESSAGE_BYTES);
      this.#hear(message);
    }
    if (!this.isSecure || this.#before.length === 0) return;
    const rest = this.#before;
    this.#before = Buffer.alloc(0);
    this.give(rest);
  }

  /** Encryption ends in a later turn: until then a write is under way. */
  protected override write(chunks: readonly Uint8Array[]): number | WriteRequest {
    const result = super.write(chunks);
    if (result !== 0) return result;
    const request: WriteRequest = { writeStatus: null };
    surroundings().loop.soon(this.machine, () => request.oncomplete?.(this.endpoint?.broken === true ? Code.EPIPE : 0));
    return request;
  }

  #hear(message: Message): void {
    switch (message.kind) {
      case 'hello':
        this.#answer(message);
        break;
      case 'answer':
        this.secret = Buffer.concat([this.secret, message.secret ?? Buffer.alloc(0)]);
        this.peer = message.context;
        this.resumed = message.resumed === true;
        this.#say({ kind: 'finished', context: this.#options.secureContext });
        this.#done(message.alpn);
        break;
      case 'finished':
        if (!this.resumed && this.#options.requestCert === true) this.peer = message.context;
        this.#done(this.#alpn);
        break;
      case 'alert':
        this.#fail(message.alert ?? 'ERR_SSL_ALERT');
    }
  }

  #answer({ secret = Buffer.alloc(0), protocols = [], session }: Message): void {
    const { secureContext, ALPNProtocols } = this.#options;
    this.#alpn = ALPNProtocols?.find((protocol) => protocols.includes(protocol));
    if (ALPNProtocols !== undefined && protocols.length > 0 && this.#alpn === undefined) {
      this.#say({ kind: 'alert', alert: 'ERR_SSL_TLSV1_ALERT_NO_APPLICATION_PROTOCOL' });
      this.#fail('ERR_SSL_NO_APPLICATION_PROTOCOL');
      return;
    }
    const own = random().bytes(16);
    this.secret = Buffer.concat([secret, own]);
    this.resumed = session !== undefined && secureContext.resumes && session.of.certificate === secureContext.certificate;
    if (this.resumed) this.peer = session?.client;
    this.#say({ kind: 'answer', secret: own, alpn: this.#alpn, context: secureContext, resumed: this.resumed });
  }

  #done(alpn: string | undefined): void {
    this.isSecure = true;
    this.#over = true;
    this.#doneIn = surroundings().loop.ran;
    if (this.peer !== undefined && !this.#options.isServer) this.ticket = { of: this.peer, client: this.#options.secureContext };
    this.onGreeting({ peer: this.peer, alpn, resumed: this.resumed });
  }

  #fail(code: string): void {
    this.#over = true;
    this.onFailure(code);
  }

  #say(message: Message): void {
    super.write([writeMessage(message)]);
  }
}
