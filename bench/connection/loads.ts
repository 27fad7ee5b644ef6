/** The clients that measure: programs that we did not write, and what they say. */
import type { Host } from '../../test/net/harness/index.ts';

export interface Transfer {
  readonly gigabits: number;
  /** Received, in GB of 10⁹ bytes. */
  readonly gigabytes: number;
}

export async function iperf3(host: Host, port: number, connections: number, seconds: number): Promise<Transfer> {
  const args = ['-c', '127.0.0.1', '-p', String(port), '-P', String(connections), '-t', String(seconds), '-J'];
  const { stdout, stderr } = await host.attempt(['iperf3', ...args], { timeoutMs: (seconds + 20) * 1_000 });
  return readIperf3(stdout === '' ? stderr : stdout);
}

/** Output of `iperf3 -J`. @throws Error with its own message if it failed */
export function readIperf3(text: string): Transfer {
  // iperf3's own format; what is missing shows as such below.
  const { error, end } = JSON.parse(text) as {
    readonly error?: string;
    readonly end?: { readonly sum_received?: { readonly bytes: number; readonly bits_per_second: number } };
  };
  const received = end?.sum_received;
  if (error !== undefined || received === undefined) throw new Error(`iperf3: ${error ?? 'it says nothing of what was received'}`);
  return { gigabits: received.bits_per_second / 1e9, gigabytes: received.bytes / 1e9 };
}

export interface Requests {
  readonly perSecond: number;
  /** Microseconds. */
  readonly p50: number;
  readonly p99: number;
}

export async function wrk(
  host: Host,
  port: number,
  connections: number,
  seconds: number,
  headers: readonly string[] = [],
): Promise<Requests> {
  const said = await host.run(
    [
      'wrk',
      '-t',
      '1',
      '-c',
      String(connections),
      '-d',
      `${seconds}s`,
      '--timeout',
      '5s',
      '--latency',
      ...headers.flatMap((header) => ['-H', header]),
      `http://127.0.0.1:${port}/`,
    ],
    { timeoutMs: (seconds + 20) * 1_000 },
  );
  return readWrk(said);
}

/** Output of `wrk --latency`. @throws Error if more than one request in a thousand failed, since then the others mean little */
export function readWrk(text: string): Requests {
  const failed = (/Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)/.exec(text)?.slice(1) ?? [])
    .concat(/Non-2xx or 3xx responses: (\d+)/.exec(text)?.[1] ?? '0')
    .reduce((sum, number) => sum + Number(number), 0);
  const all = Number(/(\d+) requests in/.exec(text)?.[1]);
  if (!(all > 0) || failed > all / 1_000) throw new Error(`wrk: ${failed} of ${all} requests failed`);
  return { perSecond: Number(/Requests\/sec:\s+([\d.]+)/.exec(text)?.[1]), p50: latency(text, 50), p99: latency(text, 99) };
}

function latency(text: string, percent: number): number {
  const [, value, unit = ''] = new RegExp(`^\\s+${percent}%\\s+([\\d.]+)(us|ms|s)\\s*$`, 'm').exec(text) ?? [];
  const micros = { us: 1, ms: 1e3, s: 1e6 }[unit];
  if (micros === undefined) throw new Error(`wrk says nothing of the ${percent}th percentile`);
  return Number(value) * micros;
}
