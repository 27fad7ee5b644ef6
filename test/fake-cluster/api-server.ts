/** The API server as a client meets it: requests arrive late, answers come late, are refused, or are lost. */
import type { IncomingHttpHeaders } from 'node:http';
import type { Loop } from '../simulate/loop.ts';
import type { Random } from '../simulate/random.ts';
import { Exchange, type Handler, type Sent } from './exchange.ts';
import type { Network } from './network.ts';
import { Process } from './process.ts';
import { Refused } from './refused.ts';
import { requestOf, type ApiRequest } from './request.ts';
import type { Resources } from './resources.ts';
import type { Store } from './store.ts';
import { Watches } from './watches.ts';

/** Faults of requests, drawn for each. Probabilities. */
export interface Trouble {
  /** 500, and nothing was done. */
  fails: number;
  /** 429 with Retry-After. */
  throttles: number;
  /** It was done, and the connection broke before the answer. */
  loses: number;
  /** Done, and never answered. */
  hangs: number;
  /** 409 for what is written. */
  conflicts: number;
}

export const CALM: Trouble = { fails: 0, throttles: 0, loses: 0, hangs: 0, conflicts: 0 };

export interface Counts {
  requests: number;
  /** Requests for objects other than events and leases: answered successfully; refused. */
  writes: number;
  refused: number;
  events: number;
}

export class ApiServer {
  readonly watches: Watches;
  readonly counts: Counts = { requests: 0, writes: 0, refused: 0, events: 0 };
  trouble: Trouble = CALM;
  /** It refuses connections. */
  isDown = false;
  /** A controller's writes of this kind are changed back, so many milliseconds later. */
  fought: { readonly plural: string; readonly after: number } | undefined;
  /** By kind and key: when a controller wrote what was fought over. */
  readonly fights = new Map<string, number[]>();
  readonly #loop: Loop;
  readonly #random: Random;
  readonly #network: Network;
  readonly #resources: Resources;
  readonly #say: (where: string, what: string) => void;

  constructor(parts: {
    readonly loop: Loop;
    readonly random: Random;
    readonly store: Store;
    readonly network: Network;
    readonly resources: Resources;
    readonly say: (where: string, what: string) => void;
  }) {
    this.#loop = parts.loop;
    this.#random = parts.random;
    this.#network = parts.network;
    this.#resources = parts.resources;
    this.#say = parts.say;
    this.watches = new Watches(parts);
  }

  /** Called in a turn of the process. */
  dispatch(sent: Sent, handler: Handler): void {
    const { owner } = this.#loop;
    if (!(owner instanceof Process)) throw new Error(`No process sends ${sent.method} ${sent.path}.`);
    const exchange = new Exchange(owner, handler);
    if (this.isDown) {
      this.#loop.after(
        this.#network.delay(),
        owner,
        () => exchange.finish() && handler.onResponseError(undefined, new Error('ECONNREFUSED')),
      );
      return;
    }
    this.#loop.soon(owner, () => {
      handler.onRequestStart(exchange);
      if (!exchange.over) this.#loop.after(this.#network.delay(), undefined, () => this.#arrive(exchange, requestOf(sent)));
    });
  }

  #arrive(exchange: Exchange, request: ApiRequest): void {
    this.counts.requests += 1;
    if (this.isDown) {
      this.#break(exchange);
      return;
    }
    const { throttles, fails, loses, hangs, conflicts } = this.trouble;
    const drawn = this.#random.unit();
    const isWrite = request.method !== 'GET';
    if (drawn < throttles) this.#refuse(exchange, request, new Refused(429, 'TooManyRequests', 'slow down', 1));
    else if (drawn < throttles + fails) this.#refuse(exchange, request, new Refused(500, 'InternalError', `etcd is busy ${drawn}`));
    else if (isWrite && drawn < throttles + fails + conflicts) {
      this.#refuse(exchange, request, new Refused(409, 'Conflict', 'the object has been modified'));
    } else if (request.isWatch) this.#watch(exchange, request);
    else this.#answer(exchange, request, drawn > 1 - loses ? 'lose' : drawn > 1 - loses - hangs ? 'hang' : 'answer');
  }

  #answer(exchange: Exchange, request: ApiRequest, how: 'answer' | 'lose' | 'hang'): void {
    let body: string;
    const fight = this.#fight(exchange, request);
    try {
      body = this.#resources.act(request);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      this.#refuse(exchange, request, error);
      return;
    }
    fight?.();
    this.#count(request, 'writes');
    this.#say(exchange.process.name, `${request.method} ${request.path}${how === 'answer' ? '' : ` (${how})`}`);
    if (how === 'lose') this.#break(exchange);
    else if (how === 'answer') this.#respond(exchange, 200, {}, body);
  }

  /** @returns how to change back what this request writes */
  #fight({ process }: Exchange, request: ApiRequest): (() => void) | undefined {
    const { fought } = this;
    const { method, plural, namespace, name = nameIn(request) } = request;
    if (fought?.plural !== plural || method === 'GET' || !process.name.startsWith('controller')) return undefined;
    const key = `${namespace}/${name}`;
    const before = this.#resources.find(plural, key);
    return () => {
      const id = `${plural} ${key}`;
      this.fights.set(id, [...(this.fights.get(id) ?? []), this.#loop.now]);
      this.#loop.after(fought.after, undefined, () => {
        this.#say('world', `${id} is changed back`);
        this.#resources.changeBack(plural, key, before);
      });
    };
  }

  #refuse(exchange: Exchange, request: ApiRequest, { status, reason, message, retryAfter }: Refused): void {
    this.#count(request, 'refused');
    if (request.method !== 'GET' || status !== 404)
      this.#say(exchange.process.name, `${request.method} ${request.path}: ${status} ${message}`);
    const headers = retryAfter === undefined ? {} : { 'retry-after': String(retryAfter) };
    this.#respond(exchange, status, headers, JSON.stringify({ kind: 'Status', code: status, reason, message }));
  }

  #count({ method, plural }: ApiRequest, as: 'writes' | 'refused'): void {
    if (method === 'GET' || plural === 'leases') return;
    this.counts[plural === 'events' ? 'events' : as] += 1;
  }

  #watch(exchange: Exchange, request: ApiRequest): void {
    try {
      this.watches.open(exchange, request);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      this.#refuse(exchange, request, error);
    }
  }

  #respond(exchange: Exchange, status: number, headers: IncomingHttpHeaders, body: string): void {
    this.#loop.after(this.#network.delay(), exchange.process, () => {
      if (!exchange.finish()) return;
      const { handler } = exchange;
      handler.onResponseStart(exchange, status, headers);
      handler.onResponseData(exchange, Buffer.from(body));
      handler.onResponseEnd();
    });
  }

  #break(exchange: Exchange): void {
    this.#loop.after(this.#network.delay(), exchange.process, () => {
      if (exchange.finish()) exchange.handler.onResponseError(exchange, new Error('ECONNRESET'));
    });
  }
}

/** A request that creates an object names it in its body. */
function nameIn({ body }: ApiRequest): string {
  const { metadata } = JSON.parse(body?.toString() ?? '{}') as { readonly metadata?: { readonly name?: string } }; // As the client sends it.
  return metadata?.name ?? '';
}
