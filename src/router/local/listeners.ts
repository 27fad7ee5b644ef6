import { isIP, type Socket } from 'node:net';
import { bounded } from '../../telemetry/boundary.ts';
import type { ListenerConfig, Problem } from '../contract.ts';
import { hostPort, type HostPort } from '../../text/host-port.ts';
import { hostNames } from '../../net/host-names.ts';
import { ListeningSocket, type ListeningOptions } from './listening-socket.ts';
import { EVERYWHERE } from './listening-table.ts';
import { sameBundle } from '../../identity/tls-bundle.ts';
import { secureContextOf } from '../tls-context.ts';
import { WaitingPorts } from './waiting-ports.ts';

export interface ListenersOptions extends Omit<ListeningOptions, 'onSocket' | 'onRefused' | 'shared'> {
  /** Whether the listener has a reachable destination now. */
  reachable(config: ListenerConfig): boolean;
  /** Milliseconds for which a listener that has lost its last destination keeps its sockets. */
  readonly linger: number;
  onSocket(config: ListenerConfig, socket: Socket, raw: Socket): void;
  onRefused(config: ListenerConfig, reason: 'handshake' | 'busy', error: Error): void;
}

/**
 * The sockets of all listeners. A listener has one socket at each address of its host while its destination is reachable, and for a
 * moment longer: when routers are replaced, the new routes often arrive shortly after the old ones have gone. Otherwise it has none, and
 * clients are refused at once.
 */
export class Listeners {
  readonly #options: ListenersOptions;
  readonly #byName = new Map<string, Listener>();
  readonly #waitingPorts: WaitingPorts;
  #shared = false;
  #closed = false;

  constructor(options: ListenersOptions) {
    this.#options = options;
    const { portOwner, most, onChange } = options;
    this.#waitingPorts = new WaitingPorts({ every: most, portOwner, onChange });
  }

