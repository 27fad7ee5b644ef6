import type { Loop } from '../simulate/loop.ts';
import type { Random } from '../simulate/random.ts';
import type { Exchange } from './exchange.ts';
import type { Network } from './network.ts';
import { Refused } from './refused.ts';
import type { ApiRequest } from './request.ts';
import { selectorOf, type Selects } from './selector.ts';
import type { Store, StoreEvent } from './store.ts';

const BOOKMARK_EVERY = 60_000;

interface Watch {
  readonly exchange: Exchange;
  readonly plural: string;
  readonly selects: Selects | undefined;
  /** Nothing arrives before what was sent earlier. */
  arrivedAt: number;
  /** Milliseconds that each event takes at most, and until when. */
  lag: number;
  lagUntil: number;
}

/** Watches that are open. Each has its own pace; within one, events keep their order. */
export class Watches {
  readonly #loop: Loop;
  readonly #random: Random;
  readonly #store: Store;
  readonly #network: Network;
  readonly #open = new Map<string, Set<Watch>>();
  /** Whether lists are streamed. */
  offersLists = true;
  /** How often an event was looked at for a watch, and how often it went out. */
  offered = 0;
  delivered = 0;

  constructor({ loop, random, store, network }: { loop: Loop; random: Random; store: Store; network: Network }) {
    this.#loop = loop;
    this.#random = random;
    this.#store = store;
    this.#network = network;
    store.onChange((event) => this.#notify(event));
  }

  /** @throws Refused */
  open(exchange: Exchange, { plural, query, namespace }: ApiRequest): void {
    const kind = this.#store.kind(plural);
    const after = query.get('resourceVersion');
    const isInitial = query.get('sendInitialEvents') === 'true';
    if (isInitial && !this.offersLists) throw new Refused(422, 'Invalid', 'sendInitialEvents: Forbidden');
    const from = isInitial ? kind.version : Number(after);
    const watch: Watch = { exchange, plural, selects: selectorOf(query, namespace), arrivedAt: 0, lag: 0, lagUntil: 0 };
    this.#deliver(watch, () => exchange.handler.onResponseStart(exchange, 200, {}));
    if (from < kind.compacted || from > kind.version) {
      const error = { kind: 'Status', code: 410, reason: 'Expired', message: `too old resource version: ${from} (${kind.compacted})` };
      this.#send(watch, lineOf('ERROR', error));
      this.#finish(watch);
      return;
    }
    if (isInitial) {
      for (const object of kind.objects.values()) if (watch.selects?.(object) !== false) this.#send(watch, lineOf('ADDED', object));
      this.#send(watch, bookmark(kind.version, true));
    } else {
      for (const event of kind.events) if (event.version > from) this.#offer(watch, event);
    }
    this.#keep(watch, Number(query.get('timeoutSeconds')) * 1_000);
  }

  /** Breaks those of a process, or all. */
  cut(which: (name: string, plural: string) => boolean): void {
    for (const [plural, watches] of this.#open) {
      for (const watch of watches) {
        if (!which(watch.exchange.process.name, plural)) continue;
        this.#close(watch);
        const { exchange } = watch;
        this.#loop.after(this.#network.delay(), exchange.process, () => {
          if (exchange.finish()) exchange.handler.onResponseError(exchange, new Error('ECONNRESET'));
        });
      }
    }
  }

  /** From now on events of these take up to so many milliseconds. */
  slow(which: (name: string, plural: string) => boolean, lag: number, lasts: number): void {
    for (const [plural, watches] of this.#open) {
      for (const watch of watches) {
        if (which(watch.exchange.process.name, plural)) Object.assign(watch, { lag, lagUntil: this.#loop.now + lasts });
      }
    }
  }

  get count(): number {
    return this.#open.values().reduce((sum, watches) => sum + watches.size, 0);
  }

  #keep(watch: Watch, lasts: number): void {
    const { exchange, plural } = watch;
    const watches = this.#open.get(plural) ?? new Set();
    this.#open.set(plural, watches.add(watch));
    exchange.onOver = () => this.#close(watch);
    exchange.process.onEnd(() => this.#close(watch));
    const end = this.#loop.now + lasts;
    const tick = (): void => {
      if (exchange.over || exchange.process.gone) return;
      if (this.#loop.now >= end) {
        this.#close(watch);
        this.#finish(watch);
        return;
      }
      this.#send(watch, bookmark(this.#store.kind(plural).version, false));
      this.#loop.at(Math.min(end, this.#loop.now + BOOKMARK_EVERY), undefined, tick, 'timer');
    };
    this.#loop.at(Math.min(end, this.#loop.now + BOOKMARK_EVERY * (0.5 + this.#random.unit() / 2)), undefined, tick, 'timer');
  }

  #notify(event: StoreEvent): void {
    for (const watch of this.#open.get(event.plural) ?? []) this.#offer(watch, event);
  }

  #offer(watch: Watch, event: StoreEvent): void {
    this.offered += 1;
    const { type, object, previous } = event;
    const is = type !== 'DELETED' && watch.selects?.(object) !== false;
    const was = previous !== undefined && watch.selects?.(previous) !== false;
    if (is || was) this.#send(watch, lineOf(is ? (was ? 'MODIFIED' : 'ADDED') : 'DELETED', object));
  }

  #send(watch: Watch, line: Buffer): void {
    this.delivered += 1;
    this.#deliver(watch, () => watch.exchange.handler.onResponseData(watch.exchange, line));
  }

  #finish(watch: Watch): void {
    const { exchange } = watch;
    this.#deliver(watch, () => {
      if (exchange.finish()) exchange.handler.onResponseEnd();
    });
  }

  #deliver(watch: Watch, run: () => void): void {
    const { exchange } = watch;
    const lag = this.#loop.now < watch.lagUntil ? watch.lag * this.#random.unit() : 0;
    watch.arrivedAt = Math.max(watch.arrivedAt, this.#loop.now + this.#network.delay() + lag);
    this.#loop.at(watch.arrivedAt, exchange.process, () => {
      if (!exchange.over) run();
    });
  }

  #close(watch: Watch): void {
    this.#open.get(watch.plural)?.delete(watch);
  }
}

const lines = new WeakMap<object, Map<string, Buffer>>();

function lineOf(type: string, object: object): Buffer {
  const known = lines.get(object) ?? new Map<string, Buffer>();
  lines.set(object, known);
  const line = known.get(type) ?? Buffer.from(`${JSON.stringify({ type, object })}\n`);
  known.set(type, line);
  return line;
}

function bookmark(version: number, isEnd: boolean): Buffer {
  const annotations = isEnd ? { annotations: { 'k8s.io/initial-events-end': 'true' } } : {};
  return Buffer.from(
    `${JSON.stringify({ type: 'BOOKMARK', object: { metadata: { resourceVersion: String(version), ...annotations } } })}\n`,
  );
}
