import { Counter, Histogram } from '@prometheus-io/client';
import { counter, gauge, metrics } from '../../telemetry/metrics.ts';
import type { Buckets } from '../../telemetry/buckets.ts';
import type { KeyMetrics } from './key-metrics.ts';
import type { RequestMetrics } from '../observers/request-metrics.ts';

/** Source of the metrics of a router's local side, read at each scrape. */
export interface LocalSource {
  keys(): Iterable<KeyMetrics>;
  requests(): Iterable<RequestMetrics>;
  targetsSetAside(): number;
  listening(): number;
  /** Each routing key of the listeners, and whether it has a reachable connector. */
  reachability(): Iterable<readonly [routingKey: string, reachable: boolean]>;
}

/** Routers of this process: one, except in tests. */
const sources = new Set<LocalSource>();

/** Counts are plain numbers on the data path, and converted here at each scrape. */
export function showLocalSide(source: LocalSource): () => void {
  sources.add(source);
  return () => sources.delete(source);
}

export const localMetrics = {
  clientsRefused: counter('earshot_router_clients_refused_total', 'Clients disconnected before a server was chosen, by reason.', [
    'reason',
  ]),
};

const BY_KEY = ['routing_key', 'role'] as const;

counter('earshot_router_connections_opened_total', 'Connections accepted by a server.', BY_KEY, (metric) => {
  metric.reset();
  for (const { labels, counted } of keys()) metric.inc(labels, counted.opened);
});

gauge('earshot_router_connections_open', 'Open connections.', BY_KEY, (metric) => {
  metric.reset();
  for (const { labels, counted } of keys()) metric.inc(labels, counted.open);
});

counter('earshot_router_connections_failed_total', 'Connections that no server accepted, by reason.', [...BY_KEY, 'reason'], (metric) => {
  metric.reset();
  for (const { labels, counted } of keys()) for (const [reason, count] of counted.failed) metric.inc({ ...labels, reason }, count);
});

counter('earshot_router_connections_ended_total', 'Open connections that ended, by how they ended.', [...BY_KEY, 'end'], (metric) => {
  metric.reset();
  for (const { labels, counted } of keys()) for (const [end, count] of counted.ended) metric.inc({ ...labels, end }, count);
});

counter('earshot_router_bytes_total', 'Bytes of connections, by direction.', [...BY_KEY, 'direction'], (metric) => {
  metric.reset();
  for (const { labels, counted } of keys()) {
    metric.inc({ ...labels, direction: 'to_server' }, counted.toServer.bytes);
    metric.inc({ ...labels, direction: 'to_client' }, counted.toClient.bytes);
  }
});

gauge('earshot_router_targets_set_aside', 'Servers of connectors that are avoided because they refuse connections.', [], (metric) => {
  metric.set(sources.values().reduce((sum, source) => sum + source.targetsSetAside(), 0));
});

gauge('earshot_router_listeners_listening', 'Listeners that accept connections.', [], (metric) => {
  metric.set(sources.values().reduce((sum, source) => sum + source.listening(), 0));
});

gauge(
  'earshot_router_key_reachable',
  "1 while a connector of a listener's routing key is reachable, else 0.",
  ['routing_key'],
  (metric) => {
    metric.reset();
    for (const source of sources) for (const [key, reachable] of source.reachability()) metric.set({ routing_key: key }, reachable ? 1 : 0);
  },
);

const BY_PAIR = ['routing_key', 'from_site', 'to_site', 'protocol'] as const;

interface Series<L extends string> {
  readonly labels: Readonly<Partial<Record<L, string>>>;
  readonly buckets: Buckets;
}

/** A histogram whose counts are kept elsewhere. */
class FoldedHistogram<L extends string> extends Histogram<L> {
  readonly #name: string;
  readonly #help: string;
  readonly #series: () => Iterable<Series<L>>;

  constructor(name: string, help: string, labelNames: readonly L[], series: () => Iterable<Series<L>>) {
    super({ name, help, labelNames: [...labelNames], registers: [] });
    this.#name = name;
    this.#help = help;
    this.#series = series;
  }

