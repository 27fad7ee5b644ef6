import { isIP, type Socket } from 'node:net';
import { bounded, detached } from '../../telemetry/boundary.ts';
import type { ServerHealth } from '../contract.ts';
import type { HostPort } from '../../text/host-port.ts';
import type { ServerFailure } from './failure.ts';
import { connectServer, type ClientTls, type ServerResult } from './server-connection.ts';
import { hostNames } from '../../net/host-names.ts';
import { nameUnknown } from './connect.ts';
import type { LocalLimits } from './contract.ts';
import { backoffDelay } from '../../work/backoff.ts';
import type { Semaphore } from '../../limits/loop/semaphore.ts';

export type TargetLimits = Pick<LocalLimits, 'connect' | 'setAsideFirst' | 'setAsideMost'>;

export interface TargetOptions {
  readonly limits: TargetLimits;
  /** Returns a random number from 0 to below 1. */
  readonly random: () => number;
  /** Called when the target's health changes. */
  readonly changed: () => void;
  readonly probed: boolean;
  /** Limit of concurrent first probes, shared by all targets of a router. */
  readonly firstProbes: Semaphore;
  readonly tls: ClientTls | undefined;
}

/** Health according to the last attempt. */
export type TargetHealth = ServerHealth | { readonly kind: 'fine' };

/**
 * One server of a connector. A new server is probed by one connection, which is closed at once. A server that fails is set aside and
 * probed again with backoff. The first successful connection, of a client or a probe, brings it back. A healthy server is not probed.
 */
export class Target {
  readonly server: HostPort;
  /** Whether it may be probed. Without probes only client connections show its health. */
  readonly probed: boolean;
  /** Number of connections, including those being opened. */
  open = 0;
  readonly #limits: TargetLimits;
  readonly #random: () => number;
  readonly #changed: () => void;
  readonly #firstProbes: Semaphore;
  #tls: ClientTls | undefined;
  #failures = 0;
  #tried = false;
  #worked = false;
  #why: ServerFailure | undefined;
  #isAside = false;
  #due = 0;
  #timer: NodeJS.Timeout | undefined;
  #endProbe: (() => void) | undefined;
  readonly #end = new AbortController();

  constructor(server: HostPort, { limits, random, changed, probed, firstProbes, tls }: TargetOptions) {
    this.server = server;
    this.probed = probed;
    this.#limits = limits;
    this.#random = random;
    this.#changed = changed;
    this.#firstProbes = firstProbes;
    this.#tls = tls;
    if (probed) detached('look/server-first-probe', () => this.#probeFirst());
    else if (isIP(server.host) === 0) this.#lookUp();
  }

  /** Whether other servers are preferred. */
  get isAside(): boolean {
    return this.#isAside;
  }

  /** Time of the next attempt, as returned by `performance.now()`. */
  get due(): number {
    return this.#due;
  }

  get health(): TargetHealth {
    if (this.#why === undefined) return { kind: this.probed && !this.#tried ? 'untried' : 'fine' };
    return { kind: 'failing', problem: { code: `target-${this.#why.code}`, message: this.#why.message }, worked: this.#worked };
  }

  /** Sets new TLS settings, and probes the server with them. */
  changeTls(tls: ClientTls | undefined): void {
    if (tls === this.#tls) return;
    this.#tls = tls;
    if (!this.probed) return;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#endProbe?.();
    this.#probe();
  }

  /** Calls `done` once, never within the call. @returns a function to cancel */
  connect(done: (result: ServerResult) => void): () => void {
    this.open += 1;
    let finished = false;
    const giveUp = connectServer(this.server, this.#tls, this.#limits.connect, (result) => {
      finished = true;
      if (result.kind === 'connected') {
        const owned: TargetSocket = result.raw;
        owned[TARGET] = this;
        result.raw.on('close', onServerClosed);
        this.#bringBack();
      } else {
        this.open -= 1;
        this.#setAside(result.failure);
      }
      done(result);
    });
    return () => {
      if (finished) return;
      finished = true;
      this.open -= 1;
      giveUp();
    };
  }

  close(): void {
    this.#end.abort();
    clearTimeout(this.#timer);
    this.#endProbe?.();
  }

  /** Probes a new server. Only some are probed at the same time, since a site may have thousands. */
  async #probeFirst(): Promise<void> {
    const { signal } = this.#end;
    const turn = this.#firstProbes.take({ signal, deadline: LONGEST_WAIT }).catch(() => 'aborted');
    if ((await turn) !== 'granted') return;
    if (this.#tried || signal.aborted) this.#firstProbes.giveBack();
    else this.#probe(() => this.#firstProbes.giveBack());
  }

  /** Reports a name without an address from the start, even without probes. */
  #lookUp(): void {
    const { host } = this.server;
    hostNames.resolve(host, (addresses, error) => {
      if (this.#end.signal.aborted) return;
      if (addresses.length === 0) {
        if (this.open === 0) this.#setAside(nameUnknown(host, error));
      } else if (this.#why?.code === 'name-unknown') this.#nameFound();
    });
  }

  /** Clears the failure, since no other problem is known. */
  #nameFound(): void {
    this.#why = undefined;
    this.#failures = 0;
    this.#changed();
  }

  #setAside(why: ServerFailure): void {
    if (this.#end.signal.aborted) return;
    const isNews = !this.#tried || this.#why?.message !== why.message;
    this.#tried = true;
    this.#why = why;
    this.#isAside = true;
    if (isNews) this.#changed();
    // Connections that fail together count as one failure.
    if (this.#timer !== undefined) return;
    this.#failures += 1;
    this.#schedule();
  }

  #bringBack(): void {
    const isNews = !this.#tried || this.#why !== undefined;
    this.#tried = true;
    this.#worked = true;
    if (!isNews) return;
    this.#why = undefined;
    this.#isAside = false;
    this.#failures = 0;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#endProbe?.();
    this.#changed();
  }

  #schedule(): void {
    const { setAsideFirst, setAsideMost } = this.#limits;
    const delay = backoffDelay({ first: setAsideFirst, max: setAsideMost }, this.#failures, this.#random());
    this.#due = performance.now() + delay;
    this.#timer = setTimeout(
      bounded(
        'look/server-probe',
        () => this.#retry(),
        () => this.#schedule(),
      ),
      delay,
    ).unref();
  }

  /** If it may not be probed, the next client connection tries it. Its name may be resolved nevertheless. */
  #retry(): void {
    this.#timer = undefined;
    if (this.probed) {
      this.#probe();
      return;
    }
    this.#isAside = false;
    if (this.#why?.code === 'name-unknown') this.#lookUp();
  }

  #probe(ended: () => void = () => {}): void {
    const giveUp = connectServer(this.server, this.#tls, this.#limits.connect, (result) => {
      this.#endProbe = undefined;
      ended();
      if (result.kind === 'failed') {
        this.#setAside(result.failure);
        return;
      }
      result.socket.on('error', () => {});
      result.socket.destroy();
      result.raw.destroy();
      this.#bringBack();
    });
    this.#endProbe = () => {
      this.#endProbe = undefined;
      giveUp();
      ended();
    };
  }
}

/** A socket and its target: the handler is shared by all sockets. */
interface TargetSocket extends Socket {
  [TARGET]?: Target;
}
const TARGET = Symbol('target');

const onServerClosed = bounded('connection/server-closed', closeServer, closeServer);

function closeServer(this: TargetSocket): void {
  const target = this[TARGET];
  if (target !== undefined) target.open -= 1;
}

/** Longest delay of a timer in milliseconds. */
const LONGEST_WAIT = 2 ** 31 - 1;
