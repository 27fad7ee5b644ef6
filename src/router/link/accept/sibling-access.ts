import { chmodSync, unlinkSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { bounded, detached } from '../../../telemetry/boundary.ts';
import { RateLimitedLog } from '../../../telemetry/rate-limited-log.ts';
import { deadlines } from '../../deadlines.ts';
import { LinkError } from '../link-errors.ts';
import { backoffDelay, type Backoff } from '../../../work/backoff.ts';
import type { LinkHost } from '../host.ts';
import { Incoming } from './incoming.ts';
import { codeOf } from '../tls-errors.ts';
import { siteOf } from '../../../routing/names.ts';
import { FORWARD, REVERSE } from '../../wire.ts';

const RETRY: Backoff = { first: 200, max: 5_000 };

/**
 * This router's socket for the other routers of its site. The protocol runs without TLS, since only the site's user can open the socket.
 */
export class SiblingAccess {
  readonly path: string;
  readonly #host: LinkHost;
  readonly #limitedLog: RateLimitedLog;
  readonly #incoming = new Set<Incoming>();
  readonly #greeting = new Set<Socket>();
  #server: Server | undefined;
  #retry: NodeJS.Timeout | undefined;
  #failures = 0;
  #closed = false;

  constructor(host: LinkHost, path: string) {
    this.#host = host;
    this.path = path;
    this.#limitedLog = new RateLimitedLog(host.log);
    this.#listen();
  }

  get idle(): boolean {
    return this.#closed && this.#incoming.size === 0;
  }

  /** No-op: a peer with access to the site's key is the site itself, and cannot be revoked. */
  dropRevoked(): void {}

  /** No-op: routers of a site use no certificates here. */
  cutExpired(): void {}

  stop(): void {
    this.#closed = true;
    clearTimeout(this.#retry);
    this.#server?.close();
    this.#server = undefined;
    for (const socket of this.#greeting) socket.destroy();
  }

  drain(): void {
    this.stop();
    for (const incoming of this.#incoming) incoming.drain();
  }

  destroy(): void {
    this.stop();
    for (const incoming of this.#incoming) incoming.cut(new LinkError('closed', 'This router has been closed.'));
  }

  #listen(): void {
    if (this.#closed) return;
    const server = createServer({ allowHalfOpen: true });
    this.#server = server;
    const failed = (error: unknown): void => this.#failed(server, error);
    server.on(
      'connection',
      bounded(
        'connection/sibling-begin',
        (socket: Socket) => this.#begin(socket),
        (_, socket) => void socket.destroy(),
      ),
    );
    // A listening server continues, since only an accept has failed, for example for want of open files.
    const onError = (error: unknown): void => {
      if (!server.listening) failed(error);
    };
    server.on('error', bounded('listener/sibling-error', onError, onError));
    server.once(
      'listening',
      bounded('listener/sibling-listening', () => this.#opened(server), failed),
    );
    try {
      // Left behind by a killed process.
      removeSocket(this.path);
      server.listen({ path: this.path });
    } catch (error) {
      failed(error);
    }
  }

  #opened(server: Server): void {
    try {
      // The directory belongs to the user alone. If the socket has vanished, no peer can connect, and it is created again.
      chmodSync(this.path, 0o600);
      this.#failures = 0;
    } catch (error) {
      this.#failed(server, error);
    }
  }

  #failed(server: Server, error: unknown): void {
    // A listening server may report several errors; the first decides.
    if (this.#server !== server) return;
    this.#server = undefined;
    server.close();
    this.#host.log.error({ socket: this.path, error }, 'cannot listen for the other routers of the site');
    this.#failures += 1;
    const again = bounded(
      'listener/sibling-retry',
      () => this.#listen(),
      () => this.#listen(),
    );
    this.#retry = setTimeout(again, backoffDelay(RETRY, this.#failures, Math.random()));
  }

  #begin(socket: Socket): void {
    this.#greeting.add(socket);
    detached(
      'connection/sibling-accept',
      () => this.#accept(socket),
      () => {
        this.#greeting.delete(socket);
        socket.destroy();
      },
    );
  }

  async #accept(socket: Socket): Promise<void> {
    socket.on('error', () => {});
    const protocol = await firstLine(socket);
    this.#greeting.delete(socket);
    if (socket.destroyed || (protocol !== FORWARD && protocol !== REVERSE)) {
      socket.destroy();
      return;
    }
    const incoming: Incoming = new Incoming({
      host: this.#host,
      socket,
      protocol,
      noRoom: () => undefined,
      address: this.path,
      edgeOnly: false,
      owner: `site ${siteOf(this.#host.self)}`,
      siblingsOnly: true,
      limitedLog: this.#limitedLog,
      onClose: () => this.#incoming.delete(incoming),
    });
    this.#incoming.add(incoming);
  }
}

/** Reads the first line, and leaves everything after it in the socket. */
function firstLine(socket: Socket): Promise<string | undefined> {
  const { promise, resolve } = Promise.withResolvers<string | undefined>();
  let line = '';
  // Stops at once: the socket may be readable again before the caller continues, and what follows is not part of the line.
  const enough = (whole: string | undefined): void => {
    socket.removeListener('readable', onReadable);
    resolve(whole);
  };
  const readLine = (): void => {
    for (;;) {
      // Byte by byte, so that nothing has to be put back.
      const byte: unknown = socket.read(1);
      if (!(byte instanceof Uint8Array)) return;
      if (byte[0] === 0x0a) {
        enough(line);
        return;
      }
      line += String.fromCharCode(byte[0] ?? 0);
      if (line.length > 64) {
        enough(undefined);
        return;
      }
    }
  };
  const none = (): void => resolve(undefined);
  const onReadable = bounded('connection/sibling-readable', readLine, none);
  const onEnd = bounded('connection/sibling-end', none, none);
  const timer = setTimeout(onEnd, deadlines.step);
  socket.on('readable', onReadable);
  socket.once('end', onEnd);
  socket.once('close', onEnd);
  return promise.finally(() => {
    clearTimeout(timer);
    socket.removeListener('readable', onReadable);
    socket.removeListener('end', onEnd);
    socket.removeListener('close', onEnd);
  });
}

function removeSocket(path: string): void {
  try {
    unlinkSync(path);
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error;
  }
}
