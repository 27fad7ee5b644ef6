import { chmodSync, unlinkSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { LogRation } from '../../../telemetry/log-ration.ts';
import { LinkError } from '../link-errors.ts';
import { backoffDelay, type Backoff } from '../../../work/backoff.ts';
import type { LinkHost } from '../host.ts';
import { Incoming } from './incoming.ts';
import { codeOf } from '../tls-errors.ts';
import { FORWARD, REVERSE } from '../../wire.ts';

const PROTOCOL_DEADLINE = 5_000;
const RETRY: Backoff = { first: 200, max: 5_000 };

/** This router's socket for the other routers of its site: the same protocol without TLS, since only the site's user can open it. */
export class SiblingAccess {
  readonly path: string;
  readonly #host: LinkHost;
  readonly #ration: LogRation;
  readonly #incoming = new Set<Incoming>();
  readonly #greeting = new Set<Socket>();
  #server: Server | undefined;
  #retry: NodeJS.Timeout | undefined;
  #failures = 0;
  #closed = false;

  constructor(host: LinkHost, path: string) {
    this.#host = host;
    this.path = path;
    this.#ration = new LogRation(host.log);
    this.#listen();
  }

  get idle(): boolean {
    return this.#closed && this.#incoming.size === 0;
  }

  /** Routers of this site are not revoked: who shares its key is this site. */
  dropRevoked(): void {}

  /** There are no certificates between routers of a site. */
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
    // One that a killed process left behind.
    removeSocket(this.path);
    const server = createServer({ allowHalfOpen: true }, (socket) => void this.#accept(socket));
    this.#server = server;
    server.once('error', (error) => {
      this.#host.log.error({ socket: this.path, error }, 'cannot listen for the other routers of the site');
      this.#failures += 1;
      this.#retry = setTimeout(() => this.#listen(), backoffDelay(RETRY, this.#failures, Math.random()));
    });
    server.listen({ path: this.path }, () => {
      this.#failures = 0;
      chmodSync(this.path, 0o600);
    });
  }

  async #accept(socket: Socket): Promise<void> {
    this.#greeting.add(socket);
    socket.once('error', () => {});
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
      serial: '',
      certifiedSites: [],
      certificate: () => undefined,
      address: this.path,
      edgeOnly: false,
      siblingsOnly: true,
      ration: this.#ration,
      onClose: () => this.#incoming.delete(incoming),
    });
    this.#incoming.add(incoming);
  }
}

/** Takes no more off the socket than the line. */
function firstLine(socket: Socket): Promise<string | undefined> {
  const { promise, resolve } = Promise.withResolvers<string | undefined>();
  let line = '';
  const onReadable = (): void => {
    for (;;) {
      // Byte by byte, so that nothing has to be put back.
      const byte: unknown = socket.read(1);
      if (!(byte instanceof Uint8Array)) return;
      if (byte[0] === 0x0a) {
        resolve(line);
        return;
      }
      line += String.fromCharCode(byte[0] ?? 0);
      if (line.length > 64) {
        resolve(undefined);
        return;
      }
    }
  };
  const onEnd = (): void => resolve(undefined);
  const timer = setTimeout(onEnd, PROTOCOL_DEADLINE);
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
