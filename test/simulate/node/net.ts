/** Stands for `node:net` in the router: Node.js's own sockets, above a network that is simulated. */
import { EventEmitter } from 'node:events';
import { isIP, isIPv4, isIPv6, Socket as NodeSocket, type SocketConstructorOpts } from 'node:net';
import { here, surroundings } from '../current.ts';
import type { Endpoint } from '../endpoint.ts';
import type { Listener, Machine } from '../network.ts';
import { addressOf } from './dns.ts';
import { type StreamHandle, TcpHandle } from './handle.ts';

export { isIP, isIPv4, isIPv6 };

export interface ConnectOptions {
  readonly host?: string;
  readonly port?: number;
  readonly path?: string;
}

type SocketOptions = Omit<SocketConstructorOpts, 'handle'> & {
  readonly handle?: StreamHandle;
  readonly pauseOnCreate?: boolean;
  readonly manualStart?: boolean;
};

/** A socket that connects, or was accepted, in the simulated network. It emits its events as its machine. */
export class Socket extends NodeSocket {
  readonly #handle: StreamHandle;

  constructor(options: SocketOptions = {}) {
    const handle = options.handle ?? new TcpHandle();
    super({ manualStart: options.handle === undefined, ...options, handle } as object);
    this.#handle = handle;
  }

  /** Handle that TLS takes over. */
  get endpoint(): Endpoint | undefined {
    return this.#handle.connection;
  }

  override emit(event: string | symbol, ...given: unknown[]): boolean {
    const machine = (this.#handle as StreamHandle | undefined)?.machine;
    if (machine === undefined) return super.emit(event, ...given);
    const { loop } = surroundings();
    const before = loop.owner;
    loop.owner = machine;
    try {
      return super.emit(event, ...given);
    } finally {
      loop.owner = before;
    }
  }

  override connect(...given: unknown[]): this {
    const [options] = given as [ConnectOptions];
    const machine = here();
    this.#handle.machine = machine;
    Reflect.set(this, 'connecting', true);
    let cancel = (): void => {};
    this.#handle.connecting(() => cancel());
    const { path, host = '127.0.0.1', port = 0 } = options;
    if (machine.isStarved) {
      surroundings().loop.soon(machine, () => this.#failed('EMFILE', host, port));
      return this;
    }
    const dial = (address: string): void => {
      const { network } = surroundings();
      cancel = network.connect(machine, { host: path ?? address, port: path === undefined ? port : 0 }, (result) => {
        if (typeof result === 'string') this.#failed(path !== undefined && result === 'ECONNREFUSED' ? 'ENOENT' : result, address, port);
        else this.#connected(result);
      });
    };
    if (path !== undefined || isIP(host) !== 0) dial(host);
    else cancel = addressOf(machine, host, (address) => (address === undefined ? this.#failed('ENOTFOUND', host, port) : dial(address)));
    return this;
  }

  #connected(endpoint: Endpoint): void {
    if (this.destroyed) {
      endpoint.close();
      return;
    }
    this.#handle.attach(endpoint);
    Reflect.set(this, 'connecting', false);
    this.emit('connect');
    this.emit('ready');
    if (!this.isPaused() && !this.destroyed) this.read(0);
  }

  #failed(code: string, address: string, port: number): void {
    if (this.destroyed) return;
    Reflect.set(this, 'connecting', false);
    this.destroy(Object.assign(new Error(`connect ${code} ${address}:${port}`), { code, syscall: 'connect', address, port }));
  }
}

export function connect(options: ConnectOptions & SocketOptions): Socket {
  return new Socket(options).connect(options);
}
export const createConnection = connect;

export interface ServerOptions {
  readonly allowHalfOpen?: boolean;
  readonly pauseOnConnect?: boolean;
}

interface ListenOptions {
  readonly host?: string;
  readonly port?: number;
  readonly path?: string;
  readonly reusePort?: boolean;
}

/** A socket that listens. */
export class Server extends EventEmitter {
  readonly #options: ServerOptions;
  #listener: Listener | undefined;
  #machine: Machine | undefined;

  constructor(options: ServerOptions, onConnection?: (socket: Socket) => void) {
    super();
    this.#options = options;
    if (onConnection !== undefined) this.on('connection', onConnection);
  }

  get listening(): boolean {
    return this.#listener !== undefined;
  }

  listen(options: ListenOptions, done?: () => void): this {
    const machine = here();
    const { host, port = 0, path, reusePort = false } = options;
    const listener: Listener = {
      host: path ?? (host === '0.0.0.0' || host === '::' ? undefined : host),
      port: path === undefined && port === 0 ? machine.port() : port,
      shared: reusePort,
      onConnection: (endpoint) => {
        if (!machine.isStarved) this.accepted(endpoint);
        else this.#starved(endpoint);
      },
    };
    if (done !== undefined) this.once('listening', done);
    const { loop } = surroundings();
    if (!machine.listen(listener)) {
      const code = 'EADDRINUSE';
      loop.soon(machine, () => this.emit('error', Object.assign(new Error(`listen ${code}`), { code, syscall: 'listen' })));
      return this;
    }
    this.#machine = machine;
    this.#listener = listener;
    loop.soon(machine, () => {
      if (this.#listener === listener) this.emit('listening');
    });
    return this;
  }

  close(done?: () => void): this {
    if (this.#listener !== undefined) this.#machine?.close(this.#listener);
    this.#listener = undefined;
    if (done !== undefined) surroundings().loop.soon(this.#machine, done);
    return this;
  }

  address(): { readonly address: string; readonly port: number; readonly family: string } | null {
    const listener = this.#listener;
    return listener === undefined ? null : { address: listener.host ?? '::', port: listener.port, family: 'IPv4' };
  }

  /** libuv keeps one descriptor for that: it accepts, closes and says so. */
  #starved(endpoint: Endpoint): void {
    endpoint.close();
    this.emit('error', Object.assign(new Error('accept EMFILE'), { code: 'EMFILE', syscall: 'accept' }));
  }

  protected accepted(endpoint: Endpoint): void {
    this.emit('connection', this.socketOf(endpoint, this.#options));
  }

  protected socketOf(endpoint: Endpoint, { allowHalfOpen = false, pauseOnConnect = false }: ServerOptions): Socket {
    const handle = new TcpHandle();
    handle.attach(endpoint);
    return new Socket({ handle, allowHalfOpen, pauseOnCreate: pauseOnConnect, readable: true, writable: true });
  }
}

export function createServer(options: ServerOptions, onConnection?: (socket: Socket) => void): Server {
  return new Server(options, onConnection);
}
