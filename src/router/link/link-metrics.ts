import { limitTable } from '../../limits/table.ts';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { counter, gauge } from '../../telemetry/metrics.ts';
import { LOOP_TIMER, lateness } from '../../telemetry/event-loop-delay.ts';
import { printable } from '../../text/printable.ts';
import type { RouterState } from '../contract.ts';
import type { Link } from './link.ts';
import type { RelayCounts } from './relay.ts';

/** Facts that a router reports in its metrics. */
export interface MetricsSource {
  links(): Iterable<Link>;
  readonly relayed: RelayCounts;
  /** All reachable routers, this one first. */
  network(): RouterState['network'];
  configured(): RouterState['links'];
  certificates(now: number): Iterable<{ readonly bundle: string; readonly days: number }>;
}

/** Routers of this process: only tests have several. */
const sources = new Set<MetricsSource>();
let delay: ReturnType<typeof monitorEventLoopDelay> | undefined;

export function showMetrics(source: MetricsSource): () => void {
  sources.add(source);
  if (delay === undefined) {
    delay = monitorEventLoopDelay({ resolution: LOOP_TIMER });
    delay.enable();
  }
  return () => {
    sources.delete(source);
    if (sources.size > 0) return;
    delay?.disable();
    delay = undefined;
  };
}

export const linkMetrics = {
  refused: counter('earshot_router_peers_refused_total', 'Refused and disconnected peers, by reason.', ['reason']),
  attempts: counter('earshot_router_link_attempts_total', 'Attempts to open a link, by outcome.', ['outcome']),
};

const PEER = ['site', 'router'] as const;

gauge('earshot_router_links', 'Links that are up, by direction of their opening.', ['direction'], (metric) => {
  metric.set({ direction: 'outgoing' }, 0);
  metric.set({ direction: 'incoming' }, 0);
  for (const link of links()) if (link.state === 'up') metric.inc({ direction: link.dialed ? 'outgoing' : 'incoming' });
});

gauge('earshot_router_link_round_trip_seconds', 'Round-trip time to an adjacent router at the last ping.', PEER, (metric) => {
  metric.reset();
  for (const [labels, between] of peers()) {
    const times = between.map(({ roundTrip }) => roundTrip).filter((time) => time !== undefined);
    if (times.length > 0) metric.set(labels, Math.min(...times) / 1_000);
  }
});

gauge('earshot_router_link_open_streams', 'Open streams on the links to an adjacent router.', PEER, (metric) => {
  metric.reset();
  for (const [labels, between] of peers()) metric.set(labels, sum(between, 'openStreams'));
});

gauge('earshot_router_link_queued_bytes', 'Bytes waiting to be sent to an adjacent router.', PEER, (metric) => {
  metric.reset();
  for (const [labels, between] of peers()) metric.set(labels, sum(between, 'queued'));
});

gauge('earshot_router_routers', 'Number of reachable routers, including this one.', [], (metric) => {
  let most = 0;
  for (const source of sources) most = Math.max(most, source.network().length);
  metric.set(most);
});

gauge('earshot_router_link_up', '1 while a Link of the site is up, else 0, by its name.', ['link'], (metric) => {
  metric.reset();
  for (const source of sources)
    for (const [name, { operational }] of Object.entries(source.configured()))
      metric.set({ link: printable(name, 253) }, operational ? 1 : 0);
});

/** Sites beyond this number get no series, since the network decides how many there are. */
const MOST_SITES = limitTable.siteSeries.value;

gauge('earshot_router_site_info', 'Always 1: names of the reachable sites, by site ID.', ['site', 'name', 'version'], (metric) => {
  metric.reset();
  const seen = new Set<string>();
  for (const source of sources)
    for (const { site } of source.network()) {
      if (seen.has(site.id) || seen.size >= MOST_SITES) continue;
      seen.add(site.id);
      metric.set({ site: site.id, name: printable(site.name, 253), version: printable(site.version, 64) }, 1);
    }
});

gauge('earshot_router_transit_open', 'Open connections through this router between other routers.', [], (metric) => {
  let open = 0;
  for (const { relayed } of sources) open += relayed.open;
  metric.set(open);
});

rising(
  'earshot_router_transit_connections_total',
  'Connections through this router between other routers.',
  ({ relayed }) => relayed.total,
);
rising('earshot_router_transit_failed_total', 'Connections through this router that failed.', ({ relayed }) => relayed.failed);
rising('earshot_router_transit_bytes_total', 'Bytes forwarded by this router, in both directions.', ({ relayed }) => relayed.bytes);

gauge('earshot_router_certificate_days_left', 'Days until the certificate of a TLS bundle expires.', ['bundle'], (metric) => {
  metric.reset();
  const now = Date.now();
  for (const source of sources) for (const { bundle, days } of source.certificates(now)) metric.set({ bundle }, days);
});

gauge('earshot_router_event_loop_delay_seconds', 'Event-loop delay since the last scrape.', ['quantile'], (metric) => {
  if (delay === undefined) return;
  for (const quantile of [50, 99, 100]) metric.set({ quantile: String(quantile / 100) }, lateness(delay.percentile(quantile)));
  delay.reset();
});

/** Seconds: p99 since the last scrape, or since `restartEventLoopDelay`. */
export function eventLoopDelay(): number | undefined {
  return delay === undefined ? undefined : lateness(delay.percentile(99));
}

export function restartEventLoopDelay(): void {
  delay?.reset();
}

function* links(): Iterable<Link> {
  for (const source of sources) yield* source.links();
}

/** Links by adjacent router. Link IDs are new for each link, and would create series without limit. */
function peers(): Iterable<readonly [{ readonly site: string; readonly router: string }, readonly Link[]]> {
  const up = [...links()].filter(({ state }) => state === 'up');
  return [...Map.groupBy(up, ({ router }) => router).values()].flatMap((between) => {
    const peer = between[0]?.peer;
    return peer === undefined ? [] : [[{ site: peer.site.id, router: peer.router }, between] as const];
  });
}

function rising(name: string, help: string, value: (source: MetricsSource) => number): void {
  const counted = new WeakMap<MetricsSource, number>();
  counter(name, help, [], (metric) => {
    for (const source of sources) {
      const now = value(source);
      metric.inc(now - (counted.get(source) ?? 0));
      counted.set(source, now);
    }
  });
}

function sum(between: readonly Link[], of: 'openStreams' | 'queued'): number {
  return between.reduce((total, link) => total + link[of], 0);
}
