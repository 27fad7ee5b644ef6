import { Buckets } from '../../telemetry/buckets.ts';
import type { RequestSink } from './contract.ts';

export type Protocol = 'http1' | 'http2';

/** Bucket boundaries in seconds. */
const LATENCIES = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/** Methods with their own label (RFC 9110 section 9.3, RFC 5789). Clients can send any other. */
export const METHOD_NAMES: readonly string[] = ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'CONNECT', 'OPTIONS', 'TRACE', 'PATCH'];
const METHODS = new Set(METHOD_NAMES);
const OTHER_METHOD = 'other';

/** Returns the metric label of a method. All other methods share one label, which also bounds the memory of pending requests. */
export const nameOfMethod = (method: string): string => (METHODS.has(method) ? method : OTHER_METHOD);

/** Request counters of one routing key between two sites over one protocol. */
export class RequestMetrics implements RequestSink {
  readonly routingKey: string;
  readonly from: string;
  readonly to: string;
  readonly protocol: Protocol;
  /** Number of responses in each status class from 0 (invalid) to 5, by method. */
  readonly counts = new Map<string, number[]>();
  readonly latency = new Buckets(LATENCIES);

  constructor(routingKey: string, from: string, to: string, protocol: Protocol) {
    this.routingKey = routingKey;
    this.from = from;
    this.to = to;
    this.protocol = protocol;
  }

  onRequest(method: string, status: number, milliseconds: number): void {
    let classes = this.counts.get(method);
    if (classes === undefined) {
      const name = nameOfMethod(method);
      classes = this.counts.get(name) ?? [0, 0, 0, 0, 0, 0];
      this.counts.set(name, classes);
    }
    const index = status >= 100 && status < 600 ? Math.floor(status / 100) : 0;
    classes[index] = (classes[index] ?? 0) + 1;
    this.latency.observe(milliseconds / 1000);
  }
}