  override get(): ReturnType<Histogram<L>['get']> {
    return this.#get([...this.#values()]);
  }

  /** Called when the text format is written: yields one series at a time. */
  getForPromString(): ReturnType<Histogram<L>['get']> {
    return this.#get(this.#values());
  }

  async #get(values: Iterable<object>): ReturnType<Histogram<L>['get']> {
    // The library's type names the labels that a caller may set. The library adds `le` itself.
    return { name: this.#name, help: this.#help, type: 'histogram', aggregator: 'sum', collect() {}, values } as unknown as Awaited<
      ReturnType<Histogram<L>['get']>
    >;
  }

  *#values(): Iterable<object> {
    const name = this.#name;
    for (const { labels, buckets } of this.#series()) {
      let below = 0;
      const steps = buckets.bounds.map((bound, index) => {
        below += buckets.counts[index] ?? 0;
        return { metricName: `${name}_bucket`, labels: { ...labels, le: bound }, value: below };
      });
      yield* [
        ...steps,
        { metricName: `${name}_bucket`, labels: { ...labels, le: '+Inf' }, value: buckets.count },
        { metricName: `${name}_sum`, labels, value: buckets.sum },
        { metricName: `${name}_count`, labels, value: buckets.count },
      ];
    }
  }
}

/** A counter whose counts are kept elsewhere, for a large number of series. */
class FoldedCounter<L extends string> extends Counter<L> {
  readonly #about: { readonly name: string; readonly help: string; readonly type: string; readonly aggregator: string };
  readonly #values: () => Iterable<object>;

  constructor(name: string, help: string, labelNames: readonly L[], values: () => Iterable<object>) {
    super({ name, help, labelNames: [...labelNames], registers: [] });
    this.#about = { name, help, type: 'counter', aggregator: 'sum' };
    this.#values = values;
  }

  override async get(): ReturnType<Counter<L>['get']> {
    return { ...this.#about, values: [...this.#values()] } as unknown as Awaited<ReturnType<Counter<L>['get']>>;
  }

  async getForPromString(): ReturnType<Counter<L>['get']> {
    return { ...this.#about, values: this.#values() } as unknown as Awaited<ReturnType<Counter<L>['get']>>;
  }
}

metrics.registerMetric(
  new FoldedCounter(
    'earshot_router_requests_total',
    'Requests with a response, as seen by observers.',
    [...BY_PAIR, 'method', 'status'],
    function* () {
      for (const { labels, counted } of pairs()) {
        for (const [method, classes] of counted.counts) {
          for (const [index, value] of classes.entries())
            if (value > 0) yield { labels: { ...labels, method, status: `${index}xx` }, value };
        }
      }
    },
  ),
);

metrics.registerMetric(
  new FoldedHistogram(
    'earshot_router_connect_seconds',
    "Time from a client's connection to its acceptance by a server.",
    BY_KEY,
    function* () {
      for (const { labels, counted } of keys()) yield { labels, buckets: counted.connectTime };
    },
  ),
);

metrics.registerMetric(
  new FoldedHistogram(
    'earshot_router_request_seconds',
    'Time from the head of a request to the head of its response.',
    BY_PAIR,
    function* () {
      for (const { labels, counted } of pairs()) yield { labels, buckets: counted.latency };
    },
  ),
);

function* keys(): Iterable<{ readonly labels: { readonly routing_key: string; readonly role: string }; readonly counted: KeyMetrics }> {
  for (const source of sources) {
    for (const counted of source.keys()) yield { labels: { routing_key: counted.routingKey, role: counted.role }, counted };
  }
}

function* pairs(): Iterable<{ readonly labels: Readonly<Record<(typeof BY_PAIR)[number], string>>; readonly counted: RequestMetrics }> {
  for (const source of sources) {
    for (const counted of source.requests()) {
      const { routingKey, from, to, protocol } = counted;
      yield { labels: { routing_key: routingKey, from_site: from, to_site: to, protocol }, counted };
    }
  }
}
