import { isIP } from 'node:net';
import { bounded } from '../../telemetry/boundary.ts';
import type { Problem } from '../contract.ts';
import { hostPort, type HostPort } from '../host-port.ts';
import type { ServerFailure } from './failure.ts';
import { connectServer, type ClientTls, type ServerResult } from './server-connection.ts';
import { hostNames } from '../../work/host-names.ts';
import { nameUnknown } from './connect.ts';
import type { LocalLimits } from './contract.ts';
import { backoffDelay } from '../../work/backoff.ts';

export type TargetLimits = Pick<LocalLimits, 'connect' | 'setAsideFirst' | 'setAsideMost'>;

/**
 * One server of a connector. When it refuses it is set aside, and asked again by a connection of our own after a time that
 * doubles from failure to failure; the first connection that gets through, of whichever kind, brings it back.
 */
export class Target {
  readonly server: HostPort;
  tls: ClientTls | undefined;
  /** Connections that it has, or is getting. */
  open = 0;
  readonly #limits: TargetLimits;
  readonly #random: () => number;
  readonly #changed: () => void;
  #failures = 0;
  #why: ServerFailure | undefined;
  #due = 0;
  #timer: NodeJS.Timeout | undefined;
  #endProbe: (() => void) | undefined;
  #closed = false;

  constructor(server: HostPort, limits: TargetLimits, random: () => number, changed: () => void) {
    this.server = server;
    this.#limits = limits;
    this.#random = random;
    this.#changed = changed;
    if (isIP(server.host) === 0) this.#lookUp();
  }

  get isAside(): boolean {
    return this.#why !== undefined;
  }

  /** When it is asked again; the clock is `performance.now()`. */
  get due(): number {
    return this.#due;
  }

  get problem(): Problem | undefined {
    if (this.#why === undefined) return undefined;
    return { code: `target-${this.#why.code}`, message: `The server ${hostPort(this.server)} takes no connections. ${this.#why.message}` };
  }

  /** `done` is called once, never within the call. @returns how to give up */
  connect(done: (result: ServerResult) => void): () => void {
    this.open += 1;
    let finished = false;
    const giveUp = connectServer(this.server, this.tls, this.#limits.connect, (result) => {
      finished = true;
      if (result.kind === 'connected') {
        const closed = (): void => {
          this.open -= 1;
        };
        result.raw.once('close', bounded('connection/server-closed', closed, closed));
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
    this.#closed = true;
    clearTimeout(this.#timer);
    this.#endProbe?.();
  }

  /** A name that has no address is a problem from the start, not only once a client has come. */
  #lookUp(): void {
    const { host } = this.server;
    hostNames.resolve(host, (addresses, error) => {
      if (addresses.length === 0 && this.open === 0) this.#setAside(nameUnknown(host, error));
    });
  }

  #setAside(why: ServerFailure): void {
    if (this.#closed) return;
    const before = this.#why;
    this.#why = why;
    if (before?.message !== why.message) this.#changed();
    // Many connections may fail at once: they are one failure.
    if (before !== undefined && this.#timer !== undefined) return;
    this.#failures += 1;
    this.#schedule();
  }

  #bringBack(): void {
    if (!this.isAside) return;
    this.#why = undefined;
    this.#failures = 0;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#endProbe?.();
    this.#endProbe = undefined;
    this.#changed();
  }

  #schedule(): void {
    const { setAsideFirst, setAsideMost } = this.#limits;
    const delay = backoffDelay({ first: setAsideFirst, max: setAsideMost }, this.#failures, this.#random());
    this.#due = performance.now() + delay;
    this.#timer = setTimeout(
      bounded(
        'look/server-probe',
        () => this.#probe(),
        () => this.#schedule(),
      ),
      delay,
    ).unref();
  }

  #probe(): void {
    this.#timer = undefined;
    this.#endProbe = connectServer(this.server, this.tls, this.#limits.connect, (result) => {
      this.#endProbe = undefined;
      if (result.kind === 'failed') {
        this.#setAside(result.failure);
        return;
      }
      result.socket.on('error', () => {});
      result.socket.destroy();
      result.raw.destroy();
      this.#bringBack();
    });
  }
}
