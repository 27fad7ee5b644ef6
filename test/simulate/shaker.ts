import type { Endpoint, EndpointUser } from './endpoint.ts';
import { MESSAGE_BYTES, readMessage, writeMessage, type Message, type Ticket } from './node/handshake.ts';
import type { SecureContext } from './node/secure-context.ts';

/** The pace of a handshake: milliseconds of waiting, or for ever, before its first or its last message. */
export interface Manner {
  readonly before: 'first' | 'last';
  readonly pause: number | 'ever';
}

interface Party {
  readonly isServer: boolean;
  /** Certificate that it shows. */
  readonly context?: SecureContext;
  readonly session?: Ticket;
}

export const PROMPT: Manner = { before: 'first', pause: 0 };

/** A client or a server with TLS until its handshake is over. Later bytes are plain, since there are no eavesdroppers. */
export class Shaker implements EndpointUser {
  /** The server's. */
  answer: Message | undefined;
  readonly #endpoint: Endpoint;
  readonly #manner: Manner;
  readonly #party: Party;
  readonly #done: (isSecure: boolean) => void;
  #before: Buffer = Buffer.alloc(0);
  #over = false;

  /** @param done once, and then it has nothing more to do with the connection; where that is not secure, it is closed */
  constructor(endpoint: Endpoint, manner: Manner, party: Party, done: (isSecure: boolean) => void) {
    this.#endpoint = endpoint;
    this.#manner = manner;
    this.#party = party;
    this.#done = done;
  }

  begin(): void {
    this.#endpoint.user = this;
    const { isServer, session } = this.#party;
    if (!isServer) this.#say('first', () => this.#write({ kind: 'hello', session }));
    this.onReadable();
  }

  leave(how: 'reset' | 'close'): void {
    if (this.#over) return;
    if (how === 'reset') this.#endpoint.reset();
    this.#finish(false);
  }

  onReadable(): void {
    const endpoint = this.#endpoint;
    while (!this.#over && !endpoint.broken && !endpoint.closed) {
      const chunk = endpoint.read(MESSAGE_BYTES - this.#before.length);
      if (chunk === undefined) break;
      this.#before = Buffer.concat([this.#before, chunk]);
      if (this.#before.length < MESSAGE_BYTES) continue;
      const message = readMessage(this.#before);
      this.#before = Buffer.alloc(0);
      if (message?.kind === 'hello') this.#say('first', () => this.#write({ kind: 'answer', ...this.#shown }));
      else if (message?.kind === 'answer') this.#answered(message);
      else this.#finish(message?.kind === 'finished');
    }
    if (endpoint.broken || endpoint.closed || (endpoint.ended && endpoint.unread === 0)) this.#finish(false);
  }

  onWritable(): void {}

  get #shown(): Pick<Message, 'context'> {
    const { context } = this.#party;
    return context === undefined ? {} : { context };
  }

  #answered(answer: Message): void {
    this.answer = answer;
    this.#say('last', () => this.#end());
  }

  #say(word: Manner['before'], say: () => void): void {
    const { before, pause } = this.#manner;
    const { machine } = this.#endpoint;
    if (before !== word || pause === 0) say();
    else if (pause !== 'ever') machine.network.loop.after(pause, machine, () => !this.#over && say());
  }

  /** The last word is a client's. */
  #end(): void {
    this.#write({ kind: 'finished', ...this.#shown });
    this.#finish(!this.#endpoint.over);
  }

  #write(message: Message): void {
    if (!this.#endpoint.over) this.#endpoint.write(writeMessage(message));
  }

  #finish(isSecure: boolean): void {
    if (this.#over) return;
    this.#over = true;
    if (!isSecure) this.#endpoint.close();
    this.#done(isSecure);
  }
}
