/** Figures of routing keys for the router API, from the counts of this router since its start. */
import { mergeLatencies, percentilesOf, type LatencyCounts } from '../../telemetry/latency-steps.ts';
import type { ConnectionCounts, KeyCounts, KeyFiguresView, KeyFigures, RoleFigures } from '../contract.ts';
import type { RequestMetrics } from '../observers/request-metrics.ts';
import type { KeyMetrics, MetricsByKey } from './key-metrics.ts';

export function viewFigures(metrics: MetricsByKey): KeyFiguresView {
  return {
    ofKey: (routingKey) => figuresOf(metrics, routingKey),
    all: () => [...metrics.all()].map((counted) => countsOf(metrics, counted)),
  };
}

function figuresOf(metrics: MetricsByKey, routingKey: string): KeyFigures {
  const [listener, connector] = [metrics.get(routingKey, 'listener'), metrics.get(routingKey, 'connector')];
  const request = percentilesOf(requestsOf(metrics, routingKey));
  return {
    ...(listener === undefined ? {} : { listener: { ...roleFigures(listener), request: request ?? null } }),
    ...(connector === undefined ? {} : { connector: roleFigures(connector) }),
  };
}

function roleFigures(counted: KeyMetrics): RoleFigures {
  const { sites, connectTime } = counted;
  return {
    ...connectionCounts(counted),
    connect: percentilesOf(connectTime.steps.counts) ?? null,
    sites: [...sites.values()].map(({ site, toServer, toClient, ...counts }) => ({
      site: site === '' ? null : site,
      opened: counts.opened,
      failed: counts.failed,
      bytes: { up: toServer.bytes, down: toClient.bytes },
    })),
  };
}

function connectionCounts({ open, opened, failed, toServer: up, toClient: down }: KeyMetrics): ConnectionCounts {
  return { open, opened, failed: Object.fromEntries(failed), bytes: { up: up.bytes, down: down.bytes } };
}

function countsOf(metrics: MetricsByKey, counted: KeyMetrics): KeyCounts {
  const { routingKey, role, connectTime } = counted;
  const { failed, ...counts } = connectionCounts(counted);
  const connect = [...connectTime.steps.counts];
  return {
    key: routingKey,
    role,
    ...counts,
    ...(counted.failed.size === 0 ? {} : { failed }),
    ...(connect.length === 0 ? {} : { connect }),
    // Requests are observed at listeners.
    ...(role === 'listener' ? requestCounts([...metrics.requestsOf(routingKey)]) : {}),
  };
}

function requestCounts(observed: readonly RequestMetrics[]): Pick<KeyCounts, 'requests' | 'errors' | 'request'> {
  if (observed.length === 0) return {};
  const classes = observed.flatMap(({ counts }) => [...counts.values()]);
  return {
    requests: sum(classes.flat()),
    errors: sum(classes.map((counts) => counts[5] ?? 0)),
    request: [...mergeLatencies(observed.map(({ latency }) => latency.steps.counts))],
  };
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, each) => total + each, 0);

const requestsOf = (metrics: MetricsByKey, routingKey: string): LatencyCounts =>
  mergeLatencies([...metrics.requestsOf(routingKey)].map(({ latency }) => latency.steps.counts));
