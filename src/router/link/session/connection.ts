import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import { bounded, reportInternalError } from '../../../telemetry/boundary.ts';
import { LinkError } from '../link-errors.ts';
import type { RequestHead, Session, Stream, StreamHandler, StreamReset } from '../../../http2/contract.ts';
import { createSession } from '../../../http2/session.ts';
import { AdmissionSlots } from '../../../limits/admission-slots.ts';
import { limitTable } from '../../../limits/table.ts';
import type { PeerLoopQuotas } from '../../../limits/loop/loop-quota.ts';
import { COST } from '../../../memory/costs.ts';
import type { MemoryUser } from '../../../memory/memory-users.ts';
import type { Memory } from '../../../memory/memory.ts';
import type { Binding } from './hello.ts';
import type { Liveness, Watched } from './liveness.ts';
import { countTraffic } from './traffic-metrics.ts';
import { EXPORTER_BYTES, EXPORTER_LABEL } from '../../wire.ts';

/** Events of a connection for its owner. */
export interface ConnectionEvents {
  onRequest(stream: Stream, head: RequestHead): StreamHandler;
  /** The peer accepts no more streams. */
  onGoaway(reason: StreamReset): void;
  /** `silentSince` has changed. */
  onSilence(): void;
  /** Called once. `error` is the socket's error, if any. */
  onClose(reason: StreamReset, error: Error | undefined): void;
}

export interface ConnectionOptions {
  readonly socket: Socket;
  /** Whether this end opened the connection. */
  readonly dialed: boolean;
  /** Whether this end opens requests on it (client) or the peer does (server). */
  readonly role: 'client' | 'server';
  /** Owner whose fair share of memory it counts against. */
  readonly owner: string;
  readonly host: {
    readonly liveness: Liveness;
    readonly memory: Memory;
    readonly turns: PeerLoopQuotas;
    readonly closing: AdmissionSlots<Socket>;
  };
  readonly events: ConnectionEvents;
}

/** Creates slots for sockets whose session is closed and whose last frames are still being sent. No other limit counts them. */
export function createClosingSlots(): AdmissionSlots<Socket> {
  return new AdmissionSlots({ most: limitTable.closingSockets.value, mostOfGroup: limitTable.closingSocketsOfPeer.value });
}

/** One HTTP/2 connection of a link, with liveness checks. */
export class Connection implements Watched, MemoryUser {
  readonly kind = 'peer';
  readonly owner: string;
  /** Its routing stream, for memory accounting. */
  routing: { readonly held: number } | undefined;
  readonly session: Session;
  /** Bindings of the hello that this end sends, and of the one that it receives. */
  readonly ours: Binding;
  readonly theirs: Binding;
  /** Round-trip time of the last ping, in milliseconds. */
  roundTrip: number | undefined;
  /** Time of the last bytes in milliseconds since 1970, while the peer is silent for so long that other paths are preferred. */
  silentSince: number | undefined;
  /** Whether it was closed for silence: the peer, or the path to it, is likely to be gone for a while. */
  fellSilent = false;
  readonly #socket: Socket;
  readonly #events: ConnectionEvents;
  #error: Error | undefined;
  #counted: () => void = () => {};

  constructor(options: ConnectionOptions) {
    const { socket, dialed, events } = options;
    const { liveness, memory, turns, closing } = options.host;
    this.owner = options.owner;
    this.#socket = socket;
    this.#events = events;
    const exporter =
      socket instanceof TLSSocket
        ? socket.exportKeyingMaterial(EXPORTER_BYTES, EXPORTER_LABEL, Buffer.alloc(0))
        : Buffer.alloc(EXPORTER_BYTES);
    this.ours = { exporter, role: dialed ? 'client' : 'server' };
    this.theirs = { exporter, role: dialed ? 'server' : 'client' };
    socket.once(
      'error',
      bounded('session/socket-error', (error: Error) => {
        this.#error = error;
      }),
    );
    this.session = createSession(socket, {
      role: options.role,
      turn: turns.join(this.owner),
      memory,
      events: {
        onRequest: (stream, head) => events.onRequest(stream, head),
        onReady: () => {},
        onGoaway: (reason) => events.onGoaway(reason),
        onClose: (reason) => {
          liveness.unwatch(this);
          memory.delete(this);
          turns.leave(this.owner);
          this.#counted();
          this.#occupy(closing);
          events.onClose(reason, this.#error);
        },
        onInternalError: (part, error) => reportInternalError(`${part}/http2`, error),
      },
    });
    liveness.watch(this);
    memory.add(this);
    this.#counted = countTraffic(this);
  }

  #occupy(closing: AdmissionSlots<Socket>): void {
    const socket = this.#socket;
    if (socket.destroyed) return;
    closing.enter(socket, this.owner)?.destroy();
    socket.once(
      'close',
      bounded('session/closing-ended', () => closing.leave(socket)),
    );
  }

  get held(): number {
    return COST.peer + this.session.held + this.#socket.writableLength + (this.routing?.held ?? 0);
  }

  evict(reason: string): void {
    this.destroy(new LinkError('busy', reason));
  }

  get bytesRead(): number {
    return this.#socket.bytesRead;
  }

  get bytesWritten(): number {
    return this.#socket.bytesWritten;
  }

  /** Whether this end may open a stream on it. */
  get open(): boolean {
    return this.session.state === 'open';
  }

  /** Why this end closed it, or the error of its socket. */
  get error(): Error | undefined {
    return this.#error;
  }

  async ping(deadline: number): Promise<number> {
    this.roundTrip = await this.session.ping(deadline);
    return this.roundTrip;
  }

  suspect(milliseconds: number): void {
    this.silentSince = Date.now() - milliseconds;
    this.#events.onSilence();
  }

  recover(): void {
    this.silentSince = undefined;
    this.#events.onSilence();
  }

  giveUp(milliseconds: number): void {
    this.fellSilent = true;
    this.destroy(new LinkError('silent', `The peer was silent for ${Math.round(milliseconds / 1_000)} s and answered no ping.`));
  }

  destroy(error?: Error): void {
    this.#error ??= error;
    // The GOAWAY carries this text to the peer: see `refusalIn`.
    this.session.destroy(error instanceof LinkError ? new Error(`${error.code}: ${error.message}`, { cause: error }) : error);
  }
}
