/** Starts, restarts and stops the routers of a site as processes of their own. `supervisor-plan.ts` decides. */
import { spawn, type ChildProcess } from 'node:child_process';
import { performance } from 'node:perf_hooks';
import { afterEnd, planSupervisor, type SupervisedRouter } from '../../platform/linux/supervisor-plan.ts';
import { bounded } from '../../telemetry/boundary.ts';
import { messageOf, type Logger } from '../../telemetry/log.ts';

export interface RouterSupervisorOptions {
  readonly log: Logger;
  /** Arguments of Node.js that run a router by its name. */
  readonly command: (router: string) => readonly string[];
  /** Milliseconds that a router may take to end after SIGTERM. It is then killed. */
  readonly endWithin: number;
  /** Called when a user stops a router through its API, which stops the site. */
  readonly onStopAsked: () => void;
}

/** Message of a router to its supervisor: a user asked it to stop. */
export const STOP_ASKED = 'stop-asked';
/** Message of a supervisor to its routers: read the files again. SIGHUP would end a router that is starting. */
export const RELOAD = 'reload';

export class RouterSupervisor implements AsyncDisposable {
  readonly #options: RouterSupervisorOptions;
  readonly #known = new Map<string, SupervisedRouter>();
  readonly #processes = new Map<string, ChildProcess>();
  #desired: readonly string[] = [];
  /** Timer of the next restart. */
  #again: NodeJS.Timeout | undefined;
  /** Set once all routers are to end. */
  #ends: PromiseWithResolvers<void> | undefined;

  constructor(options: RouterSupervisorOptions) {
    this.#options = options;
  }

  /** Names of the routers whose processes run. */
  get running(): readonly string[] {
    return [...this.#processes.keys()];
  }

  /** Starts and stops routers until these run. */
  setDesired(names: readonly string[]): void {
    if (this.#ends !== undefined) return;
    this.#desired = names;
    this.#ensure();
  }

  /** Lets all routers read their files again. One that is starting receives the message later. */
  reload(): void {
    // A channel that is closing belongs to a router that ends.
    for (const process of this.#processes.values()) if (process.connected) process.send(RELOAD, () => {});
  }

  /** Stops all routers, which drain. Resolves when they have ended. */
  stop(): Promise<void> {
    if (this.#ends === undefined) {
      this.#ends = Promise.withResolvers();
      this.#desired = [];
      this.#ensure();
    }
    return this.#ends.promise;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  #ensure(): void {
    const { start, stop, forget, again } = planSupervisor(this.#desired, this.#known, performance.now());
    for (const name of forget) this.#known.delete(name);
    for (const name of stop) this.#stop(name);
    for (const name of start) this.#start(name);
    clearTimeout(this.#again);
    const ensure = (): void => this.#ensure();
    if (again !== undefined) this.#again = setTimeout(bounded('look/supervisor', ensure), again);
    if (this.#processes.size === 0) this.#ends?.resolve();
  }

  #start(name: string): void {
    const { command, log } = this.#options;
    const before = this.#known.get(name);
    this.#known.set(name, { kind: 'running', since: performance.now(), failures: before?.kind === 'failed' ? before.failures : 0 });
    const started = spawn(process.execPath, command(name), { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
    this.#processes.set(name, started);
    const onEnd = (how: string): void => {
      // An error may come before the end, or instead of it.
      if (this.#processes.get(name) === started) this.#ended(name, how);
    };
    const onExit = (code: number | null, signal: string | null): void => onEnd(signal === null ? `code ${code}` : signal);
    const onError = (error: Error): void => {
      if (started.pid === undefined) onEnd(messageOf(error));
    };
    const onMessage = (message: unknown): void => {
      if (message === STOP_ASKED) this.#options.onStopAsked();
    };
    started.on('exit', bounded('process/router-exit', onExit));
    started.on('error', bounded('process/router-error', onError));
    started.on('message', bounded('process/router-message', onMessage));
    log.info({ started: name, pid: started.pid }, `router ${name} is starting`);
  }

  #stop(name: string): void {
    const stopping = this.#processes.get(name);
    this.#known.set(name, { kind: 'stopping' });
    this.#options.log.info({ stopped: name }, `router ${name} is draining`);
    stopping?.kill('SIGTERM');
    const kill = (): void => void stopping?.kill('SIGKILL');
    const timer = setTimeout(bounded('process/router-late', kill), this.#options.endWithin).unref();
    stopping?.once(
      'exit',
      bounded('process/router-stopped', () => clearTimeout(timer)),
    );
  }

  #ended(name: string, how: string): void {
    this.#processes.delete(name);
    const before = this.#known.get(name);
    const now = performance.now();
    const next = before === undefined ? undefined : afterEnd(before, now, Math.random());
    if (next === undefined) {
      this.#known.delete(name);
      this.#options.log.info({ stopped: name }, `router ${name} has ended`);
    } else {
      this.#known.set(name, next);
      const seconds = Math.ceil((next.retryAt - now) / 1_000);
      this.#options.log.warn({ ended: name, how, seconds }, `router ${name} ended by itself (${how}); it starts again within ${seconds} s`);
    }
    this.#ensure();
  }
}
