/** Which figures there are, what they should reach, and whether they do: pure. */
import { format } from '../markdown.ts';
import { median } from '../statistics.ts';
import type { ScenarioName, Sizes, SystemName } from './options.ts';

export type Unit = 'Gbit/s' | 'a second' | 'µs' | 'ms' | 's' | 'MB' | 'KB' | '%' | 'CPU s/GB' | 'CPU s/10,000';

/** Aim for Earshot's value: at least or at most so much, or so many times HAProxy's. */
export type Aim =
  | { readonly kind: 'times-haproxy'; readonly least: number }
  | { readonly kind: 'times-haproxy'; readonly most: number }
  | { readonly kind: 'value'; readonly most: number };

export interface Figure {
  readonly id: string;
  readonly scenario: ScenarioName;
  readonly what: string;
  readonly unit: Unit;
  /** Left out: it explains other figures. */
  readonly aim?: Aim;
}

/** Samples of one figure, one a round, by system. */
export type Samples = Readonly<Partial<Record<SystemName, readonly number[]>>>;

/** The table, in its order, for runs of this size. */
export function figuresOf({ idleConnections }: Pick<Sizes, 'idleConnections'>): readonly Figure[] {
  const figure = (scenario: ScenarioName, id: string, what: string, unit: Unit, aim?: Aim): Figure => ({
    scenario,
    id,
    what,
    unit,
    ...(aim === undefined ? {} : { aim }),
  });
  const least = (times: number): Aim => ({ kind: 'times-haproxy', least: times });
  const most = (times: number): Aim => ({ kind: 'times-haproxy', most: times });
  const atMost = (value: number): Aim => ({ kind: 'value', most: value });
  const idle = idleConnections.toLocaleString('en');
  return [
    figure('bulk', 'bulk-1', 'iperf3, 1 connection', 'Gbit/s', least(0.8)),
    figure('bulk', 'bulk-8', 'iperf3, 8 connections', 'Gbit/s', least(0.95)),
    figure('requests', 'keep-alive', 'HTTP keep-alive, wrk, 50 connections: requests', 'a second', least(1.1)),
    figure('requests', 'new-connections', 'a new connection for each request, wrk, 50 clients: requests', 'a second', least(6)),
    figure('requests', 'latency', 'one client, median latency', 'µs', most(1.3)),
    figure('mixed', 'mixed-p99', "small requests' p99 (10 clients) while 8 bulk connections run on the same link", 'ms', most(1.5)),
    figure('bulk', 'cpu-8', 'CPU, both ends together, 8 connections', 'CPU s/GB', most(1.3)),
    figure('bulk', 'cpu-1', 'CPU, both ends together, 1 connection', 'CPU s/GB'),
    figure('requests', 'cpu-keep-alive', 'CPU, both ends together, keep-alive requests', 'CPU s/10,000'),
    figure('requests', 'cpu-new-connections', 'CPU, both ends together, a new connection for each request', 'CPU s/10,000'),
    figure('requests', 'cpu-latency', 'CPU, both ends together, requests of one client', 'CPU s/10,000'),
    figure('mixed', 'mixed-bulk', 'what the 8 bulk connections get meanwhile', 'Gbit/s'),
    figure('memory', 'memory-fresh', 'resident memory of each router, the larger of two, fresh', 'MB', atMost(80)),
    figure('memory', 'memory-during', 'the same, the most during all of the above', 'MB', atMost(130)),
    figure('memory', 'memory-after', 'the same, after all of the above', 'MB', atMost(130)),
    figure('idle', 'idle-client', `memory for each of ${idle} idle connections, on the clients' side`, 'KB', atMost(20)),
    figure('idle', 'idle-server', "the same, on the servers' side", 'KB', atMost(20)),
    figure('delay', 'delay-bulk', 'iperf3, 1 connection, link with 50 ms round trip', 'Gbit/s', least(0.8)),
    figure('observer', 'observer-cost', 'observer `auto` on HTTP/1.1: fewer requests a second than with `none`', '%', atMost(10)),
    figure('failover', 'failover-reset', 'without service when one of two equal paths dies, by a reset', 'ms', atMost(200)),
    figure('failover', 'failover-ping', 'without service when one of two equal paths falls silent', 'ms', atMost(3_000)),
    figure('failover', 'failover-reset-lost', 'connections that failed meanwhile, by a reset, of those that began then', '%'),
    figure('failover', 'failover-ping-lost', 'connections that failed meanwhile, in silence, of those that began then', '%'),
  ];
}

export type Verdict =
  | { readonly kind: 'no-aim' }
  | { readonly kind: 'not-measured' }
  /** `by` is what is missing, as a share of the aim. */
  | { readonly kind: 'met' | 'missed'; readonly by: number };

/** By the medians. */
export function verdictOf({ aim }: Figure, { earshot = [], haproxy = [] }: Samples): Verdict {
  if (aim === undefined) return { kind: 'no-aim' };
  if (earshot.length === 0 || (aim.kind === 'times-haproxy' && haproxy.length === 0)) return { kind: 'not-measured' };
  const value = aim.kind === 'value' ? median(earshot) : median(earshot) / median(haproxy);
  const by = 'least' in aim ? 1 - value / aim.least : value / aim.most - 1;
  return { kind: by <= 0 ? 'met' : 'missed', by };
}

/** `0.83 ×`, where HAProxy's was measured too. */
export function timesHaproxy({ earshot = [], haproxy = [] }: Samples): string {
  return earshot.length === 0 || haproxy.length === 0 ? '' : `${format(median(earshot) / median(haproxy), '')} ×`;
}
