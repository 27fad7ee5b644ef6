/** Figures of routing keys for the router API, from the counts of this router since its start. */
import { mergeLatencies, percentilesOf, type LatencyCounts } from '../../telemetry/latency-steps.ts';
import type { KeyFiguresView, KeyFigures, KeyLatencies, RoleFigures } from '../contract.ts';
import type { KeyMetrics, MetricsByKey } from './key-metrics.ts';

export function viewFigures(metrics: MetricsByKey): KeyFiguresView {
  return {
    ofKey: (routingKey) => figuresOf(metrics, routingKey),
    latencies: () => [...metrics.all()].flatMap((counted) => latenciesOf(metrics, counted)),
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
  const { open, opened, failed, sites, toServer: up, toClient: down, connectTime } = counted;
  return {
    open,
    opened,
    failed: Object.fromEntries(failed),
    bytes: { up: up.bytes, down: down.bytes },
    connect: percentilesOf(connectTime.steps.counts) ?? null,
    sites: [...sites.values()].map(({ site, toServer, toClient, ...counts }) => ({
      site: site === '' ? null : site,
      opened: counts.opened,
      failed: counts.failed,
      bytes: { up: toServer.bytes, down: toClient.bytes },
    })),
  };
}

function latenciesOf(metrics: MetricsByKey, { routingKey, role, connectTime }: KeyMetrics): readonly KeyLatencies[] {
  const connect = connectTime.steps.counts;
  const request = role === 'listener' ? requestsOf(metrics, routingKey) : NONE;
  return connect.size + request.size === 0 ? [] : [{ key: routingKey, role, connect: [...connect], request: [...request] }];
}

const NONE: LatencyCounts = new Map();

const requestsOf = (metrics: MetricsByKey, routingKey: string): LatencyCounts =>
  mergeLatencies([...metrics.requestsOf(routingKey)].map(({ latency }) => latency.steps.counts));
