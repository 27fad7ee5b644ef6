/** Traffic through one system while it runs; in each round each system is measured once by each scenario. */
import type { Bench, Running } from '../bench.ts';
import { iperf3, wrk, type Requests, type Transfer } from '../loads.ts';

/** @returns after one turn */
export type Turn = (bench: Bench, system: Running) => Promise<void>;

/** Not counted: what programs do only once, compilers among it. */
export const warmUp: Turn = async ({ host }, system) => {
  await iperf3(host, system.ports.iperf3, 2, 1);
  await wrk(host, system.ports.http, 10, 1);
  await wrk(host, system.ports.http, 10, 1, ['Connection: close']);
};

/** iperf3 with one and with eight connections, and the CPU that both ends spend on it. */
export const bulk: Turn = async ({ host, options, record }, system) => {
  for (const connections of [1, 8] as const) {
    const before = await cpuSeconds(system);
    const { gigabits, gigabytes } = await iperf3(host, system.ports.iperf3, connections, options.seconds);
    record(`bulk-${connections}`, system.name, gigabits);
    if (system.ends !== undefined) record(`cpu-${connections}`, system.name, ((await cpuSeconds(system)) - before) / gigabytes);
  }
};

/** Requests of three kinds, and the CPU that both ends spend on them. */
export const requests: Turn = async ({ host, options: { seconds }, record }, system) => {
  const measure = async (id: string, connections: number, headers: readonly string[] = []): Promise<Requests> => {
    const before = await cpuSeconds(system);
    const result = await wrk(host, system.ports.http, connections, seconds, headers);
    if (system.ends !== undefined)
      record(`cpu-${id}`, system.name, (10_000 * ((await cpuSeconds(system)) - before)) / (result.perSecond * seconds));
    return result;
  };
  record('keep-alive', system.name, (await measure('keep-alive', 50)).perSecond);
  record('new-connections', system.name, (await measure('new-connections', 50, ['Connection: close'])).perSecond);
  record('latency', system.name, (await measure('latency', 1)).p50);
};

/** Small requests begin when the bulk is under way, and end before it does. */
export const mixed: Turn = async ({ host, options: { seconds }, record }, system) => {
  const transfer = iperf3(host, system.ports.iperf3, 8, seconds + 2);
  // Awaited below, after the requests; until then a failure has no handler.
  transfer.catch(() => undefined);
  const { promise, resolve } = Promise.withResolvers<void>();
  setTimeout(resolve, 1_000);
  await promise;
  const small = await wrk(host, system.ports.http, 10, seconds);
  const { gigabits }: Transfer = await transfer;
  record('mixed-p99', system.name, small.p99 / 1_000);
  record('mixed-bulk', system.name, gigabits);
};

/**
 * Earshot against itself, a second each, in the order none, auto, auto, none: warm-up and drift affect both alike. The difference is
 * smaller than what two equal measurements differ by, so there are many.
 */
export const observer: Turn = async ({ host, options, record }, system) => {
  const { unobservedHttp, ports } = system;
  if (unobservedHttp === undefined) return;
  const sums = { none: 0, auto: 0 };
  for (let turn = 0; turn < options.seconds; turn += 1) {
    for (const setting of ['none', 'auto', 'auto', 'none'] as const) {
      sums[setting] += (await wrk(host, setting === 'none' ? unobservedHttp : ports.http, 50, 1)).perSecond;
    }
  }
  record('observer-cost', system.name, 100 * (1 - sums.auto / sums.none));
};

async function cpuSeconds({ ends }: Running): Promise<number> {
  if (ends === undefined) return 0;
  return ends.client.cpuSeconds() + ends.server.cpuSeconds();
}