  apply(configs: readonly ListenerConfig[], shared: boolean): void {
    const names = new Set(configs.map(({ name }) => name));
    const reopen = shared !== this.#shared;
    this.#shared = shared;
    for (const [name, listener] of this.#byName) {
      if (names.has(name)) continue;
      listener.close();
      this.#byName.delete(name);
    }
    // A listener that changes its address leaves the old one first, so that two listeners can swap addresses.
    for (const config of configs) this.#byName.get(config.name)?.prepare(config, reopen);
    for (const config of configs) {
      if (!this.#byName.has(config.name)) this.#byName.set(config.name, new Listener(config, this.#options, () => this.refresh()));
    }
    this.#order(configs);
    this.refresh();
  }

  /** Opens the sockets of reachable listeners, and closes the others. */
  refresh(): void {
    if (this.#closed) return;
    const taken = new Map<string, string>();
    const waiting = new Map<string, readonly HostPort[]>();
    for (const [name, listener] of this.#byName) {
      const addresses = listener.follow(taken, this.#shared);
      if (addresses.length > 0) waiting.set(name, addresses);
    }
    this.#waitingPorts.update(waiting, this.#shared);
  }

  names(): IterableIterator<string> {
    return this.#byName.keys();
  }

  configs(): readonly ListenerConfig[] {
    return [...this.#byName.values()].map(({ config }) => config);
  }

  get(name: string): Pick<Listener, 'listening' | 'problem'> | undefined {
    const listener = this.#byName.get(name);
    if (listener === undefined) return undefined;
    return { listening: listener.listening, problem: listener.problem ?? this.#waitingPorts.problem(name) };
  }

  close(): void {
    this.#closed = true;
    this.#waitingPorts.close();
    for (const listener of this.#byName.values()) listener.close();
  }

  /** Orders the listeners as configured: of two at one address, the first one gets it. */
  #order(configs: readonly ListenerConfig[]): void {
    const inOrder = configs.flatMap(({ name }) => this.#byName.get(name) ?? []);
    this.#byName.clear();
    for (const listener of inOrder) this.#byName.set(listener.config.name, listener);
  }
}

/** Milliseconds until a name without an address is resolved again. */
const RESOLVE_AGAIN = 5_000;

class Listener {
  config: ListenerConfig;
  readonly #options: ListenersOptions;
  readonly #refresh: () => void;
  readonly #sockets = new Map<string, ListeningSocket>();
  #addresses: readonly string[] | undefined;
  #asked: string | undefined;
  #timer: NodeJS.Timeout | undefined;
  /** Closes the sockets if no destination becomes reachable before. */
  #closing: NodeJS.Timeout | undefined;
  #tlsProblem: Problem | undefined;
  #nameProblem: Problem | undefined;
  #conflict: Problem | undefined;

  constructor(config: ListenerConfig, options: ListenersOptions, refresh: () => void) {
    this.config = config;
    this.#options = options;
    this.#refresh = refresh;
    this.#readTls();
  }

  get listening(): boolean {
    return this.#sockets.values().some(({ listening }) => listening);
  }

  get problem(): Problem | undefined {
    const own = this.#tlsProblem ?? this.#nameProblem ?? this.#conflict;
    if (own !== undefined) return own;
    const problems = [...this.#sockets.values()].flatMap(({ problem }) => problem ?? []);
    // A name such as `localhost` may have an address of a family that this machine does not use.
    const excusable = this.listening && isIP(this.config.host ?? EVERYWHERE) === 0;
    return problems.find(({ code }) => !(excusable && code === 'host-not-local'));
  }

  /** Takes a new config, and closes the sockets that it no longer needs. */
  prepare(config: ListenerConfig, reopen: boolean): void {
    const before = this.config;
    this.config = config;
    if (before.host !== config.host) this.#dropAddresses();
    if (reopen || before.host !== config.host || before.port !== config.port) this.#closeSockets();
    if (!sameBundle(before.tls, config.tls)) this.#changeTls(before);
  }

  /**
   * Opens and closes its sockets.
   * @param taken listener by address, of the listeners before it
   * @returns the addresses where it would listen if a connector were reachable
   */
  follow(taken: Map<string, string>, shared: boolean): readonly HostPort[] {
    this.#conflict = undefined;
    const addresses = this.#resolved();
    const desired = addresses.map((host) => ({ host, port: this.config.port }));
    const conflict = desired.map(hostPort).find((address) => taken.has(address));
    if (conflict !== undefined) {
      this.#conflict = {
        code: 'port-in-use',
        message: `${taken.get(conflict)} already has ${conflict}. Choose another host or port for ${this.config.name}.`,
      };
      this.#closeSockets();
      return [];
    }
    for (const address of desired) taken.set(hostPort(address), this.config.name);
    if (!this.#options.reachable(this.config)) {
      if (this.#sockets.size === 0) return desired;
      this.#closeLater();
      return [];
    }
    this.#stayOpen();
    if (this.#tlsProblem !== undefined) return [];
    const kept = new Set(desired.map(hostPort));
    for (const [key, socket] of this.#sockets) {
      if (kept.has(key)) continue;
      socket.close();
      this.#sockets.delete(key);
    }
    for (const address of desired) {
      if (this.#sockets.has(hostPort(address))) continue;
      this.#sockets.set(hostPort(address), new ListeningSocket(address, this.config.tls, this.#socketOptions(shared)));
    }
    return [];
  }

  close(): void {
    this.#dropAddresses();
    this.#closeSockets();
  }

  #socketOptions(shared: boolean): ListeningOptions {
    return {
      ...this.#options,
      shared,
      onSocket: (socket, raw) => this.#options.onSocket(this.config, socket, raw),
      onRefused: (reason, error) => this.#options.onRefused(this.config, reason, error),
    };
  }

  /** Returns no addresses until a name is resolved; then `follow` is called again. */
  #resolved(): readonly string[] {
    const { host = EVERYWHERE } = this.config;
    if (host === EVERYWHERE || isIP(host) !== 0) return [host];
    if (this.#addresses === undefined && this.#asked !== host && this.#timer === undefined) this.#ask(host);
    return this.#addresses ?? [];
  }

  #ask(host: string): void {
    this.#asked = host;
    hostNames.resolve(host, (found, error) => {
      if (this.#asked !== host || this.config.host !== host) return;
      this.#asked = undefined;
      if (found.length > 0) {
        this.#addresses = [...new Set(found.map(({ address }) => address))];
        this.#nameProblem = undefined;
      } else {
        const reason = error ?? 'it has none';
        const message = `The host ${JSON.stringify(host)} has no address (${reason}). Use an address of this machine, or a name with such an address.`;
        this.#nameProblem = { code: 'name-unknown', message };
        const again = (): void => {
          this.#timer = undefined;
          this.#refresh();
        };
        this.#timer = setTimeout(bounded('listener/name-again', again, again), RESOLVE_AGAIN).unref();
      }
      this.#refresh();
      this.#options.onChange();
    });
  }

  #dropAddresses(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#asked = undefined;
    this.#addresses = undefined;
    this.#nameProblem = undefined;
  }

  #changeTls(before: ListenerConfig): void {
    this.#readTls();
    const { tls } = this.config;
    const isUsable = this.#tlsProblem === undefined;
    const sameKind = (before.tls === undefined) === (tls === undefined) && (before.tls?.ca === undefined) === (tls?.ca === undefined);
    // An invalid bundle is probably being replaced, so the previous one stays, unless it would admit other clients than it should.
    const canStay = sameKind && (isUsable || before.tls?.ca === tls?.ca);
    if (!canStay) this.#closeSockets();
    else if (isUsable && tls !== undefined) for (const socket of this.#sockets.values()) socket.setTls(tls);
  }

  #readTls(): void {
    const { tls } = this.config;
    const result = tls === undefined ? undefined : secureContextOf(tls, { kind: 'server', dates: 'none' }, 'TLSv1.2');
    this.#tlsProblem = result?.kind === 'unusable' ? result.problem : undefined;
  }

  #closeLater(): void {
    const close = (): void => {
      this.#closeSockets();
      this.#refresh();
      this.#options.onChange();
    };
    this.#closing ??= setTimeout(bounded('listener/linger', close, close), this.#options.linger).unref();
  }

  #stayOpen(): void {
    clearTimeout(this.#closing);
    this.#closing = undefined;
  }

  #closeSockets(): void {
    this.#stayOpen();
    for (const socket of this.#sockets.values()) socket.close();
    this.#sockets.clear();
  }
}
