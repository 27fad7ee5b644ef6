/**
 * `node tcp-peer.ts listen|connect HOST PORT STEP...`: one end of one TCP connection, which does these steps in order and ends with 0, or
 * with 1 and what was otherwise than the steps say, or when a step but `stay` takes more than 20 s. It prints `listening` once it does.
 *
 *   say:TEXT     sends TEXT                  hear:TEXT    the next bytes are TEXT
 *   pour:N       sends N bytes               drink:N      the next N bytes are those
 *   end          sends FIN                   hear-end     FIN comes next, and not before
 *   reset        sends RST, and is done      hear-reset   RST comes: no FIN before it but one that was heard
 *   stay         does nothing, until it is killed
 */
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { setTimeout as pass } from 'node:timers/promises';

const PATIENCE = 20_000;

class Peer {
  readonly #socket: Socket;
  #heard: Buffer = Buffer.alloc(0);
  #ended = false;
  #heardEnd = false;
  #error: NodeJS.ErrnoException | undefined;
  #changed = Promise.withResolvers<void>();

  constructor(socket: Socket) {
    this.#socket = socket;
    socket.setNoDelay();
    socket.on('data', (chunk: Buffer) => {
      this.#heard = this.#heard.length === 0 ? chunk : Buffer.concat([this.#heard, chunk]);
      this.#change();
    });
    socket.on('end', () => {
      this.#ended = true;
      this.#change();
    });
    socket.on('error', (error) => {
      this.#error = error;
      this.#change();
    });
  }

  async do(step: string): Promise<void> {
    const [name = '', ...rest] = step.split(':');
    const given = rest.join(':');
    switch (name) {
      case 'say':
        return this.#send(Buffer.from(given));
      case 'pour':
        return this.#pour(Number(given));
      case 'end': {
        this.#socket.end();
        return;
      }
      case 'reset': {
        this.#socket.resetAndDestroy();
        return;
      }
      case 'hear':
        return this.#hear(Buffer.from(given));
      case 'drink':
        return this.#drink(Number(given));
      case 'hear-end':
        return this.#hearEnd();
      case 'hear-reset':
        return this.#hearReset();
      case 'stay':
        return this.#failure();
      default:
        throw new Error(`${step} is no step`);
    }
  }

  async #send(bytes: Buffer): Promise<void> {
    if (!this.#socket.write(bytes)) await Promise.race([once(this.#socket, 'drain'), this.#failure()]);
  }

  async #pour(count: number): Promise<void> {
    for (let at = 0; at < count; at += CHUNK) await this.#send(pattern(at, Math.min(CHUNK, count - at)));
  }

  async #drink(count: number): Promise<void> {
    for (let at = 0; at < count; at += CHUNK) await this.#hear(pattern(at, Math.min(CHUNK, count - at)));
  }

  async #hear(wanted: Buffer): Promise<void> {
    await this.#until(() => this.#heard.length >= wanted.length || this.#ended);
    const next = this.#heard.subarray(0, wanted.length);
    if (!next.equals(wanted)) throw new Error(`heard ${say(next)}${this.#ended ? ' and the end' : ''} instead of ${say(wanted)}`);
    this.#heard = this.#heard.subarray(wanted.length);
  }

  async #hearEnd(): Promise<void> {
    await this.#until(() => this.#ended || this.#heard.length > 0);
    if (this.#heard.length > 0) throw new Error(`heard ${say(this.#heard)} instead of the end`);
    this.#heardEnd = true;
  }

  /**
   * Bytes on their way when the connection was reset may arrive or not: TCP drops them. After an end Node.js stops reading,
   * and only a write shows the reset.
   */
  async #hearReset(): Promise<void> {
    while (this.#error === undefined) {
      if (this.#ended && !this.#heardEnd) throw new Error('heard an orderly end instead of a reset');
      this.#heard = Buffer.alloc(0);
      if (this.#ended) this.#socket.write('.');
      await Promise.race([this.#changed.promise, ...(this.#ended ? [pass(50)] : [])]);
    }
    if (this.#error.code !== 'ECONNRESET' && this.#error.code !== 'EPIPE') throw this.#error;
  }

  async #until(isSo: () => boolean): Promise<void> {
    while (!isSo()) {
      if (this.#error !== undefined) throw this.#error;
      await this.#changed.promise;
    }
  }

  async #failure(): Promise<never> {
    await this.#until(() => false);
    throw new Error('not reached');
  }

  #change(): void {
    this.#changed.resolve();
    this.#changed = Promise.withResolvers<void>();
  }
}

const CHUNK = 65_536;

/** Bytes that encode their position: every 4 are their own offset. */
function pattern(from: number, length: number): Buffer {
  const bytes = Buffer.alloc(Math.ceil(length / 4) * 4);
  for (let at = 0; at < bytes.length; at += 4) bytes.writeUInt32LE(from + at, at);
  return bytes.subarray(0, length);
}

const say = (bytes: Buffer): string => `${bytes.length} bytes ${JSON.stringify(bytes.subarray(0, 40).toString('latin1'))}`;

async function accepted(host: string, port: number): Promise<Socket> {
  const server = createServer({ allowHalfOpen: true });
  server.listen({ host, port }, () => console.log('listening'));
  const { promise, resolve } = Promise.withResolvers<Socket>();
  server.on('connection', resolve);
  const socket = await promise;
  server.close();
  return socket;
}

const [role, host = '', port = '', ...steps] = process.argv.slice(2);
const socket = role === 'listen' ? await accepted(host, Number(port)) : connect({ host, port: Number(port), allowHalfOpen: true });
const peer = new Peer(socket);
for (const step of steps) {
  // A timer also keeps a staying end alive: a socket that was reset holds no process.
  const late =
    step === 'stay'
      ? setInterval(() => undefined, PATIENCE)
      : setTimeout(() => {
          console.log(`${step}: waited ${PATIENCE / 1000} s`);
          process.exit(1);
        }, PATIENCE);
  try {
    await peer.do(step);
  } catch (error) {
    console.log(`${step}: ${error instanceof Error ? error.message : String(error)}`);
    process.exit(1);
  }
  clearTimeout(late);
  console.log(step);
}
