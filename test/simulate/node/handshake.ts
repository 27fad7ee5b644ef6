/** The messages of a TLS handshake: what they hold stands beside the bytes, as certificates are objects here. */
import { surroundings } from '../current.ts';
import type { SecureContext } from './secure-context.ts';

/** Ticket that lets a client resume. */
export interface Ticket {
  readonly of: SecureContext;
  readonly client: SecureContext;
}

export interface Message {
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
export const MESSAGE_BYTES = 8;
const messages = new WeakMap<object, Map<number, Message>>();

export function writeMessage(message: Message): Buffer {
  const { loop } = surroundings();
  const known = messages.get(loop) ?? new Map<number, Message>();
  messages.set(loop, known);
  const number = known.size + 1;
  known.set(number, message);
  const bytes = Buffer.alloc(MESSAGE_BYTES);
  bytes[0] = RECORD;
  bytes.writeUInt32BE(number, 4);
  return bytes;
}

/** @returns undefined where the bytes are none of TLS */
export function readMessage(bytes: Buffer): Message | undefined {
  return bytes[0] === RECORD ? messages.get(surroundings().loop)?.get(bytes.readUInt32BE(4)) : undefined;
}
