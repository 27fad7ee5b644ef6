import type { TestContext } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';

import { ApiError, TransportError } from '../../../src/kube/errors.ts';
import { whileLeading, type LeaseOptions } from '../../../src/kube/lease/lease.ts';
import type { KubeClient, RequestOptions } from '../../../src/kube/contract.ts';
import type { Lease } from '../../../src/kube/lease/lease-record.ts';

/**
 * An API server that holds one Lease, with real optimistic concurrency, and a clock that the test moves. Requests of a
 * candidate take as long as its line does, in both directions.
 */
export class LeaseWorld {
  now = 0;
  lease: Lease | undefined;
  readonly #tick: (milliseconds: number) => void;
  #version = 0;

  constructor(t: TestContext) {
    // A property makes a world for each of its runs.
    t.mock.timers.reset();
    t.mock.timers.enable({ apis: ['setTimeout'] });
    this.#tick = (milliseconds) => t.mock.timers.tick(milliseconds);
  }

  /** Lets time pass in small steps, with all that it brings about. `check` is called at each. */
  async pass(milliseconds: number, check: () => void = () => undefined): Promise<void> {
    await settle();
    for (let left = milliseconds; left > 0; left -= STEP) {
      this.now += Math.min(STEP, left);
      this.#tick(Math.min(STEP, left));
      await settle();
      check();
    }
  }

  get holder(): string | null | undefined {
    return this.lease?.spec?.holderIdentity;
  }

  /** A write by another client: no candidate of the test. */
  edit(spec: Lease['spec']): void {
    this.#store({ ...this.lease, metadata: this.lease?.metadata ?? {}, spec: { ...this.lease?.spec, ...spec } });
  }

  write(before: string | undefined, spec: Lease['spec'], owners = this.lease?.metadata.ownerReferences): Lease {
    const { uid, resourceVersion } = this.lease?.metadata ?? {};
    if (before === undefined && this.lease !== undefined) throw refused(409, 'AlreadyExists');
    if (before !== undefined && this.lease === undefined) throw refused(404, 'NotFound');
    if (before !== undefined && before !== `${uid} ${resourceVersion}`) throw refused(409, 'Conflict');
    // A merge patch removes what is null.
    const merged = Object.entries({ ...this.lease?.spec, ...spec }).filter(([, value]) => value !== null);
    const metadata = { ...this.lease?.metadata, ...(owners === undefined ? {} : { ownerReferences: owners }) };
    return this.#store({ metadata, spec: Object.fromEntries(merged) });
  }

  #store(lease: Lease): Lease {
    const version = String(++this.#version);
    const uid = lease.metadata.uid ?? `u${version}`;
    this.lease = { ...lease, metadata: { namespace: 'n', name: 'l', ...lease.metadata, uid, resourceVersion: version } };
    return this.lease;
  }
}

const STEP = 100;

const refused = (status: number, reason: string): ApiError => new ApiError('lease', { status, reason, message: reason });

/** As many turns as the longest chain of promises between two timers. */
async function settle(): Promise<void> {
  for (let i = 0; i < 3; i++) await turn();
}

/** A candidate, and the line between it and the API server. */
export class Contender {
  readonly events: string[] = [];
  readonly troubles: unknown[] = [];
  readonly stop = new AbortController();
  /** Milliseconds each way. */
  latency = 0;
  /** requests: nothing arrives at the server. answers: the server acts, and nothing comes back. */
  lost: 'nothing' | 'requests' | 'answers' = 'nothing';
  /** Its client takes no more requests. */
  closed = false;
  /** Set while the work runs. */
  leading: AbortSignal | undefined;
  stillLeading: () => boolean = () => false;
  /** Ends the work. */
  finish: (error?: unknown) => void = () => undefined;
  /** Whether the work ends as soon as its signal aborts. */
  obedient = true;
  readonly done: Promise<unknown>;
  readonly #world: LeaseWorld;

  constructor(world: LeaseWorld, identity: string, options: Partial<LeaseOptions> = {}) {
    this.#world = world;
    this.done = whileLeading(
      {
        client: this.#client(),
        namespace: 'n',
        name: 'l',
        identity,
        signal: this.stop.signal,
        clock: () => world.now,
        onChange: (event, holder) => this.events.push(event === 'following' ? `following ${holder}` : event),
        onProblem: (error) => this.troubles.push(error),
        ...options,
      },
      (leading, stillLeading) => {
        this.leading = leading;
        this.stillLeading = stillLeading;
        return new Promise<void>((resolve, reject) => {
          this.finish = (error) => (error === undefined ? resolve() : reject(error));
          leading.addEventListener('abort', () => this.obedient && reject(leading.reason), { once: true });
        }).finally(() => {
          this.leading = undefined;
        });
      },
    ).catch((error: unknown) => error);
  }

  /** Whether it may act as the leader at this moment. */
  get acts(): boolean {
    return this.leading !== undefined && !this.leading.aborted;
  }

  #client(): Pick<KubeClient, 'find' | 'create' | 'patch'> {
    const send = <T>(act: () => T, options: { readonly signal?: AbortSignal } = {}): Promise<T> =>
      new Promise((resolve, reject) => {
        // A caller that gives up a request stops waiting; the request arrives all the same.
        options.signal?.addEventListener('abort', () => reject(options.signal?.reason), { once: true });
        if (this.closed) reject(new TransportError('kube-closed', 'closed', { sent: false }));
        if (this.closed || this.lost === 'requests') return;
        this.#later(() => {
          const answer = outcomeOf(act);
          if (this.lost !== 'answers') this.#later(() => ('value' in answer ? resolve(answer.value) : reject(answer.error)));
        });
      });
    const client = {
      find: (_of: unknown, _key: unknown, options: RequestOptions) => send(() => this.#world.lease, options),
      create: (_of: unknown, { metadata, spec }: Lease, options: RequestOptions) =>
        send(() => this.#world.write(undefined, spec, metadata.ownerReferences), options),
      patch: (_of: unknown, _key: unknown, { metadata, spec }: Lease, options: RequestOptions) =>
        send(() => this.#world.write(`${metadata.uid} ${metadata.resourceVersion}`, spec, metadata.ownerReferences), options),
    };
    // Leases are all that is asked of it.
    return client as unknown as Pick<KubeClient, 'find' | 'create' | 'patch'>;
  }

  #later(act: () => void): void {
    if (this.latency === 0) act();
    else setTimeout(act, this.latency);
  }
}

function outcomeOf<T>(act: () => T): { readonly value: T } | { readonly error: unknown } {
  try {
    return { value: act() };
  } catch (error) {
    return { error };
  }
}
