import { destinationInUse } from './log-destination.ts';
import { Counter, Gauge, Histogram, Registry } from '@prometheus-io/client';

/** All metrics of this process. */
export const metrics = new Registry();

const registers = [metrics];

/** `collect`, if given, updates the counter at each scrape. */
export function counter<L extends string>(
  name: string,
  help: string,
  labelNames: readonly L[] = [],
  collect?: (counter: Counter<L>) => void,
): Counter<L> {
  const metric: Counter<L> = new Counter({
    name,
    help,
    labelNames: [...labelNames],
    registers,
    ...(collect === undefined ? {} : { collect: () => collect(metric) }),
  });
  return metric;
}

/** `collect`, if given, sets the gauge's values at each scrape. */
export function gauge<L extends string>(
  name: string,
  help: string,
  labelNames: readonly L[] = [],
  collect?: (gauge: Gauge<L>) => void,
): Gauge<L> {
  const metric: Gauge<L> = new Gauge({
    name,
    help,
    labelNames: [...labelNames],
    registers,
    ...(collect === undefined ? {} : { collect: () => collect(metric) }),
  });
  return metric;
}

/** A histogram of durations in seconds, from a millisecond to a minute and a half. */
export function duration<L extends string>(name: string, help: string, labelNames: readonly L[] = []): Histogram<L> {
  const buckets = [0.001, 0.005, 0.02, 0.1, 0.5, 1, 2, 5, 15, 30, 90];
  return new Histogram({ name, help, labelNames: [...labelNames], registers, buckets });
}

/**
 * Process metrics that Prometheus expects. The library's default metrics use timers that fire ten times a second. These are read
 * at each scrape, so that an idle process stays idle.
 */
export function registerProcessMetrics(version: string): void {
  gauge('earshot_build_info', 'Always 1: versions of the program and of Node.js.', ['version', 'node'], (metric) =>
    metric.set({ version, node: process.version }, 1),
  );
  const startTime = Date.now() / 1000 - process.uptime();
  gauge('process_resident_memory_bytes', 'Resident memory size in bytes.', [], (metric) => metric.set(process.memoryUsage.rss()));
  gauge('process_start_time_seconds', 'Start time of the process since the Unix epoch in seconds.', [], (metric) => metric.set(startTime));
  gauge('nodejs_heap_size_used_bytes', 'Process heap size used from Node.js in bytes.', [], (metric) =>
    metric.set(process.memoryUsage().heapUsed),
  );
  gauge('earshot_log_bytes_waiting', 'Bytes of log lines that wait for standard output.', [], (metric) =>
    metric.set(destinationInUse()?.waiting ?? 0),
  );
  let dropped = 0;
  counter('earshot_log_lines_dropped_total', 'Log lines dropped because standard output was blocked for too long.', [], (metric) => {
    const now = destinationInUse()?.dropped ?? 0;
    metric.inc(now - dropped);
    dropped = now;
  });
  let counted = 0;
  counter('process_cpu_seconds_total', 'Total user and system CPU time spent in seconds.', [], (metric) => {
    const { user, system } = process.cpuUsage();
    const spent = (user + system) / 1e6;
    metric.inc(spent - counted);
    counted = spent;
  });
}
