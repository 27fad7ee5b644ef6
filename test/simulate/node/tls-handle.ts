import { random, surroundings } from '../current.ts';
import { Code, type WriteRequest } from './internals.ts';
import { StreamHandle } from './handle.ts';
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

/** What lets a client in again. */
export interface Ticket {
  readonly of: SecureContext;
  readonly client: SecureContext;
}

/** A message of the handshake: what it holds stands beside the bytes, as certificates are objects here. */
interface Message {
  readonly kind: 'hello' | 'answer' | 'finished' | 'alert';
  readonly secret?: Buffer;
  readonly protocols?: readonly string[];
  readonly alpn?: string | undefined;
  readonly context?: SecureContext;
  readonly session?: Ticket | undefined;
  readonly resumed?: boolean;
  readonly alert?: string;
}

/** The first byte of a record of TLS's handshake, and the bytes of a message: its number, so that it is found among those under way. */
const RECORD = 0x16;
const MESSAGE_BYTES = 8;
const messages = new WeakMap<object, Map<number, Message>>();

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
    super.close(done);
    this.onClose();
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
      const message = this.#before[0] === RECORD ? this.#find(this.#before.readUInt32BE(4)) : undefined;
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
    if (this.peer !== undefined && !this.#options.isServer) this.ticket = { of: this.peer, client: this.#options.secureContext };
    this.onGreeting({ peer: this.peer, alpn, resumed: this.resumed });
  }

  #fail(code: string): void {
    this.#over = true;
    this.onFailure(code);
  }

  #say(message: Message): void {
    const { loop } = surroundings();
    const known = messages.get(loop) ?? new Map<number, Message>();
    messages.set(loop, known);
    const number = known.size + 1;
    known.set(number, message);
    const bytes = Buffer.alloc(MESSAGE_BYTES);
    bytes[0] = RECORD;
    bytes.writeUInt32BE(number, 4);
    super.write([bytes]);
  }

  #find(number: number): Message | undefined {
    return messages.get(surroundings().loop)?.get(number);
  }
}
